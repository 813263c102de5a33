// Detects damage of a block in constant time: docs/spec/tlsf.md, "Checks". Only core/tlsf.c, the
// heaps on pages and tests include this.
#ifndef TAU_TLSF_CHECK_H
#define TAU_TLSF_CHECK_H

#include "core/private/heap/tlsf_block.h"

// Bytes after the caller's part of a used block.
TAU_INLINE tau_word tlsf_tail_bytes(const tau_word *payload) {
    return ((payload[-1] & TLSF_ALIGNED) != 0 ? (tau_word)TLSF_WORD_BYTES : 0) +
           (tau_word)TLSF_CANARY_BYTES;
}

TAU_INLINE tau_word tlsf_usable_bytes(const tau_word *payload) {
    return tlsf_size_of(payload) - (tau_word)TLSF_WORD_BYTES - tlsf_tail_bytes(payload);
}

TAU_INLINE tau_word tlsf_canary_for(const struct tau_tlsf *heap, const tau_word *payload) {
    return TLSF_CANARY ^ tlsf_link_to(heap, payload);
}

TAU_INLINE void tlsf_seal(const struct tau_tlsf *heap, tau_word *payload) {
    if (TAU_CHECK_LEVEL >= 2) {
        *tlsf_after(payload, tlsf_usable_bytes(payload)) = tlsf_canary_for(heap, payload);
    }
}

// The facts that free needs of a used block. `tlsf_is_used` collects them while it checks, so that
// nothing is read twice.
struct tlsf_used {
    tau_word size;
    tau_word next_size;      // 0 if the next block is in use
    tau_word previous_size;  // 0 if the previous block is in use
    tau_word *canary;        // level 2
};

// Size of PAYLOAD's block if it is free, else 0.
TAU_INLINE tau_word tlsf_free_size_of(const tau_word *payload) {
    const tau_word header = payload[-1];
    return (header & TLSF_FREE) != 0 ? header & TLSF_SIZE_MASK : 0;
}

TAU_INLINE struct tlsf_used tlsf_look_at(const tau_word *payload) {
    const tau_word header = payload[-1];
    const tau_word size = header & TLSF_SIZE_MASK;
    return (struct tlsf_used){
        .size = size,
        .next_size = tlsf_free_size_of(tlsf_after(payload, size)),
        .previous_size = (header & TLSF_PREVIOUS_FREE) != 0 ? payload[-2] : 0,
    };
}

// Whether a payload can lie at OFFSET of SPAN bytes, which are a multiple of the alignment. Where
// the machine can rotate, one comparison tells: that makes any other offset too large.
TAU_INLINE bool tlsf_is_place(uintptr_t offset, uintptr_t span) {
#if TAU_BITS_SCAN
    return (offset >> TAU_ALIGNMENT_LOG2 |
            offset << (8 * sizeof offset - TAU_ALIGNMENT_LOG2)) < span >> TAU_ALIGNMENT_LOG2;
#else
    return (offset & (TAU_ALIGNMENT - 1)) == 0 && offset < span;
#endif
}

// Whether both addresses could be payloads of blocks.
TAU_INLINE bool tlsf_are_places(const struct tau_tlsf *heap, const tau_word *one,
                                const tau_word *other) {
    const uintptr_t lowest = (uintptr_t)tlsf_at(heap, tlsf_fields_of(heap)->lowest);
    const uintptr_t span = tlsf_fields_of(heap)->span_bytes;
    return tlsf_is_place((uintptr_t)one - lowest, span) &&
           tlsf_is_place((uintptr_t)other - lowest, span);
}

// Whether NEXT could be a payload and links back to PAYLOAD. NEXT is the next link of PAYLOAD's
// free block.
TAU_INLINE bool tlsf_points_back(const struct tau_tlsf *heap, const tau_word *payload,
                                 tau_word next) {
    return tlsf_are_places(heap, tlsf_at(heap, next), tlsf_at(heap, next)) &&
           tlsf_at(heap, next)[1] == tlsf_back_to(heap, payload);
}

// Whether the list neighbors of PAYLOAD's free block, which is not the first, link to it.
TAU_INLINE bool tlsf_is_inside_list(const struct tau_tlsf *heap, const tau_word *payload) {
    const tau_word *const slot = tlsf_slot_at(heap, payload[1]);
    const tau_word *const next = tlsf_at(heap, payload[0]);
    if (tlsf_is_last(heap, payload[0])) {
        return tlsf_are_places(heap, slot, slot) && *slot == tlsf_link_to(heap, payload);
    }
    return tlsf_are_places(heap, slot, next) && *slot == tlsf_link_to(heap, payload) &&
           next[1] == tlsf_back_to(heap, payload);
}

// Whether both list links of PAYLOAD's free block lead to words that link back to it.
TAU_SHARED bool tlsf_is_listed(const struct tau_tlsf *heap, const tau_word *payload) {
    const tau_word *const slot = tlsf_slot_at(heap, payload[1]);
    TAU_ASSERT(((uintptr_t)payload & (TAU_ALIGNMENT - 1)) == 0);
    TAU_ASSERT((payload[-1] & TLSF_FREE) != 0);
    if (!tlsf_is_first(heap, payload[1])) {
        return tlsf_is_inside_list(heap, payload);
    }
    return *slot == tlsf_link_to(heap, payload) &&
           (tlsf_is_last(heap, payload[0]) || tlsf_points_back(heap, payload, payload[0]));
}

