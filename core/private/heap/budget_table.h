// The tables of a budgeted heap, which pools share, and the lookups in them.
#ifndef TAU_BUDGET_TABLE_H
#define TAU_BUDGET_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/budget.h"
#include "core/config.h"
#include "core/private/bits.h"
#include "core/private/check.h"
#include "core/private/inline.h"
#include "core/private/link.h"

#define BUDGET_OWNER_LEVEL_MAX 6u  // steps of 1/64 of the distance

_Static_assert(TAU_BUDGET_CLASSES_MAX <= 1u << BUDGET_OWNER_LEVEL_MAX, "at most one border a step");
#define BUDGET_BUCKET_MIN_BYTES (2 * sizeof(tau_word))  // a free one holds its link and index

// The state of one class. It has eight words, so that indexing needs one shift.
struct budget_class {
    tau_word bucket_bytes;  // a multiple of TAU_ALIGNMENT; 0 in the entry of an empty plan
    tau_word free;          // link: the most recently freed bucket
    tau_word fresh_count;   // number of buckets ever used; the buckets from this index on are fresh
    tau_word count;
    tau_word start;   // link
    tau_word larger;  // link: the class with the next larger buckets; of pools, else 0
    tau_word used_count;
    tau_word bits;  // link (level >= 1): the in-use bits; bit i belongs to bucket i
};

_Static_assert(sizeof(struct budget_class) == 8 * sizeof(tau_word), "an index is one shift");

// The handle points at the owner table.
struct tau_budget {
    uint8_t owner[1];  // its length depends on the dedicated area
};

struct budget_fields {
    tau_word shared;     // link to the TLSF, 0 if there is none
    tau_word dedicated;  // link to the first region
    tau_word dedicated_bytes;
    union {
        tau_word refused_count;  // budgeted heap: refusals without a shared region
        tau_word size_table;     // of pools: link
    };
    union {
        uint32_t multiplier;      // of the budgeted heap's hash
        uint32_t size_units_max;  // of pools: the largest bucket, in TAU_ALIGNMENT
    };
    uint16_t sizes;  // offset of the size table from the handle
    uint16_t order;  // offset of the plan order: entry i is the class of the plan's entry i
    uint16_t classes;
    union {
        uint8_t hash_shift;  // of the budgeted heap
        uint8_t size_level;  // of pools: a step of sizes is 2^-level of the size
    };
    uint8_t owner_level;
};

TAU_INLINE struct budget_fields *budget_fields_of(const struct tau_budget *heap) {
    return (struct budget_fields *)(uintptr_t)heap - 1;
}

TAU_INLINE struct budget_class *budget_class_at(const struct tau_budget *heap, uintptr_t index) {
    const uintptr_t place = (uintptr_t)heap - index * sizeof(struct budget_class);
    return (struct budget_class *)(place - sizeof(struct budget_fields)) - 1;
}

TAU_INLINE struct tau_tlsf *budget_shared_of(const struct tau_budget *heap) {
    const tau_word link = budget_fields_of(heap)->shared;
    return link != 0 ? (struct tau_tlsf *)(void *)tau_link_follow(heap, link) : NULL;
}

// The heap as an argument of the port's lock, which takes no const pointer.
TAU_INLINE struct tau_budget *budget_lock_of(const struct tau_budget *heap) {
    return (struct tau_budget *)(uintptr_t)heap;
}

// ---- The two lookups ---------------------------------------------------------------------------

// Bucket size for a request. 0 for a request of 0 bytes, and if the sum wraps around. No class has
// size 0.
TAU_INLINE size_t budget_bucket_for(size_t size_bytes) {
    const size_t rounded = (size_bytes + TAU_ALIGNMENT - 1) & ~(size_t)(TAU_ALIGNMENT - 1);
    return rounded == sizeof(tau_word) ? BUDGET_BUCKET_MIN_BYTES : rounded;
}

TAU_INLINE uint32_t budget_hash_of(size_t bucket_bytes, uint32_t multiplier, unsigned shift) {
    return (uint32_t)((uint32_t)bucket_bytes * multiplier) >> shift;
}

// The only class that can have buckets of BUCKET_BYTES. The caller compares.
TAU_INLINE struct budget_class *budget_candidate(const struct tau_budget *heap,
                                                 size_t bucket_bytes) {
    const struct budget_fields *const fields = budget_fields_of(heap);
    TAU_ASSERT(fields->hash_shift >= 1);
    TAU_ASSERT(fields->hash_shift < 32);
    const uint32_t slot = budget_hash_of(bucket_bytes, fields->multiplier, fields->hash_shift);
    return budget_class_at(heap, heap->owner[fields->sizes + slot]);
}

// Step of the owner table for a position UNITS before the area's end.
TAU_INLINE uintptr_t budget_step_of(tau_word units, unsigned level) {
    const unsigned shift = tau_bits_log2(units >> level);
    return ((uintptr_t)shift << level) + (uintptr_t)(units >> shift);
}

// Whether POINTER is in the dedicated area. If so, *OFFSET is its distance from the start, which is
// held: a compiler would compute it again from POINTER.
TAU_INLINE bool budget_is_dedicated(const struct tau_budget *heap, const void *pointer,
                                    uintptr_t *offset) {
    *offset = tau_bits_hold((uintptr_t)pointer -
                            (uintptr_t)tau_link_follow(heap, budget_fields_of(heap)->dedicated));
    return *offset < budget_fields_of(heap)->dedicated_bytes;
}

// The class whose region contains POINTER, the start of a bucket at OFFSET in the dedicated area.
__attribute__((flatten)) TAU_INLINE struct budget_class *
budget_owner_of(const struct tau_budget *heap, const void *pointer, uintptr_t offset) {
    const struct budget_fields *const fields = budget_fields_of(heap);
    TAU_ASSERT(offset < fields->dedicated_bytes);
    TAU_ASSERT(fields->owner_level <= BUDGET_OWNER_LEVEL_MAX);
    const tau_word units = (tau_word)(fields->dedicated_bytes - offset) >> TAU_ALIGNMENT_LOG2;
    struct budget_class *class =
        budget_class_at(heap, heap->owner[budget_step_of(units, fields->owner_level)]);
    if (__builtin_expect((uintptr_t)pointer < (uintptr_t)tau_link_follow(heap, class->start), 1)) {
        class ++;
    }
    return class;
}

#endif
