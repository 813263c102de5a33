// Goal: every function of pools.h keeps its contract; within the limits nothing fails, beyond them
// each refusal has its reason; misuse is reported and never obeyed. Method: every size of small and
// of dense tables of bands, limits taken to exhaustion in many orders, damaged blocks.
#include "core/tests/heap/pools_heap.h"

static const struct tau_budget_class plan[] = {{24, 4}, {100, 8}, {101 + UNIT, 3}, {1000, 2}};
enum { PLAN_COUNT = COUNT_OF(plan), KEY_MIN = 2 * sizeof(tau_word) / UNIT };

// ---- Sizes and bands ---------------------------------------------------------------------------

// Each size goes to the first band that is large enough, and each block of it can be used.
static void expect_every_size_found(const struct tau_budget_class *bands, size_t count) {
    struct tau_pools *const heap = opened(bands, count, 0, 0);
    size_t band = 0;
    for (size_t size = 1; band < count; size++) {
        band += size > rounded(bands[band].size_bytes);
        void *const object = tau_pools_malloc(heap, size);
        if (band == count) {
            EXPECT(object == NULL);
            EXPECT_EQUAL(tau_pools_reason(heap, size), TAU_ABOVE_BANDS);
        } else {
            EXPECT_EQUAL(tau_pools_usable_size(heap, object), rounded(bands[band].size_bytes));
            EXPECT_EQUAL(tau_pools_band_statistics(heap, band).used_count, 1);
            EXPECT_EQUAL(tau_pools_free(heap, object), TAU_OK);
        }
    }
    EXPECT_EQUAL(tau_pools_statistics(heap).above_bands_count, 1);
    EXPECT_EQUAL(tau_pools_statistics(heap).exceeded_count, 0);
}

TEST_CASE(every_size_finds_its_band) {
    expect_every_size_found(plan, PLAN_COUNT);
    expect_every_size_found(plan, 1);
}

// 64 bands one alignment apart, from any start: the finest table that init accepts.
TEST_CASE(dense_bands_are_found) {
    struct tau_budget_class bands[TAU_BUDGET_CLASSES_MAX];
    for (uint32_t start = KEY_MIN; start < 400; start += 37) {
        for (uint32_t i = 0; i < COUNT_OF(bands); i++) {
            bands[i] = (struct tau_budget_class){(start + i) * UNIT - i % UNIT, 1 + i % 3};
        }
        struct tau_pools *heap = NULL;
        const enum tau_status status =
            tau_pools_init(&heap, arena, ARENA_BYTES, bands, COUNT_OF(bands), 0);
        if (status == TAU_OK) {
            expect_every_size_found(bands, COUNT_OF(bands));
        } else {
            EXPECT_EQUAL(status, TAU_PLAN_INVALID);
            EXPECT(start + COUNT_OF(bands) > 256);
        }
    }
}

TEST_CASE(random_bands_are_found) {
    for (unsigned round = 0; round < 60; round++) {
        struct tau_budget_class bands[TAU_BUDGET_CLASSES_MAX];
        const size_t count = 1 + test_random_below(COUNT_OF(bands));
        uint32_t key = KEY_MIN - 1;
        for (size_t i = 0; i < count; i++) {
            key += 1 + (uint32_t)test_random_below(1 + key / 8);
            bands[i] = (struct tau_budget_class){key * UNIT, 1 + (uint32_t)test_random_below(4)};
        }
        const size_t needed = tau_pools_size(bands, count, 0, 0);
        if (needed != 0 && needed <= ARENA_BYTES && key < 1u << 14) {
            expect_every_size_found(bands, count);
        }
    }
}

TEST_CASE(sizes_of_no_band) {
    struct tau_pools *const heap = opened(plan, PLAN_COUNT, 0, 0);
    const size_t sizes[] = {1001 + UNIT, SIZE_MAX, SIZE_MAX - UNIT + 1, SIZE_MAX / 2 + 1};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        EXPECT(tau_pools_malloc(heap, sizes[i]) == NULL);
        EXPECT_EQUAL(tau_pools_statistics(heap).above_bands_count, i + 1);
        EXPECT_EQUAL(test_port.out_of_memory_bytes, sizes[i]);
        EXPECT_EQUAL(test_port.out_of_memory_count, i + 1);
    }
    EXPECT(tau_pools_calloc(heap, SIZE_MAX / 4, 8) == NULL);
    EXPECT_EQUAL(test_port.out_of_memory_bytes, SIZE_MAX);
    EXPECT(tau_pools_malloc(heap, 0) == NULL);
    EXPECT(tau_pools_calloc(heap, 0, 8) == NULL);
    EXPECT_EQUAL(tau_pools_reason(heap, 0), TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(test_port.out_of_memory_count, COUNT_OF(sizes) + 1);
}

