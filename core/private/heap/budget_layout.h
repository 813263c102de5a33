// Everything that an init decides before it writes: the order of the regions, the hash, the steps
// of the owner table, all sizes. Then the writing. For core/budget.c and core/pools.c. Every loop
// is bounded by TAU_BUDGET_CLASSES_MAX, its square, or a table's size.
#ifndef TAU_BUDGET_LAYOUT_H
#define TAU_BUDGET_LAYOUT_H

#include "core/private/heap/budget_table.h"

#define BUDGET_SIZE_MAX_BYTES ((uint32_t)1 << 30)

#define BUDGET_OWNER_STEPS_MAX 0x1fffffu
#define BUDGET_DEDICATED_UNITS_MAX ((uint64_t)BUDGET_OWNER_STEPS_MAX << BUDGET_OWNER_LEVEL_MAX)

struct budget_layout {
    const struct tau_budget_class *pairs;
    size_t count;
    uint8_t pair_of[TAU_BUDGET_CLASSES_MAX];  // class -> entry of the plan; class 0 has the largest
                                              // region
    uint32_t start_units[TAU_BUDGET_CLASSES_MAX + 1];  // of each region, in TAU_ALIGNMENT; the end
    uint32_t multiplier;
    unsigned hash_log2;
    unsigned owner_level;
    size_t alignment;  // of the regions' area, and of each region as far as its buckets have it
    size_t owner_bytes;
    size_t size_bytes;  // of the size table
    size_t handle;      // distances from the aligned start of the memory
    size_t bits;
    size_t dedicated;
};

static uint64_t budget_region_units(const struct tau_budget_class *pair) {
    return (uint64_t)(budget_bucket_for(pair->size_bytes) >> TAU_ALIGNMENT_LOG2) * pair->count;
}

// Sorts the regions and sums their sizes. Returns false if the plan is invalid.
static bool budget_order_regions(struct budget_layout *layout) {
    for (size_t pair = 0; pair < layout->count; pair++) {
        const struct tau_budget_class *const added = &layout->pairs[pair];
        TAU_ASSERT(pair < TAU_BUDGET_CLASSES_MAX);
        if (added->size_bytes == 0 || added->size_bytes > BUDGET_SIZE_MAX_BYTES ||
            added->count == 0) {
            return false;
        }
        size_t place = pair;
        for (size_t other = 0; other < pair; other++) {
            if (budget_bucket_for(layout->pairs[other].size_bytes) ==
                budget_bucket_for(added->size_bytes)) {
                return false;
            }
        }
        while (place > 0 && budget_region_units(&layout->pairs[layout->pair_of[place - 1]]) <
                                budget_region_units(added)) {  // bound: pair
            layout->pair_of[place] = layout->pair_of[place - 1];
            place--;
        }
        layout->pair_of[place] = (uint8_t)pair;
    }
    return true;
}

static uint64_t budget_dedicated_units(const struct budget_layout *layout) {
    return layout->start_units[layout->count];
}

// Where each region starts: at a multiple of the largest power of two that divides its buckets and
// is at most the layout's alignment. Returns false if the regions are too large.
static bool budget_place_regions(struct budget_layout *layout) {
    const uint64_t alignment_units = layout->alignment >> TAU_ALIGNMENT_LOG2;
    uint64_t end = 0;
    TAU_ASSERT(alignment_units != 0);
    for (size_t class = 0; class < layout->count; class += 1) {
        const struct tau_budget_class *const pair = &layout->pairs[layout->pair_of[class]];
        const uint64_t bucket = budget_bucket_for(pair->size_bytes) >> TAU_ALIGNMENT_LOG2;
        const uint64_t own = bucket & -bucket;
        const uint64_t unit = own < alignment_units ? own : alignment_units;
        end = (end + unit - 1) & ~(unit - 1);
        layout->start_units[class] = (uint32_t)end;
        end += bucket * pair->count;
        if (end > BUDGET_DEDICATED_UNITS_MAX) {
            return false;
        }
    }
    layout->start_units[layout->count] = (uint32_t)end;
    return true;
}

