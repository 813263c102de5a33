// Addresses of the words of a virtual regions tree. Only region_tree.c and region_tree_inline.h
// include this.
#ifndef TAU_REGION_TREE_WORD_H
#define TAU_REGION_TREE_WORD_H

#include "core/private/bits.h"
#include "core/private/check.h"
#include "core/private/inline.h"
#include "core/region_tree.h"

#define REGION_TREE_TOP (TAU_REGION_TREE_LEVELS - 1u)

// Words of LEVEL in a tree of 2^PAGES_LOG2 pages.
TAU_SHARED uint32_t region_tree_words(unsigned level, unsigned pages_log2) {
    TAU_ASSERT(level < TAU_REGION_TREE_LEVELS);
    const unsigned shift = 5 * (level + 1);
    return pages_log2 > shift ? UINT32_C(1) << (pages_log2 - shift) : 1;
}

// Words of LEVEL and all above it in the largest tree.
TAU_SHARED uint32_t region_tree_words_from(unsigned level) {
    uint32_t count = 0;
#pragma GCC unroll 6
    for (unsigned above = TAU_REGION_TREE_LEVELS; above > level; above--) {
        count += region_tree_words(above - 1, TAU_SPACE_PAGES_LOG2_MAX);
    }
    return count;
}

// Logarithm of the pages that LEVEL is sized for. Levels 0 and 1 have the tree's size, the others
// the largest size.
TAU_SHARED unsigned region_tree_log2(const struct tau_region_tree *tree, unsigned level) {
    return level < 2 ? tree->pages_log2 : TAU_SPACE_PAGES_LOG2_MAX;
}

// The word with number INDEX (-1, -2, …) of LEVEL. The tree's pointer is the end of level 0 and the
// start of the other levels: the top first, level 1 last. So one pointer and constants reach every
// word, whatever the tree's size.
TAU_SHARED uint32_t *region_tree_word(const struct tau_region_tree *tree, unsigned level,
                                      int32_t index) {
    TAU_ASSERT(index < 0);
    TAU_ASSERT((uint32_t)~index < region_tree_words(level, region_tree_log2(tree, level)));
    if (level == REGION_TREE_TOP) {
        return level == 0 ? tree->words - 1 : tree->words;
    }
    if (level == 0) {
        return tree->words + index;
    }
    uint32_t *const first = tree->words - index;
    const uint32_t offset = region_tree_words_from(level + 1) - 1;
    // Held, so that the compiler adds the constant to the address, where it is free. Added to the
    // index, it would need registers and instructions.
    return offset == 0 ? first : (uint32_t *)tau_bits_hold_pointer(first) + offset;
}

TAU_SHARED uint32_t region_tree_read(const struct tau_region_tree *tree, unsigned level,
                                     int32_t index) {
    return *region_tree_word(tree, level, index);
}

TAU_SHARED void region_tree_write(const struct tau_region_tree *tree, unsigned level, int32_t index,
                                  uint32_t word) {
    *region_tree_word(tree, level, index) = word;
}

#endif