// ---- The guarantee -----------------------------------------------------------------------------

// Fills every band up to its limit, in a random order, and empties all in another one.
TEST_CASE(within_the_limits_nothing_fails) {
    struct tau_pools *const heap = opened(plan, PLAN_COUNT, 0, 0);
    for (unsigned round = 0; round < 200; round++) {
        void *objects[17];
        size_t left[PLAN_COUNT], alive = 0;
        for (size_t i = 0; i < PLAN_COUNT; i++) {
            left[i] = plan[i].count;
        }
        while (alive < COUNT_OF(objects)) {
            const size_t band = test_random_below(PLAN_COUNT);
            if (left[band] > 0) {
                const size_t below = band > 0 ? rounded(plan[band - 1].size_bytes) : 0;
                const size_t size =
                    below + 1 + test_random_below(rounded(plan[band].size_bytes) - below);
                EXPECT_EQUAL(tau_pools_reason(heap, size), TAU_OK);
                objects[alive] = tau_pools_malloc(heap, size);
                EXPECT(objects[alive] != NULL);
                memset(objects[alive++], 0xff, rounded(plan[band].size_bytes));
                left[band]--;
            }
        }
        for (size_t i = 0; i < PLAN_COUNT; i++) {
            EXPECT_EQUAL(tau_pools_reason(heap, plan[i].size_bytes), TAU_LIMIT_REACHED);
            EXPECT(tau_pools_malloc(heap, plan[i].size_bytes) == NULL);
            const struct tau_pools_band_statistics band = tau_pools_band_statistics(heap, i);
            EXPECT_EQUAL(band.size_bytes, rounded(plan[i].size_bytes));
            EXPECT_EQUAL(band.limit_count, plan[i].count);
            EXPECT_EQUAL(band.used_count, plan[i].count);
            EXPECT_EQUAL(band.peak_used_count, plan[i].count);
            EXPECT_EQUAL(band.exceeded_count, round + 1);
        }
        EXPECT(tau_pools_invariants_hold(heap));
        for (; alive > 0; alive--) {
            const size_t k = test_random_below(alive);
            EXPECT_EQUAL(tau_pools_free(heap, objects[k]), TAU_OK);
            objects[k] = objects[alive - 1];
        }
    }
    EXPECT_EQUAL(tau_pools_statistics(heap).exceeded_count, 200 * PLAN_COUNT);
    EXPECT_EQUAL(tau_pools_band_statistics(heap, PLAN_COUNT).limit_count, 0);
    EXPECT_EQUAL(test_port.out_of_memory_count, 200 * PLAN_COUNT);
    EXPECT_EQUAL(test_port.misuse_count, 0);
}

TEST_CASE(overflow_serves_and_is_counted) {
    struct tau_pools *const heap = opened(plan, PLAN_COUNT, 0, 8192);
    void *objects[4];
    for (size_t i = 0; i < 4; i++) {
        objects[i] = tau_pools_malloc(heap, 24);
    }
    void *const beyond = tau_pools_malloc(heap, 24);
    void *const above = tau_pools_malloc(heap, 2000);
    EXPECT(beyond != NULL && above != NULL);
    EXPECT_EQUAL(tau_pools_band_statistics(heap, 0).exceeded_count, 1);
    EXPECT_EQUAL(tau_pools_statistics(heap).above_bands_count, 1);
    EXPECT(tau_pools_statistics(heap).overflow.used_bytes >= 2024);
    memset(beyond, 7, 24);
    EXPECT_EQUAL(tau_pools_free(heap, objects[2]), TAU_OK);
    unsigned char *const home = tau_pools_realloc(heap, beyond, 20);  // a block is free again
    EXPECT(home == objects[2]);
    EXPECT(home[0] == 7 && home[19] == 7);
    void *const larger = tau_pools_realloc(heap, above, 3000);
    EXPECT(larger != NULL);
    EXPECT_EQUAL(tau_pools_statistics(heap).above_bands_count, 2);
    void *const full = tau_pools_realloc(heap, larger, 24);
    EXPECT(full != NULL);
    EXPECT_EQUAL(tau_pools_band_statistics(heap, 0).exceeded_count, 2);
    EXPECT_EQUAL(tau_pools_statistics(heap).above_bands_count, 2);
    EXPECT_EQUAL(tau_pools_free(heap, full), TAU_OK);
    EXPECT_EQUAL(tau_pools_statistics(heap).overflow.used_bytes, 0);
    EXPECT_EQUAL(test_port.out_of_memory_count, 0);
}

