// Inductive proofs of the virtual regions tree, for CBMC: the shipped operations, on memory of any
// content, a tree of any size up to 2^TAU_SPACE_PAGES_LOG2_MAX pages, any page.
//
// The content is anything that the invariant VRT-1 allows. The invariant is assumed only at the
// words that matter: where an operation relies on it (TAU_INVARIANT, here an assumption), and on
// the path of the pages that a proof names. That assumes less than the invariant, so the claims
// hold for every tree that has it. Another proof shows at an arbitrary word that split and union
// keep it. Every assert of the core is a goal too. They show that words lie inside their level,
// which CBMC's own bounds check would not notice.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAU_ASSERT_LEVEL 1
#define TAU_ASSERT_FAILED(text) __CPROVER_assert(0, "assert of the core: " text)
#include "core/private/check.h"
#undef TAU_INVARIANT
#define TAU_INVARIANT(condition) __CPROVER_assume(condition)
// The shipped words lie behind one pointer; here each level is an array of its own, which CBMC
// answers in seconds instead of hours. That the shipped places are as many different words, all
// inside the memory, is shown by enumeration: test_region_tree.c, every_word_has_a_place.
#define region_tree_read shipped_read
#define region_tree_write shipped_write
#include "core/private/pages/region_tree_word.h"
#undef region_tree_read
#undef region_tree_write

enum { LEVEL_0_WORDS = 1 << 15, LEVEL_1_WORDS = 1 << 10, LEVEL_2_WORDS = 1 << 5 };
uint32_t level_0[LEVEL_0_WORDS], level_1[LEVEL_1_WORDS], level_2[LEVEL_2_WORDS], level_3;

// Whether LEVEL has a word INDEX. CBMC's own bounds check does not notice an index that runs from
// one array of a structure into the next, and this is stricter: the tree's size, not the largest.
static bool is_inside(const struct tau_region_tree *tree, unsigned level, int32_t index) {
    return level < TAU_REGION_TREE_LEVELS && index < 0 &&
           (uint32_t)~index < region_tree_words(level, region_tree_log2(tree, level));
}

static uint32_t region_tree_read(const struct tau_region_tree *tree, unsigned level,
                                 int32_t index) {
    __CPROVER_assert(is_inside(tree, level, index), "the word read is inside its level");
    return level == 0   ? level_0[~index]
           : level == 1 ? level_1[~index]
           : level == 2 ? level_2[~index]
                        : level_3;
}

static void region_tree_write(const struct tau_region_tree *tree, unsigned level, int32_t index,
                              uint32_t word) {
    __CPROVER_assert(is_inside(tree, level, index), "the word written is inside its level");
    if (level == 0) {
        level_0[~index] = word;
    } else if (level == 1) {
        level_1[~index] = word;
    } else if (level == 2) {
        level_2[~index] = word;
    } else {
        level_3 = word;
    }
}

#include "core/private/pages/region_tree_inline.h"
#include "core/tests/proofs/any.h"

// A tree of any content and size.
static struct tau_region_tree any_tree(void) {
    __CPROVER_havoc_object(level_0);
    __CPROVER_havoc_object(level_1);
    __CPROVER_havoc_object(level_2);
    __CPROVER_havoc_object(&level_3);
    const unsigned pages_log2 = nondet_number();
    __CPROVER_assume(pages_log2 >= TAU_SPACE_PAGES_LOG2_MIN);
    __CPROVER_assume(pages_log2 <= TAU_SPACE_PAGES_LOG2_MAX);
    return (struct tau_region_tree){NULL, pages_log2};
}

static struct tau_page any_page(const struct tau_region_tree *tree) {
    const struct tau_page page = {nondet_number()};
    __CPROVER_assume(page.number >> tree->pages_log2 == 0);
    return page;
}

// Assumes VRT-1 on the path from PAGE to the top.
static void assume_path(const struct tau_region_tree *tree, struct tau_page page) {
    int32_t place = (int32_t)~page.number;
    for (unsigned level = 0; level < TAU_REGION_TREE_LEVELS; level++) {
        place >>= 5;
        __CPROVER_assume(region_tree_agrees(tree, level, place));
    }
}

// Any word of the tree: its level and number.
static unsigned any_word(const struct tau_region_tree *tree, int32_t *index) {
    const unsigned level = nondet_number();
    *index = (int32_t)nondet_number();
    __CPROVER_assume(level < TAU_REGION_TREE_LEVELS && *index < 0);
    __CPROVER_assume((uint32_t) ~*index < region_tree_words(level, region_tree_log2(tree, level)));
    return level;
}

static bool agrees(const struct tau_region_tree *tree, unsigned level, int32_t index) {
    bool result = true;
    for (unsigned each = 0; each < TAU_REGION_TREE_LEVELS; each++) {  // a constant level each
        if (each == level) {
            result = region_tree_agrees(tree, each, index);
        }
    }
    return result;
}

void prove_find(void) {
    const struct tau_region_tree tree = any_tree();
    const struct tau_page page = any_page(&tree);
    const struct tau_page other = any_page(&tree);
    __CPROVER_assume(region_tree_is_start(&tree, (struct tau_page){0}));
    assume_path(&tree, (struct tau_page){0});
    assume_path(&tree, other);
    const struct tau_page start = region_tree_find(&tree, page);
    __CPROVER_assert(start.number <= page.number, "find: not behind the page");
    __CPROVER_assert(region_tree_is_start(&tree, start), "find: a start");
    __CPROVER_assert(!(other.number > start.number && other.number <= page.number &&
                       region_tree_is_start(&tree, other)),
                     "find: no start is nearer");
    reached();
}

void prove_next(void) {
    const struct tau_region_tree tree = any_tree();
    const struct tau_page page = any_page(&tree);
    const struct tau_page other = any_page(&tree);
    assume_path(&tree, other);
    struct tau_page start = {0};
    const bool is_there = region_tree_next(&tree, page, &start);
    if (is_there) {
        __CPROVER_assert(start.number > page.number, "next: behind the page");
        __CPROVER_assert(region_tree_is_start(&tree, start), "next: a start");
    } else {
        __CPROVER_assert(start.number == UINT32_MAX, "next: no page");
    }
    __CPROVER_assert(!(other.number > page.number && other.number < start.number &&
                       region_tree_is_start(&tree, other)),
                     "next: no start is nearer");
    reached();
}

static void prove_change(bool is_split) {
    struct tau_region_tree tree = any_tree();
    const struct tau_page page = any_page(&tree);
    const struct tau_page other = any_page(&tree);
    int32_t index = 0;
    const unsigned level = any_word(&tree, &index);
    __CPROVER_assume(region_tree_is_start(&tree, page) != is_split);
    __CPROVER_assume(region_tree_is_start(&tree, (struct tau_page){0}));
    __CPROVER_assume(is_split || page.number != 0);
    assume_path(&tree, (struct tau_page){0});
    __CPROVER_assume(agrees(&tree, level, index));
    const bool was_start = region_tree_is_start(&tree, other);
    if (is_split) {
        region_tree_split(&tree, page);
    } else {
        region_tree_union(&tree, page);
    }
    __CPROVER_assert(region_tree_is_start(&tree, page) == is_split, "the page is changed");
    __CPROVER_assert(other.number == page.number || region_tree_is_start(&tree, other) == was_start,
                     "no other page is");
    __CPROVER_assert(agrees(&tree, level, index), "the invariant is kept at every word");
    reached();
}

void prove_split(void) {
    prove_change(true);
}

void prove_union(void) {
    prove_change(false);
}
