// Goal: every function of budget.h keeps its contract [P1-1 … P1-8], also when a region, the shared
// region or both are exhausted, and misuse is reported and never obeyed. Method: small plans, a
// full walk (check_budget) after each step, a comparison of all bytes where nothing may change.
#include "core/tests/heap/budget_heap.h"

enum { WORD = sizeof(tau_word), UNIT = TAU_ALIGNMENT };

static const struct tau_budget_class plan[] = {{24, 4}, {100, 8}, {UNIT, 3}, {1000, 2}};
enum { PLAN_COUNT = COUNT_OF(plan), SHARED_BYTES = 4096 };

// A bucket's size, which has room for two words.
static size_t rounded(size_t size) {
    const size_t whole = (size + UNIT - 1) / UNIT * UNIT;
    return whole == sizeof(tau_word) ? 2 * sizeof(tau_word) : whole;
}

// ---- Where objects go -------------------------------------------------------------------------

TEST_CASE(objects_go_to_their_exact_region) {
    for (size_t i = 0; i < PLAN_COUNT; i++) {
        for (size_t size = rounded(plan[i].size_bytes) - UNIT + 1;
             size <= rounded(plan[i].size_bytes); size++) {
            struct test_budget heap = budget_open(plan, PLAN_COUNT, SHARED_BYTES);
            unsigned char *first = NULL;
            for (size_t k = 0; k < plan[i].count; k++) {
                unsigned char *object = tau_budget_malloc(heap.budget, size);
                first = k == 0 ? object : first;
                EXPECT(object == first + k * rounded(size));
                EXPECT(is_bucket(&heap, object));
                EXPECT_EQUAL(tau_budget_usable_size(heap.budget, object), rounded(size));
                memset(object, 0xff, rounded(size));
                EXPECT_BUDGET_SOUND(&heap);
            }
            void *next = tau_budget_malloc(heap.budget, size);
            EXPECT(next != NULL && !is_bucket(&heap, next));  // never to a larger bucket
            EXPECT_EQUAL(tau_budget_statistics(heap.budget).shared.used_bytes > 0, true);
            budget_close(&heap);
        }
    }
}

TEST_CASE(other_sizes_go_to_the_shared_region) {
    struct test_budget heap = budget_open(plan, PLAN_COUNT, 65536);
    for (size_t size = 1; size < 1200; size++) {
        bool has_class = false;
        for (size_t i = 0; i < PLAN_COUNT; i++) {
            has_class = has_class || rounded(plan[i].size_bytes) == rounded(size);
        }
        void *object = tau_budget_malloc(heap.budget, size);
        EXPECT(object != NULL);
        EXPECT_EQUAL(is_bucket(&heap, object), has_class);
        EXPECT(tau_budget_usable_size(heap.budget, object) >= size);
        EXPECT_EQUAL(tau_budget_free(heap.budget, object), TAU_OK);
    }
    EXPECT_EQUAL(tau_budget_statistics(heap.budget).shared.used_bytes, 0);
    budget_close(&heap);
}

TEST_CASE(buckets_come_back_newest_first) {
    struct test_budget heap = budget_open(plan, PLAN_COUNT, SHARED_BYTES);
    void *buckets[8];
    for (size_t i = 0; i < 8; i++) {
        buckets[i] = tau_budget_malloc(heap.budget, 100);
    }
    for (size_t i = 0; i < 8; i += 2) {
        EXPECT_EQUAL(tau_budget_free(heap.budget, buckets[i]), TAU_OK);
        EXPECT_BUDGET_SOUND(&heap);
    }
    for (size_t i = 8; i > 0; i -= 2) {
        EXPECT(tau_budget_malloc(heap.budget, 97) == buckets[i - 2]);
        EXPECT_BUDGET_SOUND(&heap);
    }
    struct tau_budget_class_statistics class = tau_budget_class_statistics(heap.budget, 1);
    EXPECT_EQUAL(class.size_bytes, rounded(100));
    EXPECT_EQUAL(class.count, 8);
    EXPECT_EQUAL(class.used_count, 8);
    EXPECT_EQUAL(class.peak_used_count, 8);
    budget_close(&heap);
}