static struct tau_pools *shared_heap;
static void *shared_object;

static void free_shared(void) {
    if (shared_object != NULL) {
        EXPECT_EQUAL(tau_pools_free(shared_heap, shared_object), TAU_OK);
        shared_object = NULL;
    }
}

// Regression: a refused call took the lock a second time. Another thread's free between both made a
// full pool look overwritten, and its refusal was not counted.
TEST_CASE(a_free_behind_a_refusal_changes_nothing) {
    static const struct tau_budget_class bands[] = {{24, 1}, {192, 3}};
    shared_heap = opened(bands, COUNT_OF(bands), 64, 0);
    for (unsigned round = 1; round <= 2; round++) {
        while (tau_pools_reason(shared_heap, 192) == TAU_OK) {
            shared_object = tau_pools_malloc(shared_heap, 192);
        }
        test_port.on_unlock = free_shared;
        EXPECT((round == 1 ? tau_pools_malloc(shared_heap, 192)
                           : tau_pools_aligned_alloc(shared_heap, 64, 192)) == NULL);
        test_port.on_unlock = NULL;
        EXPECT(shared_object == NULL);
        EXPECT_EQUAL(tau_pools_statistics(shared_heap).exceeded_count, round);
        EXPECT_EQUAL(test_port.out_of_memory_count, round);
        EXPECT_EQUAL(test_port.misuse_count, 0);
    }
}

// Each new peak is reported once, and the warning of core/pools.h comes at 80 % of a limit, rounded
// up.
TEST_CASE(a_band_warns_once_before_its_limit) {
    for (uint32_t limit = 1; limit <= 12; limit++) {
        const struct tau_budget_class bands[] = {{24, limit}, {100, 1}};
        struct tau_pools *const heap = opened(bands, COUNT_OF(bands), 0, 0);
        void *objects[12];
        for (unsigned round = 0; round < 2; round++) {
            for (uint32_t i = 0; i < limit; i++) {
                objects[i] = tau_pools_malloc(heap, 20);
                EXPECT_EQUAL(test_port.peaks_count, round == 0 ? i + 1 : limit);
                EXPECT_EQUAL(test_port.warnings_count, round == 1 || 5 * (i + 1) >= 4 * limit);
                EXPECT_EQUAL(test_port.peak_used_count, test_port.peaks_count);
            }
            EXPECT(tau_pools_malloc(heap, 20) == NULL);
            for (uint32_t i = 0; i < limit; i++) {
                EXPECT_EQUAL(tau_pools_free(heap, objects[i]), TAU_OK);
            }
        }
        EXPECT_EQUAL(test_port.peak_size_bytes, rounded(24));
        EXPECT_EQUAL(test_port.peak_limit_count, limit);
        EXPECT_EQUAL(test_port.peaks_count, limit);
        EXPECT_EQUAL(test_port.inside_count, 0);
    }
}

TEST_CASE(counters_do_not_wrap_around) {
    struct tau_pools *const heap = opened(plan, PLAN_COUNT, 0, 0);
    *pools_counter_of(heap, budget_fields_of(&heap->blocks)->classes) = UINT32_MAX;
    EXPECT(tau_pools_malloc(heap, 5000) == NULL);
    EXPECT_EQUAL(tau_pools_statistics(heap).above_bands_count, UINT32_MAX);
    for (size_t class = 0; class < PLAN_COUNT; class += 1) {
        *pools_counter_of(heap, class) = UINT32_MAX;
    }
    EXPECT_EQUAL(tau_pools_statistics(heap).exceeded_count, UINT32_MAX);
}

