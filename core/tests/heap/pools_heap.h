// Pools of the tests: memory of their own.
#ifndef TAU_POOLS_HEAP_H
#define TAU_POOLS_HEAP_H

#include "core/private/heap/pools_table.h"
#include "core/tests/kit/port_test.h"
#include "core/tests/kit/test.h"

enum { UNIT = TAU_ALIGNMENT, ARENA_BYTES = 1 << 20 };

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static _Alignas(4096) unsigned char arena[ARENA_BYTES];

// A block's size, which has room for two words.
static inline size_t rounded(size_t size) {
    const size_t whole = (size + UNIT - 1) / UNIT * UNIT;
    return whole == sizeof(tau_word) ? 2 * sizeof(tau_word) : whole;
}

// A heap in the first bytes of the arena, with an overflow heap of so many bytes behind its pools.
static inline struct tau_pools *opened(const struct tau_budget_class *bands, size_t count,
                                       size_t alignment, size_t overflow_bytes) {
    struct tau_pools *heap = NULL;
    const size_t size_bytes = tau_pools_size(bands, count, alignment, overflow_bytes);
    REQUIRE(size_bytes != 0 && size_bytes <= ARENA_BYTES);
    memset(&test_port, 0, sizeof test_port);
    memset(arena, 0xa5, sizeof arena);
    REQUIRE(tau_pools_init(&heap, arena, size_bytes, bands, count, alignment) == TAU_OK);
    EXPECT(tau_pools_invariants_hold(heap));
    for (size_t i = size_bytes; i < size_bytes + 64 && i < ARENA_BYTES; i++) {
        EXPECT_EQUAL(arena[i], 0xa5);
    }
    return heap;
}

#endif
