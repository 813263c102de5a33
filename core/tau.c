// The core in one file, for a build with one translation unit. Each mechanism follows those that it
// uses. The ports are not included. Bounds are of separate files: compilers inline more in one.
#include "core/tlsf.c"

#include "core/budget.c"

#include "core/pools.c"

#include "core/frames.c"

#include "core/region_tree.c"

#include "core/validity.c"

#include "core/vspace.c"

#include "core/hierarchy.c"

#if TAU_ALIGNMENT == TAU_ALIGNMENT_DEFAULT
#include "core/page_heap.c"
#endif

#include "core/buddy.c"

#include "core/code_cache.c"

#include "core/tlb_color.c"