// ---- realloc, alignment ------------------------------------------------------------------------

TEST_CASE(realloc_belongs_to_the_new_size) {
    struct tau_pools *const heap = opened(plan, PLAN_COUNT, 0, 0);
    unsigned char *const object = tau_pools_malloc(heap, 40);
    memset(object, 9, 40);
    EXPECT(tau_pools_realloc(heap, object, rounded(100)) == object);
    EXPECT(tau_pools_realloc(heap, object, 25 + UNIT) == object);
    EXPECT(test_port.trace_old == object && test_port.trace_pointer == object);
    unsigned char *const small = tau_pools_realloc(heap, object, 20);
    EXPECT(small != NULL && small != object && small[19] == 9);
    EXPECT_EQUAL(tau_pools_band_statistics(heap, 1).used_count, 0);
    EXPECT_EQUAL(tau_pools_band_statistics(heap, 0).used_count, 1);
    for (size_t i = 0; i < 2; i++) {
        EXPECT(tau_pools_malloc(heap, 900) != NULL);
    }
    EXPECT(tau_pools_realloc(heap, small, 900) == NULL);  // its band is full: nothing changes
    EXPECT(small[0] == 9 && small[19] == 9);
    EXPECT_EQUAL(tau_pools_band_statistics(heap, 0).used_count, 1);
    EXPECT(tau_pools_realloc(heap, small, 5000) == NULL);
    EXPECT(tau_pools_realloc(heap, small, 0) == NULL);
    EXPECT_EQUAL(tau_pools_band_statistics(heap, 0).used_count, 0);
    EXPECT(tau_pools_realloc(heap, NULL, 8) != NULL);
}

TEST_CASE(blocks_have_the_alignment_of_their_size) {
    static const struct tau_budget_class bands[] = {{UNIT, 3}, {3 * UNIT, 1}, {64, 2},
                                                    {192, 2},  {1024, 1},     {4096, 1}};
    for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
        struct tau_pools *const heap = opened(bands, COUNT_OF(bands), alignment, 0);
        for (size_t i = 0; i < COUNT_OF(bands); i++) {
            const size_t block = rounded(bands[i].size_bytes), own = block & -block;
            const size_t has = own < alignment ? own : alignment;
            for (size_t k = 0; k < bands[i].count; k++) {
                void *const object = tau_pools_malloc(heap, bands[i].size_bytes);
                EXPECT_EQUAL((uintptr_t)object % has, 0);
                EXPECT_EQUAL(tau_pools_free(heap, object), TAU_OK);
                void *const asked = tau_pools_aligned_alloc(heap, has, block - has + 1);
                EXPECT_EQUAL((uintptr_t)asked % has, 0);
                EXPECT(tau_pools_usable_size(heap, asked) == block);
            }
        }
        EXPECT(tau_pools_aligned_alloc(heap, 8192, 8) == NULL);
        EXPECT(tau_pools_aligned_alloc(heap, 3, 8) == NULL);
        EXPECT(tau_pools_aligned_alloc(heap, 0, 8) == NULL);
        EXPECT(tau_pools_aligned_alloc(heap, 64, SIZE_MAX - 3) == NULL);
        EXPECT(tau_pools_invariants_hold(heap));
    }
}

TEST_CASE(the_self_test_sees_damage) {
    struct tau_pools *const heap = opened(plan, PLAN_COUNT, 0, 0);
    const struct budget_fields *const fields = budget_fields_of(&heap->blocks);
    const uint8_t *const classes = &heap->blocks.owner[fields->order];
    for (size_t i = 0; i + 1 < PLAN_COUNT; i++) {
        struct budget_class *const class = budget_class_at(&heap->blocks, classes[i]);
        class->used_count = class->fresh_count + 1;
        EXPECT(!tau_pools_invariants_hold(heap));
        class->used_count = class->fresh_count;
        const size_t step =
            budget_step_of((tau_word)pools_units_of(class->bucket_bytes), fields->size_level);
        uint8_t *const entry = &heap->blocks.owner[fields->sizes + step];
        const uint8_t before = *entry;
        *entry = classes[PLAN_COUNT - 1];
        EXPECT(!tau_pools_invariants_hold(heap));
        *entry = before;
        EXPECT(tau_pools_invariants_hold(heap));
    }
}

