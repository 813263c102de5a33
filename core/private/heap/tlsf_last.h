// The ends of the calls that take from the wilderness, and realloc of the last object. Each is off
// its call's longest path, and shorter. Only core/tlsf.c includes this.
#ifndef TAU_TLSF_LAST_H
#define TAU_TLSF_LAST_H

#include "core/private/heap/tlsf_list.h"
#include "core/private/heap/tlsf_merge.h"
#include "core/private/heap/tlsf_realloc.h"
#include "core/private/heap/tlsf_rows.h"

// Hands out the object at PAYLOAD, whose used block has SIZE bytes, and releases the lock.
TAU_INLINE void *tlsf_hand_out(struct tau_tlsf *heap, tau_word *payload, tau_word size,
                               size_t size_bytes, size_t alignment) {
    tlsf_count_used(heap, size);
    TAU_ASSERT(((uintptr_t)payload & (alignment - 1)) == 0);
    TAU_ASSERT(tlsf_usable_bytes(payload) >= size_bytes);
    TAU_ASSERT(tlsf_fields_of(heap)->used_bytes <= tlsf_capacity_bytes(heap));
    tlsf_seal(heap, payload);
    TAU_PORT_TRACE(heap, NULL, payload, size_bytes, alignment);
    TAU_PORT_UNLOCK(heap);
    tlsf_junk(payload, 0xaa, size_bytes);
    return payload;
}

// Ends a malloc that needs a block of SIZE and found none for REASON: it takes from the wilderness
// or refuses.
TAU_APART void *tlsf_malloc_wild(struct tau_tlsf *heap, tau_word size, size_t size_bytes,
                                 enum tau_status reason) {
    tau_word *const payload = tlsf_end(heap);
    TAU_ASSERT(size != 0);
    if (!tlsf_take_wild(heap, size, &reason)) {
        TAU_PORT_UNLOCK(heap);
        return tlsf_refuse_object(heap, size_bytes, reason);
    }
    payload[-1] = size;
    return tlsf_hand_out(heap, payload, size, size_bytes, TAU_ALIGNMENT);
}

// Where an object with ALIGNMENT may lie in the free block at FOUND: the bytes before are none or a
// block.
TAU_INLINE tau_word *tlsf_aligned_in(tau_word *found, size_t alignment) {
    tau_word *const payload = (tau_word *)tau_bits_round_up((uintptr_t)found, alignment);
    const uintptr_t front = (uintptr_t)payload - (uintptr_t)found;
    if (TAU_ALIGNMENT >= 8 ? front == TAU_ALIGNMENT : front - 1 < TLSF_BLOCK_MIN_BYTES - 1) {
        return tlsf_after(payload, alignment == 8 ? 16 : (tau_word)alignment);
    }
    return payload;
}

// Ends an aligned_alloc that found no block in a list for REASON: it takes from the wilderness or
// refuses.
static __attribute__((noinline)) void *tlsf_aligned_wild(struct tau_tlsf *heap, size_t alignment,
                                                         tau_word size, size_t size_bytes,
                                                         enum tau_status reason) {
    tau_word *const found = tlsf_end(heap);
    tau_word *const payload = tlsf_aligned_in(found, alignment);
    const tau_word gap = (tau_word)((uintptr_t)payload - (uintptr_t)found);
    if (!tlsf_take_wild(heap, gap + size, &reason)) {
        TAU_PORT_UNLOCK(heap);
        return tlsf_refuse_object(heap, size_bytes, reason);
    }
    payload[-1] = size | TLSF_ALIGNED;
    if (gap != 0) {
        tlsf_insert(heap, found, gap + TLSF_FREE);
        payload[-1] |= TLSF_PREVIOUS_FREE;
    }
    tlsf_after(payload, size)[-2] = (tau_word)alignment;
    return tlsf_hand_out(heap, payload, size, size_bytes, alignment);
}

void *tau_tlsf_resize_last(struct tau_tlsf *heap, tau_word *payload, size_t size_bytes,
                           tau_word size) {
    const tau_word old = tlsf_size_of(payload);
    const size_t old_bytes = tlsf_usable_bytes(payload);
    const size_t alignment = tlsf_alignment_of(payload, old);
    TAU_ASSERT(tlsf_is_end(heap, tlsf_after(payload, old)));
    TAU_ASSERT(size <= old + tlsf_fields_of(heap)->wilderness_bytes);
    if (size < old) {
        tlsf_note_peak(heap);
    }
    payload[-1] += size - old;
    tlsf_move_end(heap, size - old);
    tlsf_note_untouched(heap);
    if ((payload[-1] & TLSF_ALIGNED) != 0) {
        tlsf_after(payload, size)[-2] = (tau_word)alignment;
    }
    tlsf_count_used(heap, size - old);
    tlsf_seal(heap, payload);
    TAU_PORT_TRACE(heap, payload, payload, size_bytes, alignment);
    TAU_PORT_UNLOCK(heap);
    tlsf_junk_beyond(payload, old_bytes, size_bytes);
    return payload;
}

#endif
