// The steps that TLSF's realloc and the budgeted heap's have in common (docs/spec/tlsf.md,
// "realloc"): the check of the block, the decision whether the object can stay, the move. An object
// that can stay ends in one function of core/tlsf.c. So no path contains both a resize in place and
// a copy. Only core/tlsf.c and core/budget.c include this.
#ifndef TAU_TLSF_REALLOC_H
#define TAU_TLSF_REALLOC_H

#include "core/private/heap/tlsf_check.h"
#include "core/private/heap/tlsf_inside.h"
#include "core/private/heap/tlsf_request.h"
#include "core/private/heap/tlsf_wilderness.h"

// An object that is to be resized. All of it holds as long as the lock is held, its bytes and its
// alignment afterwards too.
struct tlsf_resize {
    struct tlsf_used used;
    bool is_last;  // the wilderness follows
    tau_word size;  // of the block that the new size needs; 0 if no pool can hold it
    size_t old_bytes;
    size_t alignment;
};

// The alignment of the object at PAYLOAD, in a used block of SIZE bytes.
TAU_INLINE size_t tlsf_alignment_of(const tau_word *payload, tau_word size) {
    return (payload[-1] & TLSF_ALIGNED) != 0 ? tlsf_after(payload, size)[-2] : TAU_ALIGNMENT;
}

// Takes the lock and looks at the object at PAYLOAD, which is to have SIZE_BYTES, not 0. Returns
// false if it may not be resized: the misuse is then reported and the lock released. Check level 0
// does not look for misuse.
TAU_INLINE bool tlsf_begin_resize(struct tau_tlsf *heap, tau_word *payload,
                                  size_t size_bytes, struct tlsf_resize *resize) {
    TAU_PORT_LOCK(heap);
    TAU_INVARIANT(tau_tlsf_invariants_hold_locked(heap));
    TAU_ASSERT(payload != NULL && size_bytes != 0);
    if (TAU_CHECK_LEVEL == 0) {
        resize->used = tlsf_look_at(payload);
    } else if (!tlsf_is_mergeable(heap, payload, &resize->used)) {
        (void)tlsf_misused(heap, payload);
        return false;
    }
    resize->is_last = resize->used.next_size == 0 &&
                      tlsf_is_end(heap, tlsf_after(payload, resize->used.size));
    const bool is_aligned = (payload[-1] & TLSF_ALIGNED) != 0;
    resize->alignment = tlsf_alignment_of(payload, resize->used.size);
    if (TAU_CHECK_LEVEL >= 1 && is_aligned && !tlsf_is_alignment_of(payload, resize->alignment)) {
        (void)tlsf_misused(heap, payload);
        return false;
    }
    resize->size = tlsf_needed(heap, size_bytes, is_aligned ? TLSF_WORD_BYTES : 0);
    resize->old_bytes = tlsf_usable_bytes(payload);
    TAU_ASSERT(tau_bits_is_power_of_two(resize->alignment));
    TAU_ASSERT(resize->old_bytes < resize->used.size);
    return true;
}

// Whether the object at PAYLOAD can stay, or move down into the free block before it.
TAU_INLINE bool tlsf_fits_in_place(const struct tau_tlsf *heap, const tau_word *payload,
                                   const struct tlsf_resize *resize) {
    const struct tlsf_used *const used = &resize->used;
    const tau_word room = used->size + used->next_size;
    const uintptr_t lowest = (uintptr_t)tlsf_before(payload, used->previous_size);
    if (resize->size <= used->size) {
        return resize->size != 0;
    }
    if (resize->is_last) {
        return resize->size - used->size <= tlsf_fields_of(heap)->wilderness_bytes;
    }
    // No block is free after a free one. Only TLSF_FREE that was overwritten says so.
    if (TAU_CHECK_LEVEL >= 1 && (tlsf_after(payload, room)[-1] & TLSF_FREE) != 0) {
        return false;
    }
    return resize->size <= room || (resize->size <= used->previous_size + room &&
                                    (lowest & (resize->alignment - 1)) == 0);
}

// Resizes an object that fits in place, to SIZE_BYTES in a block of at least SIZE bytes, and
// releases the lock. Returns the object's place. NEXT_SIZE and PREVIOUS_SIZE are as in `tlsf_used`.
void *tau_tlsf_resize_in_place(struct tau_tlsf *heap, tau_word *payload, size_t size_bytes,
                               tau_word size, tau_word next_size, tau_word previous_size);

// As above, for the last block, which grows into the wilderness and shrinks from it.
void *tau_tlsf_resize_last(struct tau_tlsf *heap, tau_word *payload, size_t size_bytes,
                           tau_word size);

TAU_INLINE void *tlsf_resize_in_place(struct tau_tlsf *heap, tau_word *payload, size_t size_bytes,
                                      const struct tlsf_resize *resize) {
    return resize->is_last
               ? tau_tlsf_resize_last(heap, payload, size_bytes, resize->size)
               : tau_tlsf_resize_in_place(heap, payload, size_bytes, resize->size,
                                          resize->used.next_size, resize->used.previous_size);
}

TAU_INLINE void tlsf_junk_beyond(void *payload, size_t old_bytes, size_t size_bytes) {
    if (size_bytes > old_bytes) {
        tlsf_junk((char *)payload + old_bytes, 0xaa, size_bytes - old_bytes);
    }
}

// Moves the object at PAYLOAD, of OLD_BYTES, to PLACE, which the caller took for SIZE_BYTES.
TAU_INLINE void *tlsf_move(struct tau_tlsf *heap, tau_word *payload, void *place,
                           size_t old_bytes, size_t size_bytes) {
    TAU_ASSERT(place != NULL && place != (void *)payload);
    TAU_ASSERT(old_bytes < size_bytes);
    TAU_PORT_MOVE(place, payload, old_bytes);
    (void)tau_tlsf_free(heap, payload);
    tlsf_junk_beyond(place, old_bytes, size_bytes);
    return place;
}

#endif