// ---- Making a heap -----------------------------------------------------------------------------

TEST_CASE(bad_bands_are_refused) {
    static const struct {
        struct tau_budget_class bands[3];
        size_t count, alignment;
        enum tau_status status;
    } cases[] = {
        {{{0, 1}}, 1, 0, TAU_PLAN_INVALID},
        {{{8, 0}}, 1, 0, TAU_PLAN_INVALID},
        {{{8, 1}}, 0, 0, TAU_PLAN_INVALID},
        {{{100, 1}, {8, 1}}, 2, 0, TAU_PLAN_INVALID},
        {{{97, 1}, {98, 1}}, 2, 0, TAU_PLAN_INVALID},
        {{{8, 1}}, TAU_BUDGET_CLASSES_MAX + 1, 0, TAU_PLAN_INVALID},
        {{{(1u << 30) + 1, 1}}, 1, 0, TAU_PLAN_INVALID},
        // Two borders in one step of 1/256.
        {{{(1u << 20) + UNIT, 1}, {(1u << 20) + 2 * UNIT, 1}, {(1u << 20) + 3 * UNIT, 1}},
         3,
         0,
         TAU_PLAN_INVALID},
        // In one step of 1/256, but not of 1/512.
        {{{((1u << 17) + 100) * UNIT, 1}, {((1u << 17) + 356) * UNIT, 1}, {1u << 24, 1}},
         3,
         0,
         TAU_PLAN_INVALID},
        {{{8, 1}}, 1, 24, TAU_BAD_ARGUMENT},
        {{{8, 1}}, 1, 3, TAU_BAD_ARGUMENT},
        {{{8, 1}}, 1, UNIT - 1, TAU_BAD_ARGUMENT},
        {{{8, 1}}, 1, SIZE_MAX, TAU_BAD_ARGUMENT},
        {{{8, 1}}, 1, 8192, TAU_BAD_ARGUMENT},
        {{{1u << 30, UINT32_MAX}}, 1, 0, TAU_PLAN_TOO_LARGE},
        {{{1u << 20, 1}}, 1, 0, TAU_PLAN_TOO_LARGE},
    };
    struct tau_pools *heap = NULL;
    memset(arena, 0xa5, sizeof arena);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        EXPECT_EQUAL(tau_pools_init(&heap, arena, ARENA_BYTES, cases[i].bands, cases[i].count,
                                    cases[i].alignment),
                     cases[i].status);
        EXPECT(heap == NULL);
    }
    EXPECT_EQUAL(tau_pools_init(&heap, arena, ARENA_BYTES, NULL, 1, 0), TAU_PLAN_INVALID);
    EXPECT_EQUAL(tau_pools_init(NULL, arena, ARENA_BYTES, plan, 1, 0), TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(tau_pools_init(&heap, NULL, ARENA_BYTES, plan, 1, 0), TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(tau_pools_init(&heap, arena, SIZE_MAX, plan, 1, 0), TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(tau_pools_init(&heap, arena + 8, 4096, plan, 1, 32), TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(tau_pools_size(plan, PLAN_COUNT, 0, SIZE_MAX), 0);
    for (size_t i = 0; i < sizeof arena; i++) {
        EXPECT_EQUAL(arena[i], 0xa5);
    }
}

TEST_CASE(one_byte_too_few_is_refused) {
    for (size_t alignment = 1; alignment <= 256; alignment *= 2) {
        struct tau_pools *heap = NULL;
        const size_t needed = tau_pools_size(plan, PLAN_COUNT, alignment, 0);
        EXPECT_EQUAL(tau_pools_init(&heap, arena, needed - 1, plan, PLAN_COUNT, alignment),
                     TAU_PLAN_TOO_LARGE);
        EXPECT_EQUAL(tau_pools_init(&heap, arena, needed, plan, PLAN_COUNT, alignment), TAU_OK);
        const struct tau_pools_statistics statistics = tau_pools_statistics(heap);
        EXPECT(statistics.control_bytes + statistics.pools_bytes <= needed);
        EXPECT(statistics.control_bytes + statistics.pools_bytes + alignment + UNIT > needed);
        EXPECT_EQUAL(statistics.bands_count, PLAN_COUNT);
        EXPECT_EQUAL(statistics.overflow.used_bytes, 0);
    }
}
