// Everything that tau_budget_init decides before it writes: the order of the regions, the hash, the
// steps of the owner table, all sizes. Only core/budget.c and linux/runtime include this. Every
// loop is bounded by TAU_BUDGET_CLASSES_MAX, its square, BUDGET_HASH_LOG2_MAX * BUDGET_HASH_TRIES,
// or a table's size.
#ifndef TAU_BUDGET_LAYOUT_H
#define TAU_BUDGET_LAYOUT_H

#include "core/private/heap/budget_table.h"

#define BUDGET_SIZE_MAX_BYTES ((uint32_t)1 << 30)
#define BUDGET_HASH_LOG2_MAX 11u
#define BUDGET_HASH_TRIES 256u
#define BUDGET_OWNER_STEPS_MAX 0x1fffffu
#define BUDGET_DEDICATED_UNITS_MAX ((uint64_t)BUDGET_OWNER_STEPS_MAX << BUDGET_OWNER_LEVEL_MAX)

struct budget_layout {
    const struct tau_budget_class *pairs;
    size_t count;
    uint8_t pair_of[TAU_BUDGET_CLASSES_MAX];  // class -> entry of the plan; class 0 has the largest
                                              // region
    uint64_t dedicated_units;                 // in TAU_ALIGNMENT
    uint32_t multiplier;
    unsigned hash_log2;
    unsigned owner_level;
    size_t owner_bytes;
    size_t handle;  // distances from the aligned start of the memory
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
        layout->dedicated_units += budget_region_units(added);
        if (layout->dedicated_units > BUDGET_DEDICATED_UNITS_MAX) {
            layout->dedicated_units =
                BUDGET_DEDICATED_UNITS_MAX + 1;  // so that no sum wraps around
        }
    }
    return true;
}

// Whether MULTIPLIER gives every class its own slot in a table of 2^LOG2.
static bool budget_is_perfect(const struct budget_layout *layout, uint32_t multiplier,
                              unsigned log2) {
    uint32_t taken[(1u << BUDGET_HASH_LOG2_MAX) / 32] = {0};
    TAU_ASSERT(log2 >= 1);
    TAU_ASSERT(log2 <= BUDGET_HASH_LOG2_MAX);
    TAU_ASSERT((multiplier & 1u) != 0);
    for (size_t pair = 0; pair < layout->count; pair++) {
        const uint32_t slot = budget_hash_of(budget_bucket_for(layout->pairs[pair].size_bytes),
                                             multiplier, 32 - log2);
        if ((taken[slot >> 5] >> (slot & 31u) & 1u) != 0) {
            return false;
        }
        taken[slot >> 5] |= (uint32_t)1 << (slot & 31u);
    }
    return true;
}

// Finds the smallest table that one of BUDGET_HASH_TRIES multipliers fills without a collision. 64
// classes fail in a table of 2^11 with a probability below 2^-300.
static bool budget_find_hash(struct budget_layout *layout) {
    for (unsigned log2 = 1; log2 <= BUDGET_HASH_LOG2_MAX; log2++) {
        if (layout->count > (size_t)1 << log2) {
            continue;
        }
        for (uint32_t try = 0; try < BUDGET_HASH_TRIES; try++) {
            const uint32_t multiplier = (2 * try + 1) * 0x9e3779b1u;
            if (budget_is_perfect(layout, multiplier, log2)) {
                layout->multiplier = multiplier;
                layout->hash_log2 = log2;
                return true;
            }
        }
    }
    return false;
}

// Finds the coarsest steps in which no step contains two region borders.
static void budget_find_owner_level(struct budget_layout *layout) {
    for (unsigned level = 0; level <= BUDGET_OWNER_LEVEL_MAX; level++) {
        uint64_t units = layout->dedicated_units;
        uintptr_t border_step = UINTPTR_MAX;
        bool fits = units >> level <= BUDGET_OWNER_STEPS_MAX;
        layout->owner_level = level;
        layout->owner_bytes = budget_step_of((tau_word)units, level) + 1;
        for (size_t class = 0; class + 1 < layout->count; class += 1) {
            TAU_ASSERT(units > budget_region_units(&layout->pairs[layout->pair_of[class]]));
            units -= budget_region_units(&layout->pairs[layout->pair_of[class]]);
            const uintptr_t step = budget_step_of((tau_word)units, level);
            if (step ==
                budget_step_of((tau_word)units + 1, level)) {  // the border lies inside this step
                fits = fits && step != border_step;
                border_step = step;
            }
        }
        if (fits) {
            return;
        }
    }
    TAU_ASSERT(false);  // BUDGET_OWNER_LEVEL_MAX always fits: docs/design/budget.md has the proof
}

static enum tau_status budget_lay_out(struct budget_layout *layout,
                                      const struct tau_budget_class *pairs, size_t count) {
    *layout = (struct budget_layout){.pairs = pairs, .count = count};
    if (count > TAU_BUDGET_CLASSES_MAX || (pairs == NULL && count != 0) ||
        !budget_order_regions(layout)) {
        return TAU_PLAN_INVALID;
    }
    if (layout->dedicated_units > BUDGET_DEDICATED_UNITS_MAX) {
        return TAU_PLAN_TOO_LARGE;
    }
    if (!budget_find_hash(layout)) {
        return TAU_PLAN_INVALID;
    }
    budget_find_owner_level(layout);
    TAU_ASSERT(layout->multiplier != 0);
    TAU_ASSERT(layout->dedicated_units >= count);
    TAU_ASSERT(layout->owner_level <= BUDGET_OWNER_LEVEL_MAX);
    TAU_ASSERT(layout->owner_bytes != 0);
    TAU_ASSERT(layout->hash_log2 >= 1);
    layout->handle =
        (count == 0 ? 1 : count) * sizeof(struct budget_class) + sizeof(struct budget_fields);
    layout->bits = tau_bits_round_up(layout->handle + layout->owner_bytes +
                                         ((size_t)1 << layout->hash_log2) + count,
                                     sizeof(uint32_t));
    layout->dedicated = layout->bits;
    for (size_t pair = 0; TAU_CHECK_LEVEL >= 1 && pair < count; pair++) {
        layout->dedicated += ((size_t)pairs[pair].count + 31) / 32 * sizeof(uint32_t);
    }
    layout->dedicated = tau_bits_round_up(layout->dedicated, TAU_ALIGNMENT);
    return TAU_OK;
}

#endif