TEST_CASE(calloc_clears_buckets_and_others) {
    static const size_t sizes[] = {24, 100, 40};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct test_budget heap = budget_open(plan, PLAN_COUNT, SHARED_BYTES);
        void *dirty = tau_budget_malloc(heap.budget, sizes[i]);
        memset(dirty, 0xee, sizes[i]);
        EXPECT_EQUAL(tau_budget_free(heap.budget, dirty), TAU_OK);
        void *object = tau_budget_calloc(heap.budget, sizes[i] / 4, 4);
        EXPECT(object == dirty && all_bytes_are(object, sizes[i], 0));
        EXPECT(tau_budget_calloc(heap.budget, SIZE_MAX, 2) == NULL);
        EXPECT(tau_budget_calloc(heap.budget, SIZE_MAX / 24 + 2, 24) == NULL);
        EXPECT_EQUAL(test_port.out_of_memory_count, 2);
        EXPECT_EQUAL(tau_budget_statistics(heap.budget).shared.out_of_memory_count, 2);
        budget_close(&heap);
    }
}

TEST_CASE(aligned_objects_go_to_the_shared_region) {
    struct test_budget heap = budget_open(plan, PLAN_COUNT, 65536);
    for (size_t alignment = 1; alignment <= 8192; alignment *= 2) {
        void *object = tau_budget_aligned_alloc(heap.budget, alignment, 24);
        EXPECT(object != NULL && (uintptr_t)object % alignment == 0);
        EXPECT_EQUAL(is_bucket(&heap, object), alignment <= UNIT);
        EXPECT_EQUAL(tau_budget_free(heap.budget, object), TAU_OK);
    }
    EXPECT(tau_budget_aligned_alloc(heap.budget, 0, 24) == NULL);
    EXPECT(tau_budget_aligned_alloc(heap.budget, 24, 24) == NULL);
    EXPECT(tau_budget_aligned_alloc(heap.budget, 64, 0) == NULL);
    EXPECT_EQUAL(test_port.out_of_memory_count, 0);
    budget_close(&heap);
}

// ---- realloc ----------------------------------------------------------------------------------

TEST_CASE(realloc_keeps_a_bucket_while_it_fits) {
    struct test_budget heap = budget_open(plan, PLAN_COUNT, SHARED_BYTES);
    unsigned char *object = tau_budget_malloc(heap.budget, 100);
    pattern_write(object, 100, 1);
    unsigned traces = test_port.trace_count;
    for (size_t size = 1; size <= rounded(100); size++) {
        EXPECT(tau_budget_realloc(heap.budget, object, size) == object);
        EXPECT(test_port.trace_old == object && test_port.trace_pointer == object);
        EXPECT_EQUAL(test_port.trace_size_bytes, size);
        EXPECT_EQUAL(test_port.trace_count, traces + size);
    }
    EXPECT(pattern_holds(object, 100, 1));
    unsigned char *moved = tau_budget_realloc(heap.budget, object, 1000);
    EXPECT(is_bucket(&heap, moved) && moved != object && pattern_holds(moved, 100, 1));
    EXPECT_BUDGET_SOUND(&heap);
    moved = tau_budget_realloc(heap.budget, moved, 1010 + UNIT);
    EXPECT(!is_bucket(&heap, moved) && pattern_holds(moved, 100, 1));
    EXPECT_EQUAL(tau_budget_class_statistics(heap.budget, 1).used_count, 0);
    EXPECT_EQUAL(tau_budget_class_statistics(heap.budget, 3).used_count, 0);
    EXPECT(tau_budget_realloc(heap.budget, moved, 0) == NULL);
    EXPECT_EQUAL(tau_budget_statistics(heap.budget).shared.used_bytes, 0);
    budget_close(&heap);
}

