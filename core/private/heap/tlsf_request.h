// The block size that a request needs, the free blocks that may serve it (docs/spec/tlsf.md,
// "malloc"), and how it is refused. Only core/tlsf.c and the heaps on pages include this.
#ifndef TAU_TLSF_REQUEST_H
#define TAU_TLSF_REQUEST_H

#include "core/private/heap/tlsf_block.h"
#include "core/private/heap/tlsf_check.h"

// Bytes of the block that serves REQUEST with EXTRA more bytes in its tail. 0 if REQUEST is 0 or
// larger than any pool.
TAU_INLINE tau_word tlsf_needed(const struct tau_tlsf *heap, size_t request, size_t extra) {
    const size_t own = extra + TLSF_CANARY_BYTES + TLSF_WORD_BYTES;
    const size_t beyond = own + TAU_ALIGNMENT - 1;
    const size_t size = (request + beyond) & ~(size_t)(TAU_ALIGNMENT - 1);
    if (extra != 0 && (request == 0 || request + beyond < request)) {
        return 0;
    }
    if (size - TLSF_BLOCK_MIN_BYTES > tlsf_fields_of(heap)->range_bytes) {
        // Too large, 0, so large that the sum wrapped around, or less than the smallest block.
        return own < TLSF_BLOCK_MIN_BYTES && request - 1 < TLSF_BLOCK_MIN_BYTES - own
                   ? TLSF_BLOCK_MIN_BYTES
                   : 0;
    }
    TAU_ASSERT(size > request);
    if (size == 0) {
        __builtin_unreachable();  // no range is so large, but the compiler does not know
    }
    return (tau_word)size;
}

// Whether a block with HEADER is large enough for SIZE. A size that leads around the end of memory
// is negative, so it is not.
TAU_INLINE bool tlsf_has_room(tau_word header, tau_word size) {
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

// Reports why a request of a size that is not 0 is refused and returns NULL. Counts the request if
// memory is lacking.
TAU_INLINE void *tlsf_refuse_object(struct tau_tlsf *heap, size_t size_bytes,
                                    enum tau_status reason) {
    TAU_ASSERT(heap != NULL);
    TAU_ASSERT(reason == TAU_OVERWRITTEN || reason == TAU_NO_MEMORY);
    if (TAU_CHECK_LEVEL >= 1 && reason == TAU_OVERWRITTEN) {
        TAU_PORT_MISUSE(heap, NULL, reason);
    } else {
        if (TAU_STATISTICS) {
            TAU_PORT_LOCK(heap);
            tlsf_fields_of(heap)->out_of_memory_count++;
            TAU_PORT_UNLOCK(heap);
        }
        TAU_PORT_OUT_OF_MEMORY(heap, size_bytes);
    }
    return NULL;
}

// As `tlsf_refuse_object`. Nothing is reported of size 0.
static __attribute__((noinline)) void *tlsf_refuse(struct tau_tlsf *heap, size_t size_bytes,
                                                   enum tau_status reason) {
    return size_bytes != 0 || reason != TAU_NO_MEMORY ? tlsf_refuse_object(heap, size_bytes, reason)
                                                      : NULL;
}

TAU_INLINE void tlsf_junk(void *payload, int value, size_t size_bytes) {
    if (TAU_JUNK_FILL) {
        TAU_PORT_FILL(payload, value, size_bytes);
    }
}

#endif