// docs/spec/tlsf.md, "Checks". It reads this block and its two neighbors, in constant time.
// `tlsf_reason_for` finds which check failed.
TAU_INLINE bool tlsf_is_used(const struct tau_tlsf *heap, const tau_word *payload,
                             struct tlsf_used *used) {
    const uintptr_t offset =
        tau_bits_hold((uintptr_t)payload - (uintptr_t)tlsf_at(heap, tlsf_fields_of(heap)->lowest));
    const uintptr_t span = tlsf_fields_of(heap)->span_bytes;
    if (!tlsf_is_place(offset, span)) {
        return false;
    }
    const tau_word header = payload[-1];
    used->size = header & TLSF_SIZE_MASK;
    const uintptr_t room = span - offset;
    if (used->size < TLSF_BLOCK_MIN_BYTES || used->size > room) {
        return false;
    }
    const tau_word *const next = tlsf_after(payload, used->size);
    const tau_word next_size = next[-1] - TLSF_FREE;
    used->next_size = 0;
    if (TAU_ON_LONGEST_PATH((next_size & TLSF_FLAGS) == 0)) {
        used->next_size = next_size;
        if (next_size > room - used->size || tlsf_after(next, next_size)[-2] != next_size) {
            return false;
        }
    } else if ((next[-1] & (TLSF_FREE | TLSF_PREVIOUS_FREE)) != 0) {
        return false;
    }
    used->previous_size = 0;
    if (TAU_ON_LONGEST_PATH((header & (TLSF_FREE | TLSF_PREVIOUS_FREE)) == TLSF_PREVIOUS_FREE)) {
        used->previous_size = payload[-2] & TLSF_SIZE_MASK;
        if (used->previous_size > offset ||
            tlsf_before(payload, used->previous_size)[-1] != used->previous_size + TLSF_FREE) {
            return false;
        }
    } else if ((header & TLSF_FREE) != 0) {
        return false;
    }
    if (TAU_CHECK_LEVEL >= 2) {
        used->canary = tlsf_after(payload, tlsf_usable_bytes(payload));
        return *used->canary == tlsf_canary_for(heap, payload);
    }
    return true;
}

// As `tlsf_is_used`, and the links of the free neighbors hold.
TAU_SHARED bool tlsf_is_mergeable(const struct tau_tlsf *heap, const tau_word *payload,
                                  struct tlsf_used *used) {
    return tlsf_is_used(heap, payload, used) &&
           (used->next_size == 0 || tlsf_is_listed(heap, tlsf_after(payload, used->size))) &&
           (used->previous_size == 0 ||
            tlsf_is_listed(heap, tlsf_before(payload, used->previous_size)));
}

// Why `tlsf_is_mergeable` fails, in the order of docs/spec/tlsf.md. TAU_OK for NULL. A block that
// was freed and merged with the previous block still has that block's start, and finds it free and
// larger. That is a double free.
static __attribute__((noinline)) enum tau_status tlsf_reason_for(const struct tau_tlsf *heap,
                                                                 const tau_word *payload) {
    const uintptr_t offset =
        (uintptr_t)payload - (uintptr_t)tlsf_at(heap, tlsf_fields_of(heap)->lowest);
    const uintptr_t span = tlsf_fields_of(heap)->span_bytes;
    if (payload == NULL) {
        return TAU_OK;
    }
    if (((uintptr_t)payload & (TAU_ALIGNMENT - 1)) != 0) {
        return TAU_MISALIGNED_POINTER;
    }
    if (offset >= span) {
        const struct tlsf_fields *const fields = tlsf_fields_of(heap);
        const uintptr_t behind = offset - span;
        return behind < fields->wilderness_bytes &&
                       fields->wilderness_bytes - behind > fields->untouched_bytes
                   ? TAU_DOUBLE_FREE  // an object was there
                   : TAU_FOREIGN_POINTER;
    }
    if ((payload[-1] & TLSF_FREE) != 0) {
        return TAU_DOUBLE_FREE;
    }
    if (tlsf_size_of(payload) < TLSF_BLOCK_MIN_BYTES || tlsf_size_of(payload) > span - offset) {
        return TAU_FOREIGN_POINTER;
    }
    // Not read if the previous block is in use: its owner may be writing that word.
    const tau_word previous_size =
        (payload[-1] & TLSF_PREVIOUS_FREE) != 0 ? payload[-2] & TLSF_SIZE_MASK : 0;
    if (previous_size != 0 && previous_size <= offset) {
        const tau_word previous = tlsf_before(payload, previous_size)[-1];
        if ((previous & TLSF_FREE) != 0 && (previous & TLSF_SIZE_MASK) > previous_size) {
            return TAU_DOUBLE_FREE;
        }
    }
    return TAU_OVERWRITTEN;
}

// Releases the lock and reports the misuse of PAYLOAD. TAU_OK for NULL.
static __attribute__((noinline)) enum tau_status tlsf_misused(struct tau_tlsf *heap,
                                                              tau_word *payload) {
    const enum tau_status reason = tlsf_reason_for(heap, payload);
    TAU_PORT_UNLOCK(heap);
    if (payload != NULL) {
        TAU_PORT_MISUSE(heap, payload, reason);
    }
    return reason;
}

// Whether ALIGNMENT can be the alignment that the object at PAYLOAD was requested with.
TAU_SHARED bool tlsf_is_alignment_of(const tau_word *payload, size_t alignment) {
    return alignment > TAU_ALIGNMENT && (((uintptr_t)payload | alignment) & (alignment - 1)) == 0;
}

#endif
