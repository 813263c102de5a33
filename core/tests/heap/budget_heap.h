// A budgeted heap of the tests: memory of its own, and a copy of its bytes to compare with.
#ifndef TAU_BUDGET_HEAP_H
#define TAU_BUDGET_HEAP_H

#include "core/budget.h"
#include "core/tests/checks/check_budget.h"
#include "core/tests/heap/tlsf_heap.h"

struct test_budget {
    struct test_heap memory;
    struct tau_budget *budget;
};

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

// A heap for CLASSES with a shared region of SHARED_BYTES.
static inline struct test_budget budget_open(const struct tau_budget_class *classes, size_t count,
                                             size_t shared_bytes) {
    struct test_budget heap = {.budget = NULL};
    size_t size_bytes = tau_budget_size(classes, count, shared_bytes);
    REQUIRE(size_bytes != 0);
    heap.memory = heap_memory(size_bytes, 0);
    memset(&test_port, 0, sizeof test_port);
    enum tau_status status =
        tau_budget_init(&heap.budget, heap.memory.memory, size_bytes, classes, count);
    EXPECT_EQUAL(status, TAU_OK);
    REQUIRE(heap.budget != NULL);
    EXPECT_EQUAL(check_budget(heap.budget), 0);
    return heap;
}

#define EXPECT_BUDGET_SOUND(heap) EXPECT_EQUAL(check_budget((heap)->budget), 0)

static inline void budget_close(struct test_budget *heap) {
    EXPECT(tau_budget_invariants_hold(heap->budget));
    EXPECT_BUDGET_SOUND(heap);
    heap_close(&heap->memory);
}

// Whether POINTER lies before the shared region.
static inline bool is_bucket(const struct test_budget *heap, const void *pointer) {
    size_t dedicated = tau_budget_statistics(heap->budget).dedicated_bytes;
    size_t control = tau_budget_statistics(heap->budget).control_bytes;
    size_t offset = (size_t)((const unsigned char *)pointer - heap->memory.memory);
    return offset >= control && offset < control + dedicated;
}

#endif
