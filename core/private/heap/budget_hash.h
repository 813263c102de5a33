// The layout of a budgeted heap: its regions, and a perfect hash that finds a size's class. Only
// core/budget.c and linux/runtime include this.
#ifndef TAU_BUDGET_HASH_H
#define TAU_BUDGET_HASH_H

#include "core/private/heap/budget_layout.h"

#define BUDGET_HASH_LOG2_MAX 11u
#define BUDGET_HASH_TRIES 256u

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

static enum tau_status budget_lay_out(struct budget_layout *layout,
                                      const struct tau_budget_class *pairs, size_t count) {
    const enum tau_status status = budget_lay_out_regions(layout, pairs, count, TAU_ALIGNMENT);
    if (status != TAU_OK) {
        return status;
    }
    if (!budget_find_hash(layout)) {
        return TAU_PLAN_INVALID;
    }
    TAU_ASSERT(layout->multiplier != 0);
    budget_lay_out_tables(layout, 0, (size_t)1 << layout->hash_log2);
    return TAU_OK;
}

#endif
