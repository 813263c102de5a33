// See check_region_tree.h. Written from docs/spec/region_tree.md. It computes the places by itself.
// It uses only the pointer and the size of the core.
#include "core/tests/checks/check_region_tree.h"

#include <stdbool.h>

// Bits that LEVEL may have, pages at level 0.
static uint32_t bits_of(unsigned level, unsigned pages_log2) {
    return pages_log2 > 5 * level ? UINT32_C(1) << (pages_log2 - 5 * level) : 1;
}

static uint32_t words_of(unsigned level, unsigned pages_log2) {
    return (bits_of(level, pages_log2) + 31) / 32;
}

// The word that holds bit NUMBER of LEVEL: pages, or words of the level below, counted from the one
// with page 0.
static uint32_t word_at(const struct tau_region_tree *tree, unsigned level, uint32_t number) {
    if (level == 0) {
        return *(tree->words - 1 - number / 32);
    }
    uint32_t in_front = 0;
    for (unsigned above = level + 1; above < TAU_REGION_TREE_LEVELS; above++) {
        in_front += words_of(above, TAU_SPACE_PAGES_LOG2_MAX);
    }
    return tree->words[in_front + number / 32];
}

// On Arm the first bit of a word is the highest, elsewhere the lowest; page 0 has the last.
static bool bit_at(const struct tau_region_tree *tree, unsigned level, uint32_t number) {
#ifdef __arm__
    return (word_at(tree, level, number) >> number % 32 & 1) != 0;
#else
    return (word_at(tree, level, number) >> (31 - number % 32) & 1) != 0;
#endif
}

// [VRT-1], [VRT-2] of one level.
static unsigned check_level(const struct tau_region_tree *tree, unsigned level) {
    const bool is_sized = level < 2;
    const uint32_t words = words_of(level, is_sized ? tree->pages_log2 : TAU_SPACE_PAGES_LOG2_MAX);
    const uint32_t bits = bits_of(level, tree->pages_log2);
    for (uint32_t word = 0; word < words; word++) {
        bool has_bit = false;
        for (uint32_t number = 32 * word; number < 32 * word + 32; number++) {
            const bool is_set = bit_at(tree, level, number);
            if (is_set && number >= bits) {
                return 2;
            }
            has_bit = has_bit || is_set;
        }
        if (level + 1 < TAU_REGION_TREE_LEVELS && has_bit != bit_at(tree, level + 1, word)) {
            return 1;
        }
    }
    return 0;
}

unsigned check_region_tree(const struct tau_region_tree *tree) {
    unsigned broken = 0;
    for (unsigned level = 0; level < TAU_REGION_TREE_LEVELS && broken == 0; level++) {
        broken = check_level(tree, level);
    }
    if (broken == 0 && !bit_at(tree, 0, 0)) {
        return 3;
    }
    return broken;
}
