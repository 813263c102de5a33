// The core in one file, for a build that compiles one: every mechanism behind those that it stands
// on. What ours is measured against (core/conventional) and the ports are not in it.
#include "core/tlsf.c"

#include "core/budget.c"

#include "core/frames.c"

#include "core/region_tree.c"

#include "core/validity.c"

#include "core/vspace.c"

#include "core/hierarchy.c"

#include "core/page_heap.c"
