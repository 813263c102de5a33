// Pools for bands of sizes. Rules: docs/spec/pools.md. Reasons: docs/design/pools.md.
//
// The regions, their blocks and the table from an address to its region are the budgeted heap's.
// What differs is the table from a size to its class. Its steps grow with the size, and no step
// holds two borders of bands. So one look and one comparison find the band:
//
//   steps of sizes   |1|2|3|4|5|6|7|8|  9-10 | 11-12 |   13-16   |  …
//   smaller band      a a a b b b b b    b       b         c           then compare with its block
//
//   | counters | classes n-1 … 0 | fields | owner table | size table | order | bits | regions |
//   TLSF
//                                          ^ handle
#include "core/pools.h"

#include "core/port.h"
#include "core/private/heap/budget_bucket.h"
#include "core/private/heap/budget_layout.h"
#include "core/private/heap/pools_table.h"
#include "core/private/heap/tlsf_inside.h"

#ifndef TAU_PORT_PEAK
#define TAU_PORT_PEAK(heap, size_bytes, count, limit_count)                                        \
    ((void)(heap), (void)(size_bytes), (void)(count), (void)(limit_count))
#endif

#define POOLS_SIZE_LEVEL_MAX 8u  // steps of 1/256 of the size
#define POOLS_ALIGNMENT_MAX_BYTES 4096u

TAU_INLINE size_t pools_index_of(const struct tau_pools *heap, const struct budget_class *class) {
    return (size_t)(budget_class_at(&heap->blocks, 0) - class);
}

// Counts a request that exceeds: beyond the limit of CLASS, whose lock the caller holds and this
// leaves, or above all bands if CLASS is NULL. If CLASS has a free block, the one freed last was
// overwritten. That is reported instead. Returns whether it counted.
static bool pools_note(struct tau_pools *heap, const struct budget_class *class) {
    if (class == NULL) {
        TAU_PORT_LOCK(&heap->blocks);
    }
    const bool is_overwritten = TAU_CHECK_LEVEL >= 1 && class != NULL && class->free != 0;
    tau_word *const counter =
        pools_counter_of(heap, class != NULL ? pools_index_of(heap, class)
                                             : budget_fields_of(&heap->blocks)->classes);
    *counter += !is_overwritten && *counter != UINT32_MAX ? 1 : 0;
    TAU_PORT_UNLOCK(&heap->blocks);
    if (is_overwritten) {
        TAU_PORT_MISUSE(&heap->blocks, NULL, TAU_OVERWRITTEN);
    }
    return !is_overwritten;
}

// Serves what the pools cannot, and counts it. It takes the same lock as pools_note.
__attribute__((noinline)) static void *pools_exceed(struct tau_pools *heap, size_t size_bytes,
                                                    const struct budget_class *class,
                                                    size_t alignment) {
    struct tau_tlsf *const overflow = budget_shared_of(&heap->blocks);
    TAU_ASSERT(size_bytes != 0 || class == NULL);
    if (size_bytes == 0) {
        return NULL;
    }
    const bool is_counted = pools_note(heap, class);
    if (overflow != NULL) {
        return tau_tlsf_aligned_alloc(overflow, alignment, size_bytes);
    }
    if (is_counted) {
        TAU_PORT_OUT_OF_MEMORY(&heap->blocks, size_bytes);
    }
    return NULL;
}

// Takes a block of CLASS for SIZE_BYTES. Without a free one it returns false and keeps the lock for
// pools_note. The count tells without a comparison of addresses.
TAU_INLINE bool pools_take(struct tau_pools *heap, struct budget_class *class, size_t alignment,
                           size_t size_bytes, void **block) {
    TAU_PORT_LOCK(&heap->blocks);
    const tau_word used = class->used_count, peak = class->fresh_count;
    *block = budget_take(&heap->blocks, class);
    const tau_word new_peak = class->fresh_count;
    TAU_ASSERT((class->used_count != used) == (*block != NULL));
    if (class->used_count == used) {
        return false;
    }
    TAU_PORT_TRACE(&heap->blocks, NULL, *block, size_bytes, alignment);
    TAU_PORT_UNLOCK(&heap->blocks);
    if (new_peak != peak) {
        TAU_PORT_PEAK(&heap->blocks, class->bucket_bytes, new_peak, class->count);
    }
    budget_junk(*block, 0xaa, size_bytes);
    return true;
}

// Its bound counts, so builds for size inline its callees, too.
__attribute__((flatten)) void *tau_pools_malloc(struct tau_pools *heap, size_t size_bytes) {
    struct budget_class *class = NULL;
    void *block;
    if (pools_has_band(heap, size_bytes)) {
        class = pools_band_of(heap, size_bytes);
        if (pools_take(heap, class, TAU_ALIGNMENT, size_bytes, &block)) {
            return block;
        }
    }
    return pools_exceed(heap, size_bytes, class, TAU_ALIGNMENT);
}