// A shared object falls back to a bucket of its new size, unless that would lose its alignment.
TEST_CASE(realloc_falls_back_to_a_bucket) {
    struct test_budget heap = budget_open(plan, PLAN_COUNT, 700);
    unsigned char *object = tau_budget_malloc(heap.budget, 200);
    REQUIRE(object != NULL && !is_bucket(&heap, object));
    pattern_write(object, 200, 2);
    unsigned char *moved = tau_budget_realloc(heap.budget, object, 1000);
    EXPECT(moved != NULL && is_bucket(&heap, moved) && pattern_holds(moved, 200, 2));
    EXPECT_BUDGET_SOUND(&heap);
    unsigned char *aligned = tau_budget_aligned_alloc(heap.budget, 32, 40);
    REQUIRE(aligned != NULL);
    pattern_write(aligned, 40, 3);
    EXPECT(tau_budget_realloc(heap.budget, aligned, 1000) == NULL);
    EXPECT(pattern_holds(aligned, 40, 3));
    EXPECT_EQUAL(tau_budget_class_statistics(heap.budget, 3).used_count, 1);
    budget_close(&heap);
}

// ---- Exhaustion -------------------------------------------------------------------------------

// With no bucket and no shared byte left, everything that needs memory is refused and counted.
TEST_CASE(exhaustion_changes_nothing) {
    for (unsigned has_shared = 0; has_shared < 2; has_shared++) {
        struct test_budget heap = budget_open(plan, PLAN_COUNT, has_shared ? 1024 : 0);
        void *object = tau_budget_malloc(heap.budget, 24);
        while (tau_budget_malloc(heap.budget, 24) != NULL) {
        }
        while (tau_budget_malloc(heap.budget, 1) != NULL) {
        }
        while (tau_budget_malloc(heap.budget, 2 * UNIT - WORD) != NULL) {
        }
        size_t refused = tau_budget_statistics(heap.budget).shared.out_of_memory_count;
        EXPECT_EQUAL(refused, 3);
        EXPECT_EQUAL(test_port.out_of_memory_count, 3);
        void *sentinel = NULL;
        EXPECT_EQUAL(tau_budget_free(heap.budget, sentinel), TAU_OK);
        EXPECT(tau_budget_malloc(heap.budget, 24) == NULL);
        EXPECT_EQUAL(test_port.out_of_memory_bytes, 24);
        EXPECT(tau_budget_aligned_alloc(heap.budget, 64, 7) == NULL);
        EXPECT_EQUAL(test_port.out_of_memory_bytes, 7);
        EXPECT(tau_budget_realloc(heap.budget, object, 50) == NULL);
        EXPECT(tau_budget_malloc(heap.budget, SIZE_MAX) == NULL);
        EXPECT_EQUAL(test_port.out_of_memory_bytes, SIZE_MAX);
        EXPECT_EQUAL(test_port.out_of_memory_count, 7);
        EXPECT_EQUAL(tau_budget_statistics(heap.budget).shared.out_of_memory_count, 7);
        heap_remember(&heap.memory);
        EXPECT(tau_budget_malloc(heap.budget, 0) == NULL);
        EXPECT(tau_budget_realloc(heap.budget, NULL, 0) == NULL);
        EXPECT_UNCHANGED(&heap.memory);
        EXPECT_EQUAL(test_port.misuse_count, 0);
        budget_close(&heap);
    }
}

// No size, however large, is taken for a small one.
TEST_CASE(huge_requests_are_refused) {
    struct test_budget heap = budget_open(plan, PLAN_COUNT, SHARED_BYTES);
    void *object = tau_budget_malloc(heap.budget, 100);
    for (unsigned bits = 13; bits <= 64; bits++) {
        for (size_t more = 0; more < 130; more++) {
            size_t size = bits == 64 ? SIZE_MAX - more : ((size_t)1 << bits) + more;
            EXPECT(tau_budget_malloc(heap.budget, size) == NULL);
            EXPECT(tau_budget_realloc(heap.budget, object, size) == NULL);
            EXPECT(tau_budget_calloc(heap.budget, 1, size) == NULL);
        }
    }
    EXPECT_EQUAL(tau_budget_class_statistics(heap.budget, 1).used_count, 1);
    budget_close(&heap);
}

// ---- Misuse -----------------------------------------------------------------------------------