// Bytes of the in-use bits of CLASS. A gap after its buckets has bits too, which stay 0.
static size_t budget_bits_bytes(const struct budget_layout *layout, size_t class) {
    const uint32_t units = layout->start_units[class + 1] - layout->start_units[class];
    const struct tau_budget_class *const pair = &layout->pairs[layout->pair_of[class]];
    const uint32_t bucket = (uint32_t)budget_bucket_for(pair->size_bytes) >> TAU_ALIGNMENT_LOG2;
    return (size_t)((units + bucket - 1) / bucket + 31) / 32 * sizeof(uint32_t);
}

// Finds the coarsest steps in which no step contains two region borders. Returns false if there are
// none, which gaps between regions can cause; without gaps docs/design/budget.md proves that there
// are.
static bool budget_find_owner_level(struct budget_layout *layout) {
    const uint64_t all_units = budget_dedicated_units(layout);
    for (unsigned level = 0; level <= BUDGET_OWNER_LEVEL_MAX; level++) {
        uintptr_t border_step = UINTPTR_MAX;
        bool fits = all_units >> level <= BUDGET_OWNER_STEPS_MAX;
        for (size_t class = 1; class < layout->count; class += 1) {
            const uint64_t units = all_units - layout->start_units[class];
            const uintptr_t step = budget_step_of((tau_word)units, level);
            if (step ==
                budget_step_of((tau_word)units + 1, level)) {  // the border lies inside this step
                fits = fits && step != border_step;
                border_step = step;
            }
        }
        if (fits) {
            layout->owner_level = level;
            layout->owner_bytes = budget_step_of((tau_word)all_units, level) + 1;
            return true;
        }
    }
    return false;
}

// The regions of COUNT pairs, and the table that finds them. ALIGNMENT is a power of two of at
// least TAU_ALIGNMENT.
static enum tau_status budget_lay_out_regions(struct budget_layout *layout,
                                              const struct tau_budget_class *pairs, size_t count,
                                              size_t alignment) {
    *layout = (struct budget_layout){.pairs = pairs, .count = count, .alignment = alignment};
    if (count > TAU_BUDGET_CLASSES_MAX || (pairs == NULL && count != 0) ||
        !budget_order_regions(layout)) {
        return TAU_PLAN_INVALID;
    }
    if (!budget_place_regions(layout)) {
        return TAU_PLAN_TOO_LARGE;
    }
    return budget_find_owner_level(layout) ? TAU_OK : TAU_PLAN_INVALID;
}

// Where everything lies, with a size table of SIZE_BYTES and FRONT_BYTES before the classes.
static void budget_lay_out_tables(struct budget_layout *layout, size_t front_bytes,
                                  size_t size_bytes) {
    const size_t count = layout->count;
    TAU_ASSERT(layout->owner_bytes != 0);
    TAU_ASSERT(front_bytes % sizeof(tau_word) == 0);
    layout->size_bytes = size_bytes;
    layout->handle = front_bytes + (count == 0 ? 1 : count) * sizeof(struct budget_class) +
                     sizeof(struct budget_fields);
    layout->bits = tau_bits_round_up(layout->handle + layout->owner_bytes + size_bytes + count,
                                     sizeof(uint32_t));
    layout->dedicated = layout->bits;
    for (size_t class = 0; TAU_CHECK_LEVEL >= 1 && class < count; class += 1) {
        layout->dedicated += budget_bits_bytes(layout, class);
    }
    layout->dedicated = tau_bits_round_up(layout->dedicated, layout->alignment);
}

// Bytes from the memory's aligned start to the end of the regions.
static uint64_t budget_fixed_bytes(const struct budget_layout *layout) {
    return layout->dedicated + (budget_dedicated_units(layout) << TAU_ALIGNMENT_LOG2);
}

