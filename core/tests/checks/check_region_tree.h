// Full walk over a virtual regions tree: every word of every level.
#ifndef TAU_CHECK_REGION_TREE_H
#define TAU_CHECK_REGION_TREE_H

#include "core/region_tree.h"

// The number of the first broken invariant of docs/spec/region_tree.md ("[VRT-n]"), 0 if all hold.
// Cost: a few steps a word.
unsigned check_region_tree(const struct tau_region_tree *tree);

#endif
