// The virtual regions tree. The operations are inlined in region_tree_inline.h. This file has init,
// the self test, and one copy of each operation for callers that need no inlining.
#include "core/region_tree.h"

#include "core/private/memory.h"
#include "core/private/pages/region_tree_inline.h"

// Words of levels 0 and 1, whose size depends on the tree.
static uint32_t region_tree_low_words(unsigned level, unsigned pages_log2) {
    return level < TAU_REGION_TREE_LEVELS ? region_tree_words(level, pages_log2) : 0;
}

size_t tau_region_tree_size_bytes(unsigned pages_log2) {
    if (pages_log2 < TAU_SPACE_PAGES_LOG2_MIN || pages_log2 > TAU_SPACE_PAGES_LOG2_MAX) {
        return 0;
    }
    const size_t words = region_tree_low_words(0, pages_log2) +
                         region_tree_low_words(1, pages_log2) + region_tree_words_from(2);
    return words * sizeof(uint32_t);
}

enum tau_status tau_region_tree_init(struct tau_region_tree *tree, void *memory, size_t size_bytes,
                                     unsigned pages_log2) {
    if (pages_log2 < TAU_SPACE_PAGES_LOG2_MIN) {
        return TAU_SPACE_TOO_SMALL;
    }
    if (pages_log2 > TAU_SPACE_PAGES_LOG2_MAX) {
        return TAU_SPACE_TOO_LARGE;
    }
    const size_t needed_bytes = tau_region_tree_size_bytes(pages_log2);
    if (!memory_holds(memory, needed_bytes) || size_bytes < needed_bytes) {
        return TAU_BAD_ARGUMENT;
    }
    uint32_t *const words = memory;
    for (size_t i = 0; i < needed_bytes / sizeof(uint32_t); i++) {  // bound: the words
        words[i] = 0;
    }
    tree->words = words + region_tree_low_words(0, pages_log2);
    tree->pages_log2 = pages_log2;
    for (unsigned level = 0; level < TAU_REGION_TREE_LEVELS; level++) {  // page 0
        region_tree_write(tree, level, -1, region_tree_bit(-1));
    }
    TAU_ASSERT(tau_region_tree_invariants_hold(tree));
    return TAU_OK;
}

struct tau_page tau_region_tree_find(const struct tau_region_tree *tree, struct tau_page page) {
    TAU_INVARIANT(tau_region_tree_invariants_hold(tree));
    TAU_ASSERT(page.number >> tree->pages_log2 == 0);
    return region_tree_find(tree, page);
}

bool tau_region_tree_next(const struct tau_region_tree *tree, struct tau_page page,
                          struct tau_page *start) {
    TAU_INVARIANT(tau_region_tree_invariants_hold(tree));
    TAU_ASSERT(page.number >> tree->pages_log2 == 0);
    return region_tree_next(tree, page, start);
}

bool tau_region_tree_is_start(const struct tau_region_tree *tree, struct tau_page page) {
    TAU_ASSERT(page.number >> tree->pages_log2 == 0);
    return region_tree_is_start(tree, page);
}

void tau_region_tree_split(struct tau_region_tree *tree, struct tau_page page) {
    TAU_INVARIANT(tau_region_tree_invariants_hold(tree));
    TAU_ASSERT(page.number >> tree->pages_log2 == 0);
    TAU_ASSERT(!region_tree_is_start(tree, page));
    region_tree_split(tree, page);
}

void tau_region_tree_union(struct tau_region_tree *tree, struct tau_page page) {
    TAU_INVARIANT(tau_region_tree_invariants_hold(tree));
    TAU_ASSERT(page.number != 0 && page.number >> tree->pages_log2 == 0);
    TAU_ASSERT(region_tree_is_start(tree, page));
    region_tree_union(tree, page);
}

bool tau_region_tree_invariants_hold(const struct tau_region_tree *tree) {
    if (tree->words == NULL || tree->pages_log2 < TAU_SPACE_PAGES_LOG2_MIN ||
        tree->pages_log2 > TAU_SPACE_PAGES_LOG2_MAX ||
        !region_tree_is_start(tree, (struct tau_page){0})) {
        return false;
    }
    if (REGION_TREE_TOP == 0) {
        return true;
    }
    const uint32_t top = region_tree_read(tree, REGION_TREE_TOP, -1);
    const unsigned below = REGION_TREE_TOP - 1;
    const uint32_t count =
        region_tree_words(below, below < 2 ? tree->pages_log2 : TAU_SPACE_PAGES_LOG2_MAX);
    for (int32_t index = -1; index >= -(int32_t)count; index--) {  // bound: 32 words
        const bool is_announced = (top & region_tree_bit(index)) != 0;
        if (is_announced != (region_tree_read(tree, below, index) != 0)) {
            return false;
        }
    }
    return true;
}