// Writes the classes, front to back, and the tables that find them by an address or by the plan's
// order.
static void budget_write_classes(struct tau_budget *heap, const struct budget_layout *layout,
                                 uintptr_t dedicated, uintptr_t bits) {
    struct budget_fields *const fields = budget_fields_of(heap);
    const uint64_t all_units = budget_dedicated_units(layout);
    for (size_t index = 0; index < layout->count; index++) {
        const struct tau_budget_class *const pair = &layout->pairs[layout->pair_of[index]];
        const uint64_t start = layout->start_units[index];
        *budget_class_at(heap, index) = (struct budget_class){
            .bucket_bytes = (tau_word)budget_bucket_for(pair->size_bytes),
            .count = pair->count,
            .start =
                tau_link_to(heap, (void *)(dedicated + ((uintptr_t)start << TAU_ALIGNMENT_LOG2))),
            .bits = tau_link_to(heap, (void *)bits),
        };
        heap->owner[fields->order + layout->pair_of[index]] = (uint8_t)index;
        // A step that two regions share belongs to the one after, which is written last. The last
        // class also gets the first step. No bucket starts there, but a misaligned pointer may
        // point there.
        const uint64_t behind = all_units - layout->start_units[index + 1];
        const uintptr_t first_step =
            behind == 0 ? 0 : budget_step_of((tau_word)behind + 1, layout->owner_level);
        const uintptr_t last_step =
            budget_step_of((tau_word)(all_units - start), layout->owner_level);
        TAU_ASSERT(first_step <= last_step);
        TAU_ASSERT(last_step < fields->sizes);
        for (uintptr_t step = first_step; step <= last_step; step++) {  // bound: the owner table
            heap->owner[step] = (uint8_t)index;
        }
        bits += TAU_CHECK_LEVEL >= 1 ? budget_bits_bytes(layout, index) : 0;
    }
}

// Makes a heap of LAYOUT in SIZE_BYTES at MEMORY; what lies after the regions becomes the shared
// heap. The caller fills the size table. Fails as tau_budget_init.
static enum tau_status budget_make(struct tau_budget **heap, void *memory, size_t size_bytes,
                                   const struct budget_layout *layout) {
    const uintptr_t start = tau_bits_round_up((uintptr_t)memory, layout->alignment);
    const uintptr_t end = (uintptr_t)memory + size_bytes;
    if (memory == NULL || end < (uintptr_t)memory) {
        return TAU_BAD_ARGUMENT;
    }
    const uint64_t fixed_bytes = budget_fixed_bytes(layout);
    if (start < (uintptr_t)memory || start > end || fixed_bytes > end - start) {
        return TAU_PLAN_TOO_LARGE;
    }
    struct tau_budget *const made = (struct tau_budget *)(start + layout->handle);
    TAU_ASSERT(layout->handle < layout->dedicated);
    TAU_ASSERT(layout->owner_bytes + layout->size_bytes <= UINT16_MAX);
    const uintptr_t dedicated = start + layout->dedicated;
    const uintptr_t shared = start + (uintptr_t)fixed_bytes;
    for (uintptr_t byte = start; byte < dedicated; byte++) {  // bound: the tables
        *(uint8_t *)byte = 0;
    }
    *budget_fields_of(made) = (struct budget_fields){
        .dedicated = tau_link_to(made, (void *)dedicated),
        .dedicated_bytes = (tau_word)(budget_dedicated_units(layout) << TAU_ALIGNMENT_LOG2),
        .sizes = (uint16_t)layout->owner_bytes,
        .order = (uint16_t)(layout->owner_bytes + layout->size_bytes),
        .classes = (uint16_t)layout->count,
        .owner_level = (uint8_t)layout->owner_level,
    };
    budget_write_classes(made, layout, dedicated, start + layout->bits);
    void *const tlsf = tau_tlsf_init((void *)shared, (size_t)(end - shared), 0);
    budget_fields_of(made)->shared = tlsf != NULL ? tau_link_to(made, tlsf) : 0;
    *heap = made;
    return TAU_OK;
}

#endif
