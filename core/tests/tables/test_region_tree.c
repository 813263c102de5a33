// Goal: every operation of the virtual regions tree answers as a plain set does, for every set of
// 16 pages wherever the pages lie, and for trees of every size. Method: the sets in Gray code's
// order, so that each differs from the one before by one split or union; the naive answers come
// from the sets' 16 bits, or from a sorted list.
#include "core/tests/checks/check_region_tree.h"
#include "core/tests/kit/test.h"

#include "core/private/pages/region_tree_inline.h"

enum {
    LOG2_MAX = TAU_SPACE_PAGES_LOG2_MAX,
    SET_PAGES = 16,
    GUARD_WORDS = 8,
};

static const uint32_t guard = 0x5a5a5a5a;

// A tree in memory of its exact size, full of other values before and guarded on both sides.
struct grown {
    struct tau_region_tree tree;
    uint32_t *memory;
    size_t words;
};

static struct grown grow(unsigned pages_log2) {
    struct grown grown = {.words = tau_region_tree_size_bytes(pages_log2) / 4};
    grown.memory = malloc((grown.words + 2 * GUARD_WORDS) * 4);
    REQUIRE(grown.memory != NULL && grown.words > 0);
    for (size_t i = 0; i < grown.words + 2 * GUARD_WORDS; i++) {
        grown.memory[i] = guard;
    }
    REQUIRE(tau_region_tree_init(&grown.tree, grown.memory + GUARD_WORDS, 4 * grown.words,
                                 pages_log2) == TAU_OK);
    return grown;
}

static void fell(struct grown *grown) {
    EXPECT_EQUAL(check_region_tree(&grown->tree), 0);
    for (size_t i = 0; i < GUARD_WORDS; i++) {
        EXPECT_EQUAL(grown->memory[i], guard);
        EXPECT_EQUAL(grown->memory[GUARD_WORDS + grown->words + i], guard);
    }
    free(grown->memory);
}

static struct tau_page page(uint32_t number) {
    return (struct tau_page){number};
}

// The expected find and next of PAGE.
static void expect_region(const struct tau_region_tree *tree, uint32_t number, uint32_t start,
                          uint32_t next) {
    struct tau_page found = {7};
    EXPECT_EQUAL(tau_region_tree_find(tree, page(number)).number, start);
    EXPECT_EQUAL(tau_region_tree_next(tree, page(number), &found), next != UINT32_MAX);
    EXPECT_EQUAL(found.number, next);
    EXPECT_EQUAL(tau_region_tree_is_start(tree, page(number)), start == number);
}

// Tries every subset of the 16 pages FIRST, FIRST + STRIDE, ... that lie in the tree. Page 0 is in
// each.
static void try_every_set(unsigned pages_log2, uint32_t first, uint32_t stride) {
    struct grown grown = grow(pages_log2);
    const uint32_t pages = UINT32_C(1) << pages_log2;
    const uint32_t fixed = first == 0 ? 1 : 0;  // page 0 is always in the set
    uint32_t set = fixed;
    for (uint32_t step = 1; step <= (UINT32_C(1) << SET_PAGES); step++) {
        const unsigned place = (unsigned)__builtin_ctz(step) % SET_PAGES;
        const uint32_t changed = first + place * stride;
        if (changed != 0 && changed < pages) {
            set ^= UINT32_C(1) << place;
            if ((set >> place & 1) != 0) {
                tau_region_tree_split(&grown.tree, page(changed));
            } else {
                tau_region_tree_union(&grown.tree, page(changed));
            }
        }
        for (unsigned i = 0; i < SET_PAGES && first + i * stride < pages; i++) {
            const uint32_t number = first + i * stride;
            const uint32_t upto = set & ((2u << i) - 1);
            const uint32_t beyond = set & ~((2u << i) - 1);
            const uint32_t start =
                upto == 0 ? 0 : first + stride * (31 - (uint32_t)__builtin_clz(upto));
            const uint32_t next =
                beyond == 0 ? UINT32_MAX : first + stride * (uint32_t)__builtin_ctz(beyond);
            expect_region(&grown.tree, number, start, next);
            if (stride > 1 && (step + i) % 8 == 0 && number + 1 < pages) {  // between the pages
                expect_region(&grown.tree, number + 1, start, next);
            }
        }
        if (step % 8192 == 0 || (grown.words < 80 && step % 64 == 0)) {
            EXPECT_EQUAL(check_region_tree(&grown.tree), 0);
        }
    }
    fell(&grown);
}

