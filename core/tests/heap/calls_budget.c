// Goal: no legal calls break a budgeted heap.
// Method: random plans and random programs, most of whose sizes have a class; after each call a
// full walk, the contents of every object touched, and where it lies.
#include "core/tests/heap/budget_heap.h"
#include "core/tests/kit/mechanism.h"
#include "core/tests/kit/objects.h"

enum { ARENA_BYTES = 1 << 18, CLASSES_MAX = 12, UNIT = TAU_ALIGNMENT };

static _Alignas(4096) unsigned char arena[ARENA_BYTES];
static struct fuzz_object objects[FUZZ_OBJECTS];
static struct tau_budget *heap;
static struct tau_budget_class plan[CLASSES_MAX];
static size_t classes_count;
static size_t shared_bytes;
static bool had_bucket;  // a bucket of the requested size was free

// A bucket's size, which has room for two words.
static size_t bucket_of(size_t size) {
    const size_t rounded = (size + UNIT - 1u) / UNIT * UNIT;
    return rounded == sizeof(tau_word) ? 2 * sizeof(tau_word) : rounded;
}

// The place of SIZE in the plan; CLASSES_MAX: it has none.
static size_t class_of(size_t size) {
    for (size_t i = 0; i < classes_count; i++) {
        if (bucket_of(size) == bucket_of(plan[i].size_bytes)) {
            return i;
        }
    }
    return CLASSES_MAX;
}

static size_t used_of(size_t index) {
    return tau_budget_class_statistics(heap, index).used_count;
}

// Mostly a size of the plan, or one next to it.
static size_t choose_size(void) {
    size_t size = 0;
    if (classes_count == 0 || fuzz_choose(4) == 0) {
        size = fuzz_size(shared_bytes + 1);
    } else {
        size = plan[fuzz_choose(classes_count)].size_bytes + fuzz_choose(3) - 1;
    }
    const size_t index = class_of(size);
    had_bucket = size > 0 && index < CLASSES_MAX && used_of(index) < plan[index].count;
    return size;
}

static size_t choose_alignment(void) {
    const size_t alignment = (size_t)1 << fuzz_choose(9);
    had_bucket = had_bucket && alignment <= UNIT;
    return alignment;
}

static void *call_malloc(size_t size) {
    return tau_budget_malloc(heap, size);
}

static void *call_calloc(size_t count, size_t size) {
    return tau_budget_calloc(heap, count, size);
}

static void *call_aligned_alloc(size_t alignment, size_t size) {
    return tau_budget_aligned_alloc(heap, alignment, size);
}

static void *call_realloc(void *pointer, size_t size) {
    had_bucket = had_bucket && pointer == NULL;
    return tau_budget_realloc(heap, pointer, size);
}

static enum tau_status call_free(void *pointer) {
    return tau_budget_free(heap, pointer);
}

static size_t call_usable_size(void *pointer) {
    return tau_budget_usable_size(heap, pointer);
}

static void given(const struct fuzz_object *object, size_t usable) {
    EXPECT(!had_bucket || usable == bucket_of(object->size));
}

static void refused(size_t size, size_t alignment) {
    (void)size;
    (void)alignment;
    EXPECT(!had_bucket);
}

static void expect_double_free(void *pointer) {
    if (TAU_CHECK_LEVEL >= 1) {
        EXPECT_EQUAL(tau_budget_free(heap, pointer), TAU_DOUBLE_FREE);
        test_port.misuse_count = 0;
    }
}

static const struct heap_calls calls = {
    .malloc = call_malloc,
    .calloc = call_calloc,
    .aligned_alloc = call_aligned_alloc,
    .realloc = call_realloc,
    .free = call_free,
    .usable_size = call_usable_size,
    .choose_size = choose_size,
    .choose_alignment = choose_alignment,
    .given = given,
    .refused = refused,
    .expect_double_free = expect_double_free,
};

static enum tau_status use_object(void) {
    objects_call(&calls, objects, FUZZ_OBJECTS);
    return TAU_OK;
}

static void open_heap(void) {
    uint32_t key = 0;
    classes_count = fuzz_choose(CLASSES_MAX + 1);
    for (size_t i = 0; i < classes_count; i++) {
        key += 1 + choose(9);
        key += key * UNIT < 2 * sizeof(tau_word);  // 1 and 2 units make the same bucket
        plan[i].size_bytes = key * UNIT - choose(key == 2 ? 2 * sizeof(tau_word) : UNIT);
        plan[i].count = 1 + choose(10);
    }
    shared_bytes = fuzz_choose(4) == 0 ? fuzz_choose(300) : 1024 + fuzz_choose(8192);
    memset(objects, 0, sizeof objects);
    memset(&test_port, 0, sizeof test_port);
    const size_t needed = tau_budget_size(plan, classes_count, shared_bytes);
    REQUIRE(needed != 0 && needed <= ARENA_BYTES);
    REQUIRE(tau_budget_init(&heap, arena, needed, plan, classes_count) == TAU_OK);
    objects_base = arena;
    const struct tau_budget_statistics now = tau_budget_statistics(heap);
    LOG("I %zu %zu %zu %d %d %d %zu", needed, now.control_bytes, now.shared.control_bytes,
        TAU_WORD_BITS, UNIT, TAU_CHECK_LEVEL, (size_t)arena);
    for (size_t i = 0; i < classes_count; i++) {
        LOG(" %u %u", plan[i].size_bytes, plan[i].count);
    }
    LOG("\n");
}

static void log_state(void) {
    const struct tau_budget_statistics now = tau_budget_statistics(heap);
    LOG("s %zu %zu %zu %zu %zu %zu", now.dedicated_bytes, now.shared.capacity_bytes,
        now.shared.used_bytes, now.shared.peak_used_bytes, now.shared.largest_free_bytes,
        (size_t)now.shared.out_of_memory_count);
    for (size_t i = 0; i < now.classes_count; i++) {
        const struct tau_budget_class_statistics class = tau_budget_class_statistics(heap, i);
        LOG(" %zu %zu %zu %zu", (size_t) class.size_bytes, (size_t) class.count,
            (size_t) class.used_count, (size_t) class.peak_used_count);
    }
    LOG("\n");
}

static void check(void) {
    if (mechanism_log != NULL) {
        log_state();
    }
    EXPECT_EQUAL(check_budget(heap), 0);
    EXPECT(tau_budget_invariants_hold(heap));
    EXPECT_EQUAL(test_port.lock_depth + test_port.nested_count + test_port.inside_count, 0);
    EXPECT_EQUAL(test_port.outside_count + test_port.misuse_count, 0);
}

static void close_heap(void) {
    if (test_failures_count > 0) {
        return;
    }
    objects_give_all_back(&calls, objects, FUZZ_OBJECTS);
    check();
    for (size_t i = 0; i < classes_count; i++) {
        EXPECT_EQUAL(used_of(i), 0);
    }
    EXPECT_EQUAL(tau_budget_statistics(heap).shared.used_bytes, 0);
}

static const struct operation operations[] = {{1, use_object}, {0, NULL}};

static struct mechanism calls_of_budget = {
    .name = "budget",
    .operations = operations,
    .calls_max = 2000,
    .check_every = 1,
    .open = open_heap,
    .check = check,
    .close = close_heap,
};

MECHANISM(calls_of_budget)
