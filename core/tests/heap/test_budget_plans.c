// Goal: any valid plan is laid out so that every bucket is found, any other is refused, and nothing
// outside the memory is used. Method: plans at each limit and random ones, a full walk after init
// and after every bucket was taken and given back.
#include <sys/mman.h>

#include "core/tests/heap/budget_heap.h"

enum {
    UNIT = TAU_ALIGNMENT,
    KEY_MIN = 2 * sizeof(tau_word) / UNIT,  // the smallest bucket has two words
    CLASSES_MAX = TAU_BUDGET_CLASSES_MAX
};

// init of CLASSES in 64 KiB, in memory that must stay as it is.
static void expect_refused(const struct tau_budget_class *classes, size_t count,
                           enum tau_status reason) {
    struct test_heap memory = heap_memory(65536, 0);
    struct tau_budget *budget = NULL;
    EXPECT_EQUAL(tau_budget_init(&budget, memory.memory, 65536, classes, count), reason);
    EXPECT(budget == NULL);
    EXPECT(all_bytes_are(memory.memory, 65536, 0xc3));
    memset(&test_port, 0, sizeof test_port);
    heap_close(&memory);
}

TEST_CASE(invalid_plans_are_refused) {
    static const struct tau_budget_class zero_size[] = {{8, 1}, {0, 1}};
    static const struct tau_budget_class zero_count[] = {{8, 1}, {64, 0}};
    static const struct tau_budget_class twice[] = {{UNIT, 1}, {64, 1}, {UNIT - 1, 1}};
    static const struct tau_budget_class large[] = {{(1u << 30) + 1, 1}};
    struct tau_budget_class many[CLASSES_MAX + 1];
    for (uint32_t i = 0; i <= CLASSES_MAX; i++) {
        many[i] = (struct tau_budget_class){(i + KEY_MIN) * UNIT, 1};
    }
    expect_refused(zero_size, 2, TAU_PLAN_INVALID);
    expect_refused(zero_count, 2, TAU_PLAN_INVALID);
    expect_refused(twice, 3, TAU_PLAN_INVALID);
    expect_refused(large, 1, TAU_PLAN_INVALID);
    expect_refused(many, CLASSES_MAX + 1, TAU_PLAN_INVALID);
    expect_refused(many, SIZE_MAX, TAU_PLAN_INVALID);
    expect_refused(NULL, 1, TAU_PLAN_INVALID);
    EXPECT_EQUAL(tau_budget_size(zero_size, 2, 1024), 0);
    EXPECT_EQUAL(tau_budget_size(zero_count, 2, 1024), 0);
    EXPECT_EQUAL(tau_budget_size(twice, 3, 1024), 0);
    EXPECT_EQUAL(tau_budget_size(many, CLASSES_MAX + 1, 1024), 0);
    EXPECT(tau_budget_size(many, CLASSES_MAX, 1024) > 0);
}

