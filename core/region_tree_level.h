// The virtual regions tree's operations, inlined, for region_tree.c and the mechanisms above it. A
// word covers 32 pages or 32 words of the level below; every path is laid out, without a loop.
#ifndef TAU_REGION_TREE_LEVEL_H
#define TAU_REGION_TREE_LEVEL_H

#include "core/bits.h"
#include "core/check.h"
#include "core/link.h"
#include "core/region_tree.h"

TAU_INLINE bool region_tree_is_start(const struct tau_region_tree *tree, struct tau_page page) {
    return (tree->level[0][page.number >> 5] & tau_bits_mask(page.number & 31u)) != 0;
}

// Sets the bit of PAGE; a word that was empty is announced one level up.
TAU_INLINE void region_tree_split(struct tau_region_tree *tree, struct tau_page page) {
    uint32_t index = page.number;
#pragma GCC unroll 6
    for (unsigned level = 0; level < TAU_REGION_TREE_LEVELS; level++) {
        uint32_t *const word = &tree->level[level][index >> 5];
        const uint32_t before = *word;
        *word = before | tau_bits_mask(index & 31u);
        if (before != 0) {
            return;
        }
        index >>= 5;
    }
}

// Clears the bit of PAGE; a word that is empty now is taken back one level up.
TAU_INLINE void region_tree_union(struct tau_region_tree *tree, struct tau_page page) {
    uint32_t index = page.number;
#pragma GCC unroll 6
    for (unsigned level = 0; level < TAU_REGION_TREE_LEVELS; level++) {
        uint32_t *const word = &tree->level[level][index >> 5];
        const uint32_t left = *word & ~tau_bits_mask(index & 31u);
        *word = left;
        if (left != 0) {
            return;
        }
        index >>= 5;
    }
}

#endif
