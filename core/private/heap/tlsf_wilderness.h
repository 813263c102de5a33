// The wilderness: the memory behind the last block of a heap of one pool. No list has it. malloc
// takes from its start if no listed block fits, and free gives the last block back to it. So where
// an object lies does not depend on how much is left, and a larger heap places as a smaller one.
// Only a realloc of the last object asks how much is left: it moves if that is too little.
//
//   | block | block | block | 0 | wilderness                 |
//                             ^ the end: a sentinel's payload
//
// Source: D. G. Korn and K.-P. Vo, "In Search of a Better Malloc", USENIX 1985, which has the name
// and takes from it last. Only core/tlsf.c and the heaps on pages include this.
#ifndef TAU_TLSF_WILDERNESS_H
#define TAU_TLSF_WILDERNESS_H

#include "core/private/heap/tlsf_block.h"

// The payload of the last sentinel. In a heap of one pool the wilderness starts there.
TAU_INLINE tau_word *tlsf_end(const struct tau_tlsf *heap) {
    const struct tlsf_fields *const fields = tlsf_fields_of(heap);
    return tlsf_after(tlsf_at(heap, fields->lowest), fields->span_bytes);
}

// Whether PAYLOAD is where the wilderness starts. A heap of several pools has none.
TAU_INLINE bool tlsf_is_end(const struct tau_tlsf *heap, const tau_word *payload) {
    return payload == tlsf_end(heap) && tlsf_fields_of(heap)->pools == 0;
}

// Moves the start of the wilderness by BYTES, which may be negative modulo 2^TAU_WORD_BITS.
TAU_INLINE void tlsf_move_end(struct tau_tlsf *heap, tau_word bytes) {
    struct tlsf_fields *const fields = tlsf_fields_of(heap);
    TAU_ASSERT(fields->pools == 0);
    TAU_ASSERT((bytes & (TAU_ALIGNMENT - 1)) == 0);
    fields->span_bytes += bytes;
    fields->wilderness_bytes -= bytes;
    tlsf_end(heap)[-1] = 0;
}

// Called after the start moved up: the wilderness can only be smaller than ever then.
TAU_INLINE void tlsf_note_untouched(struct tau_tlsf *heap) {
    struct tlsf_fields *const fields = tlsf_fields_of(heap);
    if (fields->wilderness_bytes < fields->untouched_bytes) {
        fields->untouched_bytes = fields->wilderness_bytes;
    }
}

// Takes SIZE bytes from the wilderness, at what was its start, after no list had such a block for
// *REASON. Returns false with the reason if the wilderness is too small, or if the sentinel before
// it was overwritten.
TAU_INLINE bool tlsf_take_wild(struct tau_tlsf *heap, tau_word size, enum tau_status *reason) {
    if (*reason != TAU_NO_MEMORY || size > tlsf_fields_of(heap)->wilderness_bytes) {
        return false;
    }
    if (TAU_CHECK_LEVEL >= 1 && tlsf_end(heap)[-1] != 0) {
        *reason = TAU_OVERWRITTEN;
        return false;
    }
    tlsf_move_end(heap, size);
    tlsf_note_untouched(heap);
    return true;
}

#endif