TEST_CASE(bad_arguments_are_refused) {
    static const struct tau_budget_class one[] = {{64, 4}};
    struct test_heap memory = heap_memory(4096, 0);
    struct tau_budget *budget = NULL;
    EXPECT_EQUAL(tau_budget_init(NULL, memory.memory, 4096, one, 1), TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(tau_budget_init(&budget, NULL, 4096, one, 1), TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(tau_budget_init(&budget, memory.memory, SIZE_MAX, one, 1), TAU_BAD_ARGUMENT);
    EXPECT(budget == NULL);
    EXPECT(all_bytes_are(memory.memory, 4096, 0xc3));
    memset(&test_port, 0, sizeof test_port);
    heap_close(&memory);
}

// Every byte size around what the plan needs: too large, then without a shared region, then with.
TEST_CASE(plans_fit_to_the_byte) {
    static const struct tau_budget_class plan[] = {{24, 5}, {200, 3}};
    size_t needed = tau_budget_size(plan, 2, 0);
    EXPECT_EQUAL(tau_budget_size(plan, 2, 1000), needed + 1000);
    for (size_t size = needed - 40; size < needed + 700; size++) {
        struct test_heap memory = heap_memory(size, 0);
        struct tau_budget *budget = NULL;
        enum tau_status status = tau_budget_init(&budget, memory.memory, size, plan, 2);
        EXPECT_EQUAL(status, size < needed ? TAU_PLAN_TOO_LARGE : TAU_OK);
        EXPECT_EQUAL(budget != NULL, size >= needed);
        if (budget != NULL) {
            EXPECT_EQUAL(check_budget(budget), 0);
            bool has_room = size - needed >= TAU_TLSF_POOL_MIN_BYTES;
            EXPECT(has_room || tau_budget_shared(budget) == NULL);
            EXPECT(!has_room || size < needed + 600 || tau_budget_shared(budget) != NULL);
            void *last = tau_budget_malloc(budget, 200);
            memset(last, 0xff, 200);
            EXPECT_EQUAL(check_budget(budget), 0);
        } else {
            EXPECT(all_bytes_are(memory.memory, size, 0xc3));
        }
        memset(&test_port, 0, sizeof test_port);
        heap_close(&memory);
    }
}

TEST_CASE(memory_need_not_be_aligned) {
    static const struct tau_budget_class plan[] = {{24, 5}, {200, 3}};
    for (size_t skew = 0; skew < 64; skew++) {
        size_t size = tau_budget_size(plan, 2, 2048) + UNIT;
        struct test_heap memory = heap_memory(size, skew);
        struct tau_budget *budget = NULL;
        memset(&test_port, 0, sizeof test_port);
        EXPECT_EQUAL(tau_budget_init(&budget, memory.memory, size, plan, 2), TAU_OK);
        REQUIRE(budget != NULL);
        for (size_t i = 0; i < 12; i++) {
            unsigned char *object = tau_budget_malloc(budget, i % 2 ? 24 : 200);
            EXPECT(object != NULL && (uintptr_t)object % UNIT == 0);
            memset(object, 0xff, i % 2 ? 24 : 200);
        }
        EXPECT_EQUAL(check_budget(budget), 0);
        heap_close(&memory);
    }
}

TEST_CASE(no_classes_is_a_plain_heap) {
    struct test_budget heap = budget_open(NULL, 0, 4096);
    EXPECT_EQUAL(tau_budget_statistics(heap.budget).classes_count, 0);
    EXPECT_EQUAL(tau_budget_statistics(heap.budget).dedicated_bytes, 0);
    EXPECT_EQUAL(tau_budget_class_statistics(heap.budget, 0).count, 0);
    for (size_t size = 1; size < 300; size++) {
        void *object = tau_budget_malloc(heap.budget, size);
        EXPECT(object != NULL);
        EXPECT_EQUAL(tau_budget_free(heap.budget, object), TAU_OK);
    }
    EXPECT(tau_budget_malloc(heap.budget, 0) == NULL);
    EXPECT_EQUAL(test_port.misuse_count, 0);
    budget_close(&heap);
}

// Sizes that add up to a little more than 2^64 bytes, or 2^64 units, must not come out small.
TEST_CASE(totals_that_wrap_are_refused) {
    for (unsigned in_units = 0; in_units < 2; in_units++) {
        struct tau_budget_class plan[CLASSES_MAX];
        uint64_t left = in_units ? UINT64_MAX : UINT64_MAX >> TAU_ALIGNMENT_LOG2;
        uint32_t key = (1u << 30) / UNIT;
        size_t count = 0;
        while (count < CLASSES_MAX - 1 && left / key > 0) {
            uint32_t buckets = left / key > UINT32_MAX ? UINT32_MAX : (uint32_t)(left / key);
            plan[count++] = (struct tau_budget_class){key * UNIT, buckets};
            left -= (uint64_t)key * buckets;
            key--;
        }
        uint32_t rest = left < UINT32_MAX - 9 ? (uint32_t)left + 9 : UINT32_MAX;
        plan[count++] = (struct tau_budget_class){1, rest};
        expect_refused(plan, count, TAU_PLAN_TOO_LARGE);
        EXPECT_EQUAL(tau_budget_size(plan, count, 0), 0);
    }
}

// On a 64-bit machine a target's words cannot reach all of a large mapping.
TEST_CASE(regions_beyond_a_word_are_refused) {
    static const struct tau_budget_class plan[] = {{1u << 30, 5}};
    size_t size = (size_t)6 << 30;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        printf("no address space for %zu bytes: not tried\n", size);
        return;
    }
    struct tau_budget *budget = NULL;
    enum tau_status status = tau_budget_init(&budget, memory, size, plan, 1);
    EXPECT(status == TAU_PLAN_TOO_LARGE || (status == TAU_OK && TAU_WORD_BITS == 64));
    if (status == TAU_OK) {
        EXPECT_EQUAL(check_budget(budget), 0);
    }
    EXPECT_EQUAL(munmap(memory, size), 0);
}

// Takes every bucket, writes all of it, gives all back in random order; returns how many there
// were.
static size_t use_wholly(struct test_budget *heap, const struct tau_budget_class *classes,
                         size_t count) {
    static void *buckets[20000];
    size_t taken = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < classes[i].count && taken < COUNT_OF(buckets); k++) {
            void *object = tau_budget_malloc(heap->budget, classes[i].size_bytes);
            EXPECT(object != NULL && is_bucket(heap, object));
            memset(object, 0xff, classes[i].size_bytes);
            buckets[taken++] = object;
        }
    }
    EXPECT_BUDGET_SOUND(heap);
    for (size_t left = taken; left > 0; left--) {
        size_t chosen = test_random_below(left);
        EXPECT_EQUAL(tau_budget_free(heap->budget, buckets[chosen]), TAU_OK);
        buckets[chosen] = buckets[left - 1];
    }
    EXPECT_BUDGET_SOUND(heap);
    return taken;
}