static void expect_misuse(struct test_budget *heap, void *pointer, enum tau_status reason) {
    unsigned traces = test_port.trace_count;
    heap_remember(&heap->memory);
    test_port.misuse_count = 0;
    EXPECT_EQUAL(tau_budget_usable_size(heap->budget, pointer), 0);
    EXPECT_EQUAL(tau_budget_free(heap->budget, pointer), reason);
    EXPECT(tau_budget_realloc(heap->budget, pointer, 1) == NULL);
    EXPECT(tau_budget_realloc(heap->budget, pointer, 1000) == NULL);
    EXPECT(tau_budget_realloc(heap->budget, pointer, 0) == NULL);
    EXPECT_EQUAL(test_port.misuse_count, 4);
    EXPECT_EQUAL(test_port.misuse_reason, reason);
    EXPECT(test_port.misuse_pointer == pointer);
    EXPECT_EQUAL(test_port.trace_count, traces);
    EXPECT_UNCHANGED(&heap->memory);
}

TEST_CASE(misuse_of_buckets_is_reported) {
    struct test_budget heap = budget_open(plan, PLAN_COUNT, SHARED_BYTES);
    unsigned char *used = tau_budget_malloc(heap.budget, 100);
    unsigned char *freed = tau_budget_malloc(heap.budget, 100);
    unsigned char *shared = tau_budget_malloc(heap.budget, 500);
    EXPECT_EQUAL(tau_budget_free(heap.budget, freed), TAU_OK);
    EXPECT_EQUAL(tau_budget_free(heap.budget, shared), TAU_OK);
    if (TAU_CHECK_LEVEL >= 1) {
        expect_misuse(&heap, freed, TAU_DOUBLE_FREE);
        expect_misuse(&heap, shared, TAU_DOUBLE_FREE);
        expect_misuse(&heap, freed + rounded(100), TAU_FOREIGN_POINTER);  // never handed out
        expect_misuse(&heap, heap.memory.memory, TAU_FOREIGN_POINTER);
        expect_misuse(&heap, heap.memory.memory + heap.memory.size_bytes, TAU_FOREIGN_POINTER);
        for (size_t by = 1; by < rounded(100); by++) {
            enum tau_status reason = by % UNIT ? TAU_MISALIGNED_POINTER : TAU_FOREIGN_POINTER;
            expect_misuse(&heap, used + by, reason);
            expect_misuse(&heap, freed + by, reason);
        }
    }
    EXPECT_EQUAL(tau_budget_free(heap.budget, used), TAU_OK);
    budget_close(&heap);
}

// Whatever the buckets hold, free takes only the addresses of used buckets.
TEST_CASE(every_address_that_is_not_a_used_bucket_is_reported) {
    for (unsigned round = 0; TAU_CHECK_LEVEL >= 1 && round < 50; round++) {
        struct test_budget heap = budget_open(plan, PLAN_COUNT, SHARED_BYTES);
        unsigned char *used[20] = {NULL};
        for (unsigned call = 0; call < 60; call++) {
            unsigned char **object = &used[test_random_below(COUNT_OF(used))];
            size_t class = test_random_below(PLAN_COUNT);
            EXPECT_EQUAL(tau_budget_free(heap.budget, *object), TAU_OK);
            *object = tau_budget_malloc(heap.budget, plan[class].size_bytes);
        }
        for (size_t at = 0; at < heap.memory.size_bytes; at++) {
            unsigned char *pointer = heap.memory.memory + at;
            bool is_used = false;
            for (size_t i = 0; i < COUNT_OF(used); i++) {
                is_used = is_used || used[i] == pointer;
            }
            if (is_bucket(&heap, pointer)) {
                *pointer = (unsigned char)test_random();
                if (!is_used) {
                    EXPECT(tau_budget_free(heap.budget, pointer) != TAU_OK);
                }
            }
        }
        for (size_t i = 0; i < COUNT_OF(used); i++) {
            EXPECT_EQUAL(tau_budget_free(heap.budget, used[i]), TAU_OK);
        }
        heap_close(&heap.memory);
    }
}