void *tau_pools_calloc(struct tau_pools *heap, size_t count, size_t size_bytes) {
    size_t total_bytes;
    if (__builtin_mul_overflow(count, size_bytes, &total_bytes)) {
        total_bytes = SIZE_MAX;
    }
    void *const payload = tau_pools_malloc(heap, total_bytes);
    if (payload != NULL) {
        TAU_PORT_FILL(payload, 0, total_bytes);
    }
    return payload;
}

// The band that serves SIZE_BYTES at multiples of ALIGNMENT, a power of two. NULL if none does.
static struct budget_class *pools_aligned_band_of(const struct tau_pools *heap, size_t alignment,
                                                  size_t size_bytes) {
    const size_t rounded_bytes = (size_bytes + alignment - 1) & ~(alignment - 1);
    TAU_ASSERT(tau_bits_is_power_of_two(alignment));
    if (rounded_bytes < size_bytes || !pools_has_band(heap, rounded_bytes)) {
        return NULL;
    }
    struct budget_class *const class = pools_band_of(heap, rounded_bytes);
    const uintptr_t start = (uintptr_t)tau_link_follow(&heap->blocks, class->start);
    return ((start | class->bucket_bytes) & (alignment - 1)) == 0 ? class : NULL;
}

void *tau_pools_aligned_alloc(struct tau_pools *heap, size_t alignment, size_t size_bytes) {
    if (!tau_bits_is_power_of_two(alignment)) {
        return NULL;
    }
    if (alignment <= TAU_ALIGNMENT) {
        return tau_pools_malloc(heap, size_bytes);
    }
    struct budget_class *const class = pools_aligned_band_of(heap, alignment, size_bytes);
    void *block;
    return class != NULL && pools_take(heap, class, alignment, size_bytes, &block)
               ? block
               : pools_exceed(heap, size_bytes, class, alignment);
}

enum tau_status tau_pools_free(struct tau_pools *heap, void *pointer) {
    return tau_budget_free(&heap->blocks, pointer);
}

size_t tau_pools_usable_size(const struct tau_pools *heap, const void *pointer) {
    return tau_budget_usable_size(&heap->blocks, pointer);
}

void *tau_pools_realloc(struct tau_pools *heap, void *pointer, size_t size_bytes) {
    uintptr_t offset;
    if (pointer == NULL) {
        return tau_pools_malloc(heap, size_bytes);
    }
    if (size_bytes == 0) {
        (void)tau_pools_free(heap, pointer);
        return NULL;
    }
    struct budget_class *const class =
        pools_has_band(heap, size_bytes) ? pools_band_of(heap, size_bytes) : NULL;
    const size_t old_bytes = tau_pools_usable_size(heap, pointer);
    if (old_bytes == 0) {  // not an object: free reports why, and changes nothing
        (void)tau_pools_free(heap, pointer);
        return NULL;
    }
    void *block = NULL;
    if (budget_is_dedicated(&heap->blocks, pointer, &offset)) {
        if (budget_owner_of(&heap->blocks, pointer, offset) == class) {
            TAU_PORT_LOCK(&heap->blocks);
            TAU_PORT_TRACE(&heap->blocks, pointer, pointer, size_bytes, TAU_ALIGNMENT);
            TAU_PORT_UNLOCK(&heap->blocks);
            return pointer;
        }
        block = tau_pools_malloc(heap, size_bytes);
    } else if (class == NULL || !pools_take(heap, class, TAU_ALIGNMENT, size_bytes, &block)) {
        (void)pools_note(heap, class);
        return tau_tlsf_realloc(budget_shared_of(&heap->blocks), pointer, size_bytes);
    }
    if (block != NULL) {
        TAU_PORT_MOVE(block, pointer, old_bytes < size_bytes ? old_bytes : size_bytes);
        (void)tau_pools_free(heap, pointer);
    }
    return block;
}

// ---- Looking at a heap -------------------------------------------------------------------------

enum tau_status tau_pools_reason(const struct tau_pools *heap, size_t size_bytes) {
    if (size_bytes == 0) {
        return TAU_BAD_ARGUMENT;
    }
    if (!pools_has_band(heap, size_bytes)) {
        return TAU_ABOVE_BANDS;
    }
    const struct budget_class *const class = pools_band_of(heap, size_bytes);
    TAU_PORT_LOCK(budget_lock_of(&heap->blocks));
    enum tau_status status = class->used_count == class->count ? TAU_LIMIT_REACHED : TAU_OK;
    if (TAU_CHECK_LEVEL >= 1 && class->free != 0) {
        const tau_word *const block = tau_link_follow(&heap->blocks, class->free);
        status =
            budget_is_at(class, class->free, budget_index_in(block)) ? TAU_OK : TAU_OVERWRITTEN;
    }
    TAU_PORT_UNLOCK(budget_lock_of(&heap->blocks));
    return status;
}

