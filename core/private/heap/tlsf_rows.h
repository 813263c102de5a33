// The control block of a heap whose largest pool is known: its classes and its bytes. The rows of
// blocks, one per pool: where each starts and ends. Only core/tlsf.c includes this.
#ifndef TAU_TLSF_ROWS_H
#define TAU_TLSF_ROWS_H

#include "core/private/heap/tlsf_block.h"
#include "core/private/heap/tlsf_check.h"
#include "core/private/heap/tlsf_list.h"

static unsigned tlsf_second_level_bits_for(tau_word pool_max_bytes) {
    const tau_word kib = (tau_word)1 << 10;
    return pool_max_bytes < 32 * kib     ? 2
           : pool_max_bytes < 512 * kib  ? 3
           : pool_max_bytes < 4096 * kib ? 4
                                         : 5;
}

static unsigned tlsf_classes_for(tau_word pool_max_bytes) {
    const unsigned level = tlsf_second_level_bits_for(pool_max_bytes);
    const tau_word key = tlsf_key_of(pool_max_bytes);
    const unsigned shift = tau_bits_log2(key >> level);
    const unsigned classes = (shift << level) + (unsigned)(key >> shift) + 1;
    TAU_ASSERT(classes > 1);
    TAU_ASSERT(TAU_BITS_SCAN || key >> level <= TAU_BITS_LOG2_MAX);
    return classes;
}

// Bytes from the first list head to the first payload.
static size_t tlsf_control_bytes_for(unsigned classes) {
    const unsigned words = classes / 32 + 1;
    TAU_ASSERT(classes > 1);
    TAU_ASSERT(words <= TLSF_WORDS_MAX);
    return tau_bits_round_up((classes - 1) * TLSF_WORD_BYTES + sizeof(struct tlsf_fields) +
                                 words * sizeof(uint32_t) + TLSF_WORD_BYTES,
                             TAU_ALIGNMENT);
}

// The first payload of a row whose first header lies at or after ADDRESS.
static tau_word *tlsf_first_payload(uintptr_t address) {
    return (tau_word *)tau_bits_round_up(address + TLSF_WORD_BYTES, TAU_ALIGNMENT);
}

// The sentinel's payload at or before ADDRESS.
static tau_word *tlsf_last_payload(uintptr_t address) {
    return (tau_word *)(address & ~(uintptr_t)(TAU_ALIGNMENT - 1));
}

static tau_word tlsf_row_bytes_of(const struct tlsf_pool *pool) {
    TAU_ASSERT(pool != NULL);
    return pool->row_bytes - TLSF_NO_BLOCK;
}

static tau_word tlsf_capacity_bytes(const struct tau_tlsf *heap) {
    const struct tlsf_fields *const fields = tlsf_fields_of(heap);
    if (fields->pools == 0) {
        return fields->span_bytes + fields->wilderness_bytes;
    }
    const struct tlsf_pool *const newest = tlsf_pool_at(heap, fields->pools);
    TAU_ASSERT(tlsf_row_bytes_of(newest) >= TLSF_BLOCK_MIN_BYTES);
    TAU_ASSERT(newest->capacity_before_bytes >= TLSF_BLOCK_MIN_BYTES);
    return newest->capacity_before_bytes + tlsf_row_bytes_of(newest);
}

// The row of the pool whose descriptor is POOL, or of the first pool if POOL is NULL.
struct tlsf_row {
    uintptr_t memory;  // where its control block or descriptor starts
    tau_word *first;
    tau_word *last;  // the sentinel's payload
};

static struct tlsf_row tlsf_row_of(const struct tau_tlsf *heap, const struct tlsf_pool *pool,
                                   tau_word first_row_bytes) {
    struct tlsf_row row;
    if (pool == NULL) {
        row.memory = (uintptr_t)tlsf_head_of(heap, tlsf_fields_of(heap)->classes - 1u);
        row.first =
            tlsf_first_payload((uintptr_t)heap + tlsf_words_of(heap) * sizeof(uint32_t));
        row.last = tlsf_after(row.first, first_row_bytes);
    } else {
        row.memory = (uintptr_t)pool;
        row.first = tlsf_first_payload((uintptr_t)(pool + 1));
        row.last = tlsf_after(row.first, tlsf_row_bytes_of(pool));
    }
    TAU_ASSERT(row.memory < (uintptr_t)row.first);
    TAU_ASSERT(row.first < row.last);
    return row;
}

// Whether POOL, a link's target, lies where a descriptor can, and its row makes the capacity of all
// pools up to it CAPACITY and ends in the span. An object that was merged beyond its pool may have
// been written over it.
static bool tlsf_is_descriptor(const struct tau_tlsf *heap, const struct tlsf_pool *pool,
                               tau_word capacity) {
    const tau_word *const first = (const tau_word *)(const void *)(pool + 1) + 1;
    const tau_word span = tlsf_fields_of(heap)->span_bytes;
    TAU_ASSERT(span >= TLSF_BLOCK_MIN_BYTES);
    if (!tlsf_are_places(heap, first, first)) {
        return false;
    }
    const tau_word row_bytes = tlsf_row_bytes_of(pool);
    const uintptr_t offset =
        (uintptr_t)first - (uintptr_t)tlsf_at(heap, tlsf_fields_of(heap)->lowest);
    TAU_ASSERT(offset < span);
    return (row_bytes & ~TLSF_SIZE_MASK) == 0 && row_bytes >= TLSF_BLOCK_MIN_BYTES &&
           row_bytes <= span - offset && row_bytes < capacity &&
           pool->capacity_before_bytes == capacity - row_bytes;
}

// Visits every row: the newest pool first, the first pool last. Stops and returns false when VISIT
// returns false, or at a descriptor that was overwritten: the older pools are unknown then. bound:
// the number of pools, as the capacity falls with each
static bool tlsf_each_row(const struct tau_tlsf *heap,
                          bool (*visit)(void *context, struct tlsf_row row), void *context) {
    tau_word capacity = tlsf_capacity_bytes(heap);
    TAU_ASSERT(visit != NULL);
    for (tau_word link = tlsf_fields_of(heap)->pools; link != 0;
         link = tlsf_pool_at(heap, link)->older) {
        const struct tlsf_pool *const pool = tlsf_pool_at(heap, link);
        if (!tlsf_is_descriptor(heap, pool, capacity) ||
            !visit(context, tlsf_row_of(heap, pool, 0))) {
            return false;
        }
        capacity = pool->capacity_before_bytes;
    }
    const struct tlsf_row first = tlsf_row_of(heap, NULL, capacity);
    const uintptr_t lowest = (uintptr_t)tlsf_at(heap, tlsf_fields_of(heap)->lowest);
    return (uintptr_t)first.last - lowest <= (uintptr_t)tlsf_fields_of(heap)->span_bytes +
                                                 tlsf_fields_of(heap)->wilderness_bytes &&
           visit(context, first);
}

// Lists the row of blocks from FIRST (its first payload) to END (the sentinel's payload) as one
// free block.
static void tlsf_list_row(struct tau_tlsf *heap, tau_word *first, const tau_word *end) {
    const tau_word row = (tau_word)((uintptr_t)end - (uintptr_t)first);
    TAU_ASSERT(row <= tlsf_block_max_bytes(heap));
    TAU_ASSERT(row >= TLSF_BLOCK_MIN_BYTES);
    TAU_ASSERT(((uintptr_t)first & (TAU_ALIGNMENT - 1)) == 0);
    tlsf_after(first, row)[-1] = TLSF_PREVIOUS_FREE;
    tlsf_insert(heap, first, row + TLSF_FREE);
}

#endif