TEST_CASE(every_set_of_16_pages) {
    const uint32_t pages = UINT32_C(1) << LOG2_MAX;
    try_every_set(LOG2_MAX, 0, 1);                           // The first pages.
    try_every_set(LOG2_MAX, pages - SET_PAGES, 1);           // The last pages.
    try_every_set(LOG2_MAX, 32 - 8, 1);                      // Over a border of level 0,
    try_every_set(LOG2_MAX, 1024 - 8, 1);                    // of levels 0 and 1,
    try_every_set(LOG2_MAX, 32768 - 8, 1);                   // of levels 0, 1 and 2.
    try_every_set(LOG2_MAX, pages / 2 - 8, 1);               // In the middle of the top word.
    try_every_set(LOG2_MAX, 0, 32);                          // One page per word of level 0,
    try_every_set(LOG2_MAX, 1023, 1024);                     // of level 1 (the last page of each),
    try_every_set(LOG2_MAX, 32768, 32768);                   // of level 2.
    try_every_set(LOG2_MAX, 16, 31);                         // Two pages in some words.
    try_every_set(LOG2_MAX, pages - 1 - 15 * 32769, 32769);  // Another bit at every level.
}

TEST_CASE(every_set_of_small_trees) {
    for (unsigned pages_log2 = 1; pages_log2 <= 6; pages_log2++) {
        try_every_set(pages_log2, 0, 1);
    }
    try_every_set(6, 48, 1);
    try_every_set(10, 0, 64);
    try_every_set(10, 1008, 1);
    try_every_set(11, 1024 - 8, 1);
    try_every_set(15, 15, 2048);
    try_every_set(16, 32768 - 8, 1);
}

// What the proofs take for granted: each word of each level has a place of its own in the memory,
// and the memory has no other.
TEST_CASE(every_word_has_a_place) {
    for (unsigned pages_log2 = TAU_SPACE_PAGES_LOG2_MIN; pages_log2 <= LOG2_MAX; pages_log2++) {
        struct grown grown = grow(pages_log2);
        size_t seen = 0;
        for (unsigned level = 0; level < TAU_REGION_TREE_LEVELS; level++) {
            const uint32_t words = region_tree_words(level, region_tree_log2(&grown.tree, level));
            for (uint32_t number = 0; number < words; number++) {
                region_tree_write(&grown.tree, level, (int32_t)~number, guard - 1 - level);
            }
        }
        for (unsigned level = 0; level < TAU_REGION_TREE_LEVELS; level++) {
            const uint32_t words = region_tree_words(level, region_tree_log2(&grown.tree, level));
            for (uint32_t number = 0; number < words; number++) {
                const int32_t index = (int32_t)~number;
                EXPECT_EQUAL(region_tree_read(&grown.tree, level, index), guard - 1 - level);
                region_tree_write(&grown.tree, level, index, (uint32_t)seen++);
            }
        }
        EXPECT_EQUAL(seen, grown.words);
        REQUIRE(tau_region_tree_init(&grown.tree, grown.memory + GUARD_WORDS, 4 * grown.words,
                                     pages_log2) == TAU_OK);
        fell(&grown);
    }
}

// [P0-19] [P0-21]: the bytes of a tree, and that it is smaller than a page table.
TEST_CASE(sizes) {
    if (LOG2_MAX == 20) {
        EXPECT_EQUAL(tau_region_tree_size_bytes(20), 135300);
        EXPECT_EQUAL(tau_region_tree_size_bytes(10), 264);
        EXPECT_EQUAL(tau_region_tree_size_bytes(1), 140);
    }
    for (unsigned pages_log2 = LOG2_MAX == 20 ? 6 : 12; pages_log2 <= LOG2_MAX; pages_log2++) {
        EXPECT(tau_region_tree_size_bytes(pages_log2) < (size_t)4 << pages_log2);
    }
    EXPECT_EQUAL(tau_region_tree_size_bytes(0), 0);
    EXPECT_EQUAL(tau_region_tree_size_bytes(LOG2_MAX + 1), 0);
    EXPECT_EQUAL(tau_region_tree_size_bytes(36), 0);
    EXPECT_EQUAL(tau_region_tree_size_bytes(UINT32_MAX), 0);
}