#if TAU_STATISTICS
struct tau_pools_statistics tau_pools_statistics(const struct tau_pools *heap) {
    const struct budget_fields *const fields = budget_fields_of(&heap->blocks);
    const uintptr_t dedicated = (uintptr_t)tau_link_follow(&heap->blocks, fields->dedicated);
    const struct tau_tlsf *const overflow = budget_shared_of(&heap->blocks);
    struct tau_pools_statistics statistics = {
        .pools_bytes = fields->dedicated_bytes,
        .control_bytes = tau_bits_round_up(
            dedicated - (uintptr_t)pools_counter_of(heap, fields->classes), TAU_ALIGNMENT),
        .bands_count = fields->classes,
    };
    if (overflow != NULL) {
        statistics.overflow = tau_tlsf_statistics(overflow);
    }
    TAU_PORT_LOCK(budget_lock_of(&heap->blocks));
    statistics.above_bands_count = (uint32_t)*pools_counter_of(heap, fields->classes);
    uint64_t exceeded = 0;
    for (size_t class = 0; class < fields->classes; class += 1) {  // bound: TAU_BUDGET_CLASSES_MAX
        exceeded += *pools_counter_of(heap, class);
    }
    TAU_PORT_UNLOCK(budget_lock_of(&heap->blocks));
    statistics.exceeded_count = exceeded < UINT32_MAX ? (uint32_t)exceeded : UINT32_MAX;
    return statistics;
}
#endif

struct tau_pools_band_statistics tau_pools_band_statistics(const struct tau_pools *heap,
                                                           size_t index) {
    const struct budget_fields *const fields = budget_fields_of(&heap->blocks);
    if (index >= fields->classes) {
        return (struct tau_pools_band_statistics){0};
    }
    const size_t place = heap->blocks.owner[fields->order + index];
    const struct budget_class *const class = budget_class_at(&heap->blocks, place);
    TAU_PORT_LOCK(budget_lock_of(&heap->blocks));
    const struct tau_pools_band_statistics statistics = {
        .size_bytes = (uint32_t) class->bucket_bytes,
        .limit_count = (uint32_t) class->count,
        .used_count = (uint32_t) class->used_count,
        .peak_used_count = (uint32_t) class->fresh_count,
        .exceeded_count = (uint32_t)*pools_counter_of(heap, place),
    };
    TAU_PORT_UNLOCK(budget_lock_of(&heap->blocks));
    return statistics;
}

// The caller holds the lock or owns the heap alone.
static bool pools_bands_hold(const struct tau_pools *heap) {
    bool is_sound = budget_classes_hold(&heap->blocks);
    const size_t count = budget_fields_of(&heap->blocks)->classes;
    for (size_t index = 0; index < count; index++) {  // bound: TAU_BUDGET_CLASSES_MAX
        const struct budget_class *const class = budget_class_at(&heap->blocks, index);
        is_sound = is_sound && pools_band_of(heap, class->bucket_bytes) == class;
    }
    return is_sound;
}

bool tau_pools_invariants_hold(const struct tau_pools *heap) {
    TAU_PORT_LOCK(budget_lock_of(&heap->blocks));
    const bool is_sound = pools_bands_hold(heap);
    TAU_PORT_UNLOCK(budget_lock_of(&heap->blocks));
    const struct tau_tlsf *const overflow = budget_shared_of(&heap->blocks);
    return is_sound && (overflow == NULL || tau_tlsf_invariants_hold(overflow));
}

// ---- Making a heap -----------------------------------------------------------------------------

// The coarsest steps of sizes in which no step holds two borders, or a number above
// POOLS_SIZE_LEVEL_MAX. A border between steps is in none.
static unsigned pools_size_level(const struct tau_budget_class *bands, size_t count) {
    unsigned level = 0;
    size_t band = 0;
    uintptr_t border_step = UINTPTR_MAX;
    while (level <= POOLS_SIZE_LEVEL_MAX && band + 1 < count) {  // bound: levels * COUNT
        const size_t units = pools_border_of(&bands[band]);
        const uintptr_t step = budget_step_of((tau_word)units, level);
        const bool is_inside = step == budget_step_of((tau_word)units + 1, level);
        if (is_inside && step == border_step) {
            level++;
            band = 0;
            border_step = UINTPTR_MAX;
        } else {
            border_step = is_inside ? step : border_step;
            band++;
        }
    }
    return level;
}