// Plans of random shape: equal regions, one giant among dwarfs, falling by powers of two.
TEST_CASE(every_bucket_of_random_plans_is_found) {
    for (unsigned round = 0; round < 300; round++) {
        struct tau_budget_class plan[CLASSES_MAX];
        size_t count = 1 + test_random_below(CLASSES_MAX);
        uint32_t key = KEY_MIN;
        for (size_t i = 0; i < count; i++) {
            uint32_t buckets = 1 + (uint32_t)test_random_below((size_t)1 << test_random_below(8));
            plan[i] = (struct tau_budget_class){key * UNIT - (uint32_t)test_random_below(UNIT),
                                                round % 3 == 0 ? 3 : buckets};
            key += 1 + (uint32_t)test_random_below((size_t)1 << test_random_below(6));
        }
        for (size_t i = count; i > 1; i--) {
            size_t other = test_random_below(i);
            struct tau_budget_class swap = plan[i - 1];
            plan[i - 1] = plan[other];
            plan[other] = swap;
        }
        struct test_budget heap = budget_open(plan, count, round % 2 ? 0 : 2048);
        size_t total = 0;
        for (size_t i = 0; i < count; i++) {
            total += plan[i].count;
            struct tau_budget_class_statistics class = tau_budget_class_statistics(heap.budget, i);
            EXPECT_EQUAL(class.count, plan[i].count);
            EXPECT_EQUAL(class.size_bytes, (plan[i].size_bytes + UNIT - 1) / UNIT * UNIT);
        }
        EXPECT_EQUAL(use_wholly(&heap, plan, count), total);
        EXPECT(tau_budget_statistics(heap.budget).control_bytes <= 8192 + total / 8 + 4 * count);
        budget_close(&heap);
    }
}
