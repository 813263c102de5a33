// Goal: a wrong free or resize of pools is reported with its reason and never obeyed, and a block
// that was overwritten is not handed out. Method: each kind of wrong pointer, each word of a block.
#include "core/tests/heap/pools_heap.h"

static const struct tau_budget_class plan[] = {{24, 4}, {100, 8}, {101 + UNIT, 3}, {1000, 2}};
enum { PLAN_COUNT = COUNT_OF(plan) };

TEST_CASE(misuse_is_refused) {
    struct tau_pools *const heap = opened(plan, PLAN_COUNT, 64, 0);
    unsigned char *const object = tau_pools_malloc(heap, 100);
    const struct {
        void *pointer;
        enum tau_status status;
    } cases[] = {
        {object + UNIT, TAU_FOREIGN_POINTER},           {object + 1, TAU_MISALIGNED_POINTER},
        {object + rounded(100), TAU_FOREIGN_POINTER},  // never handed out
        {arena + ARENA_BYTES / 2, TAU_FOREIGN_POINTER}, {heap, TAU_FOREIGN_POINTER},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        EXPECT_EQUAL(tau_pools_free(heap, cases[i].pointer), cases[i].status);
        EXPECT_EQUAL(test_port.misuse_count, 2 * i + 1);
        EXPECT(tau_pools_realloc(heap, cases[i].pointer, 50) == NULL);
        EXPECT_EQUAL(test_port.misuse_reason, cases[i].status);
        EXPECT_EQUAL(tau_pools_usable_size(heap, cases[i].pointer), 0);
    }
    EXPECT_EQUAL(tau_pools_free(heap, NULL), TAU_OK);
    EXPECT_EQUAL(tau_pools_free(heap, object), TAU_OK);
    EXPECT_EQUAL(tau_pools_free(heap, object), TAU_DOUBLE_FREE);
    EXPECT_EQUAL(tau_pools_band_statistics(heap, 1).used_count, 0);
    EXPECT(tau_pools_invariants_hold(heap));
}

TEST_CASE(an_overwritten_block_is_not_handed_out) {
    for (unsigned word = 0; word < 2; word++) {
        struct tau_pools *const heap = opened(plan, PLAN_COUNT, 0, 0);
        tau_word *const object = tau_pools_malloc(heap, 24);
        EXPECT_EQUAL(tau_pools_free(heap, object), TAU_OK);
        EXPECT_EQUAL(tau_pools_reason(heap, 24), TAU_OK);
        object[word] ^= 0x100;
        EXPECT_EQUAL(tau_pools_reason(heap, 24), TAU_OVERWRITTEN);
        EXPECT(tau_pools_malloc(heap, 24) == NULL);
        EXPECT_EQUAL(test_port.misuse_reason, TAU_OVERWRITTEN);
        EXPECT_EQUAL(tau_pools_band_statistics(heap, 0).exceeded_count, 0);
        EXPECT_EQUAL(test_port.out_of_memory_count, 0);
    }
}