// Everything that init decides. Returns the level of the size table in *LEVEL.
static enum tau_status pools_lay_out(struct budget_layout *layout, unsigned *level,
                                     const struct tau_budget_class *bands, size_t count,
                                     size_t alignment_bytes) {
    const size_t alignment = alignment_bytes > TAU_ALIGNMENT ? alignment_bytes : TAU_ALIGNMENT;
    if ((alignment_bytes & (alignment_bytes - 1)) != 0 || alignment > POOLS_ALIGNMENT_MAX_BYTES) {
        return TAU_BAD_ARGUMENT;
    }
    if (count == 0 || bands == NULL) {
        return TAU_PLAN_INVALID;
    }
    const enum tau_status status = budget_lay_out_regions(layout, bands, count, alignment);
    if (status != TAU_OK) {
        return status;
    }
    for (size_t band = 1; band < count; band++) {  // bound: TAU_BUDGET_CLASSES_MAX
        if (pools_border_of(&bands[band - 1]) >= pools_border_of(&bands[band])) {
            return TAU_PLAN_INVALID;
        }
    }
    *level = pools_size_level(bands, count);
    if (*level > POOLS_SIZE_LEVEL_MAX) {
        return TAU_PLAN_INVALID;
    }
    const size_t steps =
        budget_step_of((tau_word)pools_border_of(&bands[count - 1]), *level) + 1;
    budget_lay_out_tables(layout, tau_bits_round_up((count + 1) * sizeof(tau_word), TAU_ALIGNMENT),
                          steps);
    return TAU_OK;
}

// Fills the size table, and links each band to the next larger one.
static void pools_write_sizes(struct tau_pools *heap, const struct tau_budget_class *bands,
                              unsigned level) {
    struct budget_fields *const fields = budget_fields_of(&heap->blocks);
    const size_t count = fields->classes;
    uintptr_t step = 0;
    fields->size_table = tau_link_to(&heap->blocks, &heap->blocks.owner[fields->sizes]);
    fields->size_level = (uint8_t)level;
    fields->size_units_max = (uint32_t)pools_border_of(&bands[count - 1]);
    for (size_t band = 0; band < count; band++) {
        const uint8_t index = heap->blocks.owner[fields->order + band];
        const uintptr_t last =
            budget_step_of((tau_word)pools_border_of(&bands[band]), level);
        if (band + 1 < count) {
            const uint8_t next = heap->blocks.owner[fields->order + band + 1];
            budget_class_at(&heap->blocks, index)->larger =
                tau_link_to(&heap->blocks, budget_class_at(&heap->blocks, next));
        }
        for (; step <= last; step++) {  // bound: the size table
            heap->blocks.owner[fields->sizes + step] = index;
        }
    }
}

enum tau_status tau_pools_init(struct tau_pools **heap, void *memory, size_t size_bytes,
                               const struct tau_budget_class *bands, size_t count,
                               size_t alignment_bytes) {
    struct budget_layout layout;
    struct tau_budget *made;
    unsigned level = 0;
    TAU_ASSERT(TAU_TLSF_BUILT == TAU_CHECK_LEVEL);  // as in tau_budget_init
    if (heap == NULL || memory == NULL || TAU_TLSF_BUILT != TAU_CHECK_LEVEL) {
        return TAU_BAD_ARGUMENT;
    }
    enum tau_status status = pools_lay_out(&layout, &level, bands, count, alignment_bytes);
    if (status != TAU_OK) {
        return status;
    }
    if (layout.alignment > TAU_ALIGNMENT && ((uintptr_t)memory & (layout.alignment - 1)) != 0) {
        return TAU_BAD_ARGUMENT;
    }
    status = budget_make(&made, memory, size_bytes, &layout);
    if (status != TAU_OK) {
        return status;
    }
    *heap = (struct tau_pools *)made;
    pools_write_sizes(*heap, bands, level);
    TAU_ASSERT(pools_bands_hold(*heap));
    return TAU_OK;
}

size_t tau_pools_size(const struct tau_budget_class *bands, size_t count, size_t alignment_bytes,
                      size_t overflow_bytes) {
    struct budget_layout layout;
    unsigned level = 0;
    if (pools_lay_out(&layout, &level, bands, count, alignment_bytes) != TAU_OK) {
        return 0;
    }
    size_t total_bytes;
    return __builtin_add_overflow(budget_fixed_bytes(&layout), overflow_bytes, &total_bytes)
               ? 0
               : total_bytes;
}