TEST_CASE(bad_arguments_change_nothing) {
    static uint32_t memory[4096], copy[4096];
    struct tau_region_tree tree = {memory, 99};
    const size_t size = tau_region_tree_size_bytes(6);
    memset(memory, 0x33, sizeof memory);
    memcpy(copy, memory, sizeof memory);
    REQUIRE(size <= sizeof memory - 4);
    EXPECT_EQUAL(tau_region_tree_init(&tree, memory, size, 0), TAU_SPACE_TOO_SMALL);
    EXPECT_EQUAL(tau_region_tree_init(&tree, memory, size, LOG2_MAX + 1), TAU_SPACE_TOO_LARGE);
    EXPECT_EQUAL(tau_region_tree_init(&tree, memory, SIZE_MAX, 36), TAU_SPACE_TOO_LARGE);
    EXPECT_EQUAL(tau_region_tree_init(&tree, memory, SIZE_MAX, UINT32_MAX), TAU_SPACE_TOO_LARGE);
    EXPECT_EQUAL(tau_region_tree_init(&tree, NULL, size, 6), TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(tau_region_tree_init(&tree, NULL, size, 0), TAU_SPACE_TOO_SMALL);
    EXPECT_EQUAL(tau_region_tree_init(&tree, memory, size - 1, 6), TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(tau_region_tree_init(&tree, memory, 0, 6), TAU_BAD_ARGUMENT);
    for (unsigned byte = 1; byte < 4; byte++) {
        void *const odd = (unsigned char *)memory + byte;
        EXPECT_EQUAL(tau_region_tree_init(&tree, odd, size, 6), TAU_BAD_ARGUMENT);
    }
    EXPECT(tree.words == memory && tree.pages_log2 == 99);
    EXPECT(memcmp(memory, copy, sizeof memory) == 0);
    EXPECT_EQUAL(tau_region_tree_init(&tree, memory, size, 6), TAU_OK);
}

// Each invariant broken once; the short test sees its part.
TEST_CASE(the_checkers_notice) {
    if (LOG2_MAX != 20) {
        return;  // the words below are chosen for four levels
    }
    struct grown grown = grow(LOG2_MAX - 1);
    struct tau_region_tree *const tree = &grown.tree;
    const unsigned top = TAU_REGION_TREE_LEVELS - 1;
    const int32_t last = -(int32_t)region_tree_words(top - 1, LOG2_MAX);
    tau_region_tree_split(tree, page(100000));
    EXPECT_EQUAL(check_region_tree(tree), 0);
    for (unsigned level = 0; level <= top; level++) {
        const uint32_t kept = region_tree_read(tree, level, -1);
        region_tree_write(tree, level, -1, 0);
        EXPECT_EQUAL(check_region_tree(tree), 1);
        EXPECT_EQUAL(tau_region_tree_invariants_hold(tree), level == 1);
        region_tree_write(tree, level, -1, kept);
    }
    const uint32_t kept = region_tree_read(tree, top, -1);
    region_tree_write(tree, top, -1, kept | region_tree_bit(last));  // a word beyond the tree's
    EXPECT(check_region_tree(tree) != 0);
    EXPECT(!tau_region_tree_invariants_hold(tree));
    region_tree_write(tree, top - 1, last, region_tree_bit(-1));
    EXPECT_EQUAL(check_region_tree(tree), 2);
    region_tree_write(tree, top, -1, kept);
    region_tree_write(tree, top - 1, last, 0);
    tau_region_tree_split(tree, page(1));
    const uint32_t word = region_tree_read(tree, 0, -1);
    region_tree_write(tree, 0, -1, word ^ region_tree_bit(-1));  // page 0 starts nothing
    EXPECT_EQUAL(check_region_tree(tree), 3);
    EXPECT(!tau_region_tree_invariants_hold(tree));
    region_tree_write(tree, 0, -1, word);
    fell(&grown);
}