// Without a shared region every pointer outside is foreign.
TEST_CASE(misuse_without_a_shared_region_is_reported) {
    struct test_budget heap = budget_open(plan, PLAN_COUNT, 0);
    EXPECT(tau_budget_shared(heap.budget) == NULL);
    void *used = tau_budget_malloc(heap.budget, 24);
    if (TAU_CHECK_LEVEL >= 1) {
        expect_misuse(&heap, &heap, TAU_FOREIGN_POINTER);
        expect_misuse(&heap, heap.memory.memory, TAU_FOREIGN_POINTER);
        expect_misuse(&heap, heap.memory.memory + heap.memory.size_bytes, TAU_FOREIGN_POINTER);
    }
    EXPECT_EQUAL(tau_budget_free(heap.budget, used), TAU_OK);
    budget_close(&heap);
}

// Whoever writes on after free does not send the next objects elsewhere.
TEST_CASE(an_overwritten_free_bucket_is_not_obeyed) {
    static const int fills[] = {0x00, 0x01, 0x41, 0x55, 0x7f, 0x80, 0xaa, 0xff};
    for (size_t f = 0; TAU_CHECK_LEVEL >= 1 && f < COUNT_OF(fills); f++) {
        for (size_t bytes = 1; bytes <= 2 * WORD; bytes++) {
            struct test_budget heap = budget_open(plan, PLAN_COUNT, SHARED_BYTES);
            void *buckets[3];
            for (size_t i = 0; i < 3; i++) {
                buckets[i] = tau_budget_malloc(heap.budget, 100);
            }
            EXPECT_EQUAL(tau_budget_free(heap.budget, buckets[1]), TAU_OK);
            EXPECT_EQUAL(tau_budget_free(heap.budget, buckets[2]), TAU_OK);
            heap_remember(&heap.memory);
            memset(buckets[2], fills[f], bytes);
            bool is_changed =
                memcmp(heap.memory.memory, heap.memory.copy, heap.memory.size_bytes) != 0;
            for (size_t i = 0; i < 4; i++) {
                void *object = tau_budget_malloc(heap.budget, 100);
                EXPECT(object != NULL);
                EXPECT(!is_changed || !is_bucket(&heap, object));
            }
            EXPECT_EQUAL(test_port.misuse_count > 0, is_changed);
            EXPECT(!is_changed || test_port.misuse_reason == TAU_OVERWRITTEN);
            heap_close(&heap.memory);
        }
    }
}

// Regression: in a region of many buckets a changed low byte of a link is a likely index.
TEST_CASE(one_overwritten_byte_of_many_buckets_is_not_obeyed) {
    static const struct tau_budget_class many[] = {{100, 300}};
    for (unsigned round = 0; TAU_CHECK_LEVEL >= 1 && round < 500; round++) {
        struct test_budget heap = budget_open(many, 1, SHARED_BYTES);
        unsigned char *buckets[10];
        for (size_t i = 0; i < 10; i++) {
            buckets[i] = tau_budget_malloc(heap.budget, 100);
        }
        for (size_t i = 0; i < 10; i++) {
            EXPECT_EQUAL(tau_budget_free(heap.budget, buckets[i]), TAU_OK);
        }
        buckets[9][test_random_below(2 * WORD)] ^= (unsigned char)(1 + test_random_below(255));
        EXPECT(tau_budget_malloc(heap.budget, 100) != buckets[9]);
        EXPECT(test_port.misuse_count > 0);
        heap_close(&heap.memory);
    }
}

// ---- Hooks ------------------------------------------------------------------------------------

TEST_CASE(buckets_are_traced_and_filled) {
    struct test_budget heap = budget_open(plan, PLAN_COUNT, SHARED_BYTES);
    unsigned char *object = tau_budget_malloc(heap.budget, 97);
    EXPECT(test_port.trace_old == NULL && test_port.trace_pointer == object);
    EXPECT_EQUAL(test_port.trace_size_bytes, 97);
    EXPECT_EQUAL(test_port.trace_alignment, UNIT);
    EXPECT(!TAU_JUNK_FILL || all_bytes_are(object, 97, 0xaa));
    EXPECT_EQUAL(tau_budget_free(heap.budget, object), TAU_OK);
    EXPECT(test_port.trace_old == object && test_port.trace_pointer == NULL);
    EXPECT_EQUAL(test_port.trace_count, 2);
    EXPECT(!TAU_JUNK_FILL || all_bytes_are(object + 2 * WORD, rounded(100) - 2 * WORD, 0x55));
    budget_close(&heap);
}
