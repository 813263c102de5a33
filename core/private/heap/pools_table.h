// The tables of pools that a budgeted heap has not: counters, and the band of a size. Only
// core/pools.c, its tests and FreeRTOS's heap include this.
#ifndef TAU_POOLS_TABLE_H
#define TAU_POOLS_TABLE_H

#include "core/pools.h"
#include "core/private/heap/budget_table.h"

struct tau_pools {
    struct tau_budget blocks;
};

// One for each band, in the order of its class, and a last one for requests above all bands. It
// lies before the classes.
TAU_INLINE tau_word *pools_counter_of(const struct tau_pools *heap, size_t class) {
    const struct budget_fields *const fields = budget_fields_of(&heap->blocks);
    return (tau_word *)(void *)budget_class_at(&heap->blocks, fields->classes - 1u) - 1 - class;
}

// Sizes are counted from 0 here: 1 … TAU_ALIGNMENT bytes are 0, and 0 bytes are above all bands.
TAU_INLINE uintptr_t pools_units_of(size_t size_bytes) {
    return (uintptr_t)(size_bytes - 1) >> TAU_ALIGNMENT_LOG2;
}

// The largest size of BAND, so counted.
TAU_INLINE uintptr_t pools_border_of(const struct tau_budget_class *band) {
    return pools_units_of(TAU_ALIGNMENT >= 8 ? band->size_bytes
                                             : budget_bucket_for(band->size_bytes));
}

TAU_INLINE bool pools_has_band(const struct tau_pools *heap, size_t size_bytes) {
    return __builtin_expect(
        pools_units_of(size_bytes) <= budget_fields_of(&heap->blocks)->size_units_max, 1);
}

// The band of SIZE_BYTES, which has one.
TAU_INLINE struct budget_class *pools_band_of(const struct tau_pools *heap, size_t size_bytes) {
    const struct budget_fields *const fields = budget_fields_of(&heap->blocks);
    const uintptr_t step = budget_step_of((tau_word)pools_units_of(size_bytes), fields->size_level);
    TAU_ASSERT(pools_has_band(heap, size_bytes));
    const uint8_t *const sizes =
        (const uint8_t *)tau_link_follow(&heap->blocks, fields->size_table);
    TAU_ASSERT(fields->sizes + step < fields->order);
    struct budget_class *const class = budget_class_at(&heap->blocks, sizes[step]);
    if (__builtin_expect(size_bytes > class->bucket_bytes, 1)) {
        TAU_ASSERT(class->larger != 0);
        return (struct budget_class *)(void *)tau_link_follow(&heap->blocks, class->larger);
    }
    return class;
}

#endif
