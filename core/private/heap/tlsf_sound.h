// What malloc checks of the free block that it takes: docs/spec/tlsf.md, "malloc".
#ifndef TAU_TLSF_SOUND_H
#define TAU_TLSF_SOUND_H

#include "core/private/heap/tlsf_block.h"

// Whether a block with HEADER is large enough for SIZE. A size that leads around the end of memory
// is negative, so it is not.
TAU_ALWAYS_INLINE bool tlsf_has_room(tau_word header, tau_word size) {
    return (tau_signed_word)header >= (tau_signed_word)size;
}

// Whether a free block with HEADER may be taken for a request of SIZE: it is large enough, and its
// header and footer agree and lie in the span.
TAU_INLINE bool tlsf_is_sound(const struct tau_tlsf *heap, const tau_word *payload, tau_word header,
                              tau_word size) {
    TAU_ASSERT(size >= TLSF_BLOCK_MIN_BYTES);
    TAU_ASSERT((size & ~TLSF_SIZE_MASK) == 0);
    const tau_word *const end = tlsf_after(payload, header & TLSF_SIZE_MASK);
    const uintptr_t lowest = (uintptr_t)tlsf_at(heap, tlsf_fields_of(heap)->lowest);
    return tlsf_has_room(header, size) &&
           (uintptr_t)end - lowest <= tlsf_fields_of(heap)->span_bytes &&
           end[-2] + TLSF_FREE == header;
}

#endif
