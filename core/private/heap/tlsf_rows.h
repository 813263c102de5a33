// The rows of blocks, one per pool: where each starts and ends. Only core/tlsf.c includes this.
#ifndef TAU_TLSF_ROWS_H
#define TAU_TLSF_ROWS_H

#include "core/private/heap/tlsf_block.h"

// The first payload of a row whose first header lies at or after ADDRESS.
static tau_word *first_payload(uintptr_t address) {
    return (tau_word *)tau_bits_round_up(address + WORD_BYTES, TAU_ALIGNMENT);
}

// The sentinel's payload at or before ADDRESS.
static tau_word *last_payload(uintptr_t address) {
    return (tau_word *)(address & ~(uintptr_t)(TAU_ALIGNMENT - 1));
}

static tau_word capacity_bytes(const struct tau_tlsf *heap) {
    const struct fields *const fields = fields_of(heap);
    if (fields->pools == 0) {
        return fields->span_bytes;
    }
    const struct pool *const newest = pool_at(heap, fields->pools);
    TAU_ASSERT(newest->row_bytes >= BLOCK_MIN_BYTES);
    TAU_ASSERT(newest->capacity_before_bytes >= BLOCK_MIN_BYTES);
    return newest->capacity_before_bytes + newest->row_bytes;
}

// The row of the pool whose descriptor is POOL, or of the first pool if POOL is NULL.
struct row {
    uintptr_t memory;  // where its control block or descriptor starts
    tau_word *first;
    tau_word *last;  // the sentinel's payload
};

static struct row row_of(const struct tau_tlsf *heap, const struct pool *pool,
                         tau_word first_row_bytes) {
    struct row row;
    if (pool == NULL) {
        row.memory = (uintptr_t)head_of(heap, fields_of(heap)->classes - 1u);
        row.first = first_payload((uintptr_t)heap + fields_of(heap)->words * sizeof(uint32_t));
        row.last = after(row.first, first_row_bytes);
    } else {
        row.memory = (uintptr_t)pool;
        row.first = first_payload((uintptr_t)(pool + 1));
        row.last = after(row.first, pool->row_bytes);
    }
    TAU_ASSERT(row.memory < (uintptr_t)row.first);
    TAU_ASSERT(row.first < row.last);
    return row;
}

// Visits every row: the newest pool first, the first pool last. Stops and returns false when VISIT
// returns false. bound: the number of pools
static bool each_row(const struct tau_tlsf *heap, bool (*visit)(void *context, struct row row),
                     void *context) {
    tau_word first_row_bytes = fields_of(heap)->span_bytes;
    TAU_ASSERT(visit != NULL);
    for (tau_word link = fields_of(heap)->pools; link != 0; link = pool_at(heap, link)->older) {
        const struct pool *const pool = pool_at(heap, link);
        TAU_ASSERT(pool->row_bytes >= BLOCK_MIN_BYTES);
        first_row_bytes = pool->capacity_before_bytes;
        if (!visit(context, row_of(heap, pool, 0))) {
            return false;
        }
    }
    return visit(context, row_of(heap, NULL, first_row_bytes));
}

#endif
