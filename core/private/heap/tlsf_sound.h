// What malloc checks of the free block that it takes: docs/spec/tlsf.md, "malloc".
#ifndef TAU_TLSF_SOUND_H
#define TAU_TLSF_SOUND_H

#include "core/private/heap/tlsf_block.h"

// Whether a block with HEADER is large enough for SIZE. A size that leads around the end of memory
// is negative, so it is not.
TAU_ALWAYS_INLINE bool has_room(tau_word header, tau_word size) {
    return (tau_signed_word)header >= (tau_signed_word)size;
}

// Whether a free block with HEADER may be taken for a request of SIZE: it is large enough, and its
// header and footer agree and lie in the span.
TAU_INLINE bool is_sound(const struct tau_tlsf *heap, const tau_word *payload, tau_word header,
                         tau_word size) {
    const tau_word *const end = after(payload, header & SIZE_MASK);
    const uintptr_t lowest = (uintptr_t)at(heap, fields_of(heap)->lowest);
    return has_room(header, size) && (uintptr_t)end - lowest <= fields_of(heap)->span_bytes &&
           end[-2] + FREE == header;
}

#endif
