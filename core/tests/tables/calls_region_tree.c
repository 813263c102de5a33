// Goal: no calls make the region tree unsound.
// Method: trees of every size, on hostile memory; splits and unions near borders of words and near
// other regions; a full walk on the way. Each answer is compared with model/region_tree.py.
#include "core/region_tree.h"
#include "core/tests/checks/check_region_tree.h"
#include "core/tests/kit/mechanism.h"

enum {
    LOG2_MAX = TAU_SPACE_PAGES_LOG2_MAX < 20 ? TAU_SPACE_PAGES_LOG2_MAX : 20,
    WORDS_MAX = 40000,
    STARTS_MAX = 150,
};

static uint32_t memory[WORDS_MAX];
static struct tau_region_tree tree;
static uint32_t starts_count;

static uint32_t some_page(void) {
    const uint32_t mask = (UINT32_C(1) << tree.pages_log2) - 1;
    if (choose(2) == 0) {
        return choose(mask + 1);
    }
    if (choose(2) == 0) {  // near a border of words
        return ((UINT32_C(1) << choose(tree.pages_log2)) + choose(7) - 3) & mask;
    }
    const struct tau_page start = tau_region_tree_find(&tree, (struct tau_page){choose(mask + 1)});
    return (start.number + choose(5) - 2) & mask;
}

// Asks for a page; then a start becomes none, or another page becomes one.
static enum tau_status change(void) {
    const struct tau_page page = {some_page()};
    const struct tau_page start = tau_region_tree_find(&tree, page);
    struct tau_page next = {0};
    const bool has_next = tau_region_tree_next(&tree, page, &next);
    const bool is_start = tau_region_tree_is_start(&tree, page);
    LOG("F %u %u %d %u %d\n", page.number, start.number, has_next, has_next ? next.number : 0,
        is_start);
    EXPECT_EQUAL(is_start, page.number == start.number);
    if (page.number != start.number && starts_count < STARTS_MAX) {
        tau_region_tree_split(&tree, page);
        EXPECT(tau_region_tree_is_start(&tree, page));
        starts_count++;
        LOG("S %u\n", page.number);
    } else if (start.number != 0) {
        tau_region_tree_union(&tree, start);
        EXPECT(!tau_region_tree_is_start(&tree, start));
        starts_count--;
        LOG("U %u\n", start.number);
    }
    return TAU_OK;
}

static void open_tree(void) {
    const unsigned pages_log2 = 1 + choose(LOG2_MAX);
    const size_t bytes = tau_region_tree_size_bytes(pages_log2);
    REQUIRE(bytes <= sizeof memory);
    memset(memory, (int)choose(256), bytes);
    REQUIRE(tau_region_tree_init(&tree, memory, bytes, pages_log2) == TAU_OK);
    starts_count = 0;
    LOG("I %u %zu\n", pages_log2, bytes);
}

static void check(void) {
    EXPECT_EQUAL(check_region_tree(&tree), 0);
}

static const struct operation operations[] = {{1, change}, {0, NULL}};

static struct mechanism calls_of_region_tree = {
    .name = "region_tree",
    .operations = operations,
    .calls_max = 4000,
    .check_every = 512,
    .open = open_tree,
    .check = check,
};

MECHANISM(calls_of_region_tree)
