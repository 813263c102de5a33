// The lists of free blocks, one per class, and the bitmap that finds the first non-empty list. Only
// core/tlsf.c and the heaps on pages include this.
#ifndef TAU_TLSF_LIST_H
#define TAU_TLSF_LIST_H

#include "core/private/bits_map.h"
#include "core/private/heap/tlsf_block.h"
#include "core/private/heap/tlsf_check.h"
#include "core/private/heap/tlsf_request.h"
#include "core/private/heap/tlsf_wilderness.h"

// What malloc and free keep in registers while they change lists: the summary, which they write
// back, and the first bit. The checks of level 1 leave no register for them.
#define TLSF_IS_KEPT (TAU_CHECK_LEVEL == 0)
struct tlsf_marks {
    uint32_t summary;
    uint32_t one;
};

TAU_INLINE struct tlsf_marks tlsf_marks_of(const struct tau_tlsf *heap) {
    return (struct tlsf_marks){
        .summary = tlsf_fields_of(heap)->summary,
        .one = TLSF_IS_KEPT ? tau_bits_one() : tau_bits_mask(0),
    };
}

TAU_INLINE uint32_t *tlsf_summary_in(struct tau_tlsf *heap, struct tlsf_marks *marks) {
    return TLSF_IS_KEPT ? &marks->summary : &tlsf_fields_of(heap)->summary;
}

// Ends the changes: writes back what was kept.
TAU_INLINE void tlsf_leave(struct tau_tlsf *heap, const struct tlsf_marks *marks) {
    if (TLSF_IS_KEPT) {
        tlsf_fields_of(heap)->summary = marks->summary;
    }
}

// Clears the bit of CLASS, whose list has lost its last block.
TAU_INLINE void tlsf_mark_empty(struct tau_tlsf *heap, unsigned class, struct tlsf_marks *marks) {
    const uint32_t bits = heap->bitmap[class >> 5];
    const uint32_t left = (uint32_t)tau_bits_hold(bits ^ tau_bits_moved(marks->one, class));
    TAU_ASSERT(class < tlsf_fields_of(heap)->classes);
    heap->bitmap[class >> 5] = left;
    if (TAU_ON_LONGEST_PATH(left == 0)) {
        *tlsf_summary_in(heap, marks) ^= tau_bits_moved(marks->one, class >> 5);
    }
}

// Makes PAYLOAD a free block, first in its list. HEADER is its size | TLSF_FREE.
TAU_INLINE void tlsf_insert_with(struct tau_tlsf *heap, tau_word *payload, tau_word header,
                                 struct tlsf_marks *marks) {
    const tau_word size = header - TLSF_FREE;
    TAU_ASSERT(size >= TLSF_BLOCK_MIN_BYTES);
    TAU_ASSERT((size & ~TLSF_SIZE_MASK) == 0);
    const unsigned class = tlsf_class_of(heap, tlsf_key_of(header));
    tau_word *const end = tlsf_end_of(heap, class);
    const tau_word next = *tlsf_slot_before(end);

    payload[-1] = header;
    tlsf_after(payload, size)[-2] = size;
    payload[1] = tlsf_link_to(heap, end);
    *tlsf_slot_before(end) = tlsf_link_to(heap, payload);
    if (TAU_ON_LONGEST_PATH(next == tlsf_no_block(heap))) {
        payload[0] = tlsf_last_link(heap, end);
        heap->bitmap[class >> 5] |= tau_bits_moved(marks->one, class);
        *tlsf_summary_in(heap, marks) |= tau_bits_moved(marks->one, class >> 5);
    } else {
        payload[0] = next;
        tlsf_at(heap, next)[1] = tlsf_back_to(heap, payload);
    }
}

TAU_SHARED void tlsf_insert(struct tau_tlsf *heap, tau_word *payload, tau_word header) {
    struct tlsf_marks marks = tlsf_marks_of(heap);
    tlsf_insert_with(heap, payload, header, &marks);
    tlsf_leave(heap, &marks);
}

// Makes the wilderness a listed block, or loses it if it is too small for one.
TAU_SHARED void tlsf_list_wilderness(struct tau_tlsf *heap) {
    struct tlsf_fields *const fields = tlsf_fields_of(heap);
    tau_word *const first = tlsf_end(heap);
    const tau_word bytes = fields->wilderness_bytes;
    fields->wilderness_bytes = 0;
    fields->untouched_bytes = 0;
    if (bytes >= TLSF_BLOCK_MIN_BYTES) {
        fields->span_bytes += bytes;
        tlsf_end(heap)[-1] = TLSF_PREVIOUS_FREE;
        tlsf_insert(heap, first, bytes + TLSF_FREE);
    }
}

// Removes a free block from its list. Its links say whether the list's head is its only other link,
// so no class is computed.
TAU_INLINE void tlsf_unlink_with(struct tau_tlsf *heap, tau_word *payload,
                                 struct tlsf_marks *marks) {
    TAU_ASSERT((payload[-1] & TLSF_FREE) != 0);
    const tau_word next = payload[0];
    const tau_word back = payload[1];
    tau_word *const slot = tlsf_slot_at(heap, back);
    TAU_ASSERT(*slot == tlsf_link_to(heap, payload));
    if (TAU_ON_LONGEST_PATH(TLSF_IS_RING ? next == back : next == 0 && tlsf_is_first(heap, back))) {
        *slot = tlsf_no_block(heap);
        const uintptr_t bytes = (uintptr_t)tlsf_end_of(heap, 0) - (uintptr_t)tlsf_at(heap, back);
        tlsf_mark_empty(heap, (unsigned)(bytes / TLSF_WORD_BYTES), marks);
    } else {
        *slot = next;
        if (!tlsf_is_last(heap, next)) {
            tlsf_at(heap, next)[1] = back;
        }
    }
}

TAU_SHARED void tlsf_unlink(struct tau_tlsf *heap, tau_word *payload) {
    struct tlsf_marks marks = tlsf_marks_of(heap);
    tlsf_unlink_with(heap, payload, &marks);
    tlsf_leave(heap, &marks);
}

// As `tlsf_unlink_with`, after a check of both links. Returns false, with nothing changed, if one
// was overwritten.
TAU_INLINE bool tlsf_unlink_checked_with(struct tau_tlsf *heap, tau_word *payload,
                                         struct tlsf_marks *marks) {
    const tau_word next = payload[0];
    const tau_word back = payload[1];
    tau_word *const slot = tlsf_slot_at(heap, back);
    const uintptr_t class = tlsf_class_at(heap, back);
    TAU_ASSERT((payload[-1] & TLSF_FREE) != 0);
    if (__builtin_expect(class >= tlsf_fields_of(heap)->classes, TAU_BITS_FROM_TOP)) {
        if (!tlsf_is_inside_list(heap, payload)) {
            return false;
        }
    } else {
        if (*slot != tlsf_link_to(heap, payload)) {
            return false;
        }
        if (TAU_ON_LONGEST_PATH(next == 0)) {
            *slot = tlsf_no_block(heap);
            tlsf_mark_empty(heap, (unsigned)class, marks);
            return true;
        }
        if (!tlsf_points_back(tau_bits_hold_pointer(heap), payload, next)) {
            return false;
        }
    }
    *slot = next;
    if (next != 0) {
        tlsf_at(heap, next)[1] = back;
    }
    return true;
}

TAU_SHARED bool tlsf_unlink_checked(struct tau_tlsf *heap, tau_word *payload) {
    struct tlsf_marks marks = tlsf_marks_of(heap);
    const bool is_sound = tlsf_unlink_checked_with(heap, payload, &marks);
    tlsf_leave(heap, &marks);
    return is_sound;
}

// Whether LINK, of a list's head, leads to a block that is large enough for SIZE.
TAU_INLINE bool tlsf_serves(const struct tau_tlsf *heap, tau_word link, tau_word size) {
    return (TLSF_IS_RING || link != 0) && tlsf_has_room(tlsf_at(heap, link)[-1], size);
}

// Whether LINK, of a list's head, leads to no block, or to one with at least KEY_MIN, the smallest
// key of its class. Keys + 1 are compared, as signed numbers. So a header that leads around the end
// of memory is too small.
TAU_INLINE bool tlsf_keeps_class(const struct tau_tlsf *heap, tau_word link, tau_word key_min) {
    return !TAU_ON_LONGEST_PATH(link != 0) ||
           (tau_signed_word)tlsf_at(heap, link)[-1] >> TAU_ALIGNMENT_LOG2 >
               (tau_signed_word)key_min;
}

// Removes a block of at least SIZE bytes from its list and sets *HEADER to its header. It takes the
// first block of the size's class if that is large enough. Otherwise it takes the first block of
// the next non-empty class, in which every block is. Returns NULL with the reason if there is none
// or if the block found was overwritten.
TAU_INLINE tau_word *tlsf_take_with(struct tau_tlsf *heap, tau_word size, tau_word *header,
                                    enum tau_status *reason, struct tlsf_marks *marks) {
    const tau_word key = tlsf_key_of(size);
    const unsigned shift = tlsf_shift_of(heap, key);
    const tau_word key_min = (tau_word)tau_bits_hold(key >> shift << shift);  // here both are known
    unsigned class = tlsf_class_with(heap, key, shift);
    unsigned index = class >> 5;
    uint32_t *word = &heap->bitmap[index];
    uint32_t bits = *word;
    tau_word *end = tlsf_end_of(heap, class);
    TAU_ASSERT(class < tlsf_fields_of(heap)->classes);

    const tau_word first = *tlsf_slot_before(end);
    if (TAU_ON_LONGEST_PATH(!tlsf_serves(heap, first, size))) {
        if (TAU_CHECK_LEVEL >= 1 && !tlsf_keeps_class(heap, first, key_min)) {
            *reason = TAU_OVERWRITTEN;
            return NULL;
        }
        if (TAU_ON_LONGEST_PATH(!tau_bits_any_above(bits, marks->one, class))) {
            const uint32_t above = *tlsf_summary_in(heap, marks) & tau_bits_above(index);
            if (above == 0) {
                *reason = TAU_NO_MEMORY;
                return NULL;
            }
            index = tau_bits_first(above);
            word = &heap->bitmap[index];
            bits = *word;
            class = index * 32u + tau_bits_first(bits);
        } else {
            class = index * 32u + tau_bits_first_above(bits, class);
        }
        end = tlsf_end_of(heap, class);
    }
    end = tau_bits_hold_pointer(end);  // the fields stay an offset of the load
    tau_word *const payload = tlsf_at(heap, *tlsf_slot_before(end));
    *header = payload[-1];
    if (TAU_CHECK_LEVEL >= 1 &&
        (!tlsf_is_sound(heap, payload, *header, size) || payload[1] != tlsf_link_to(heap, end))) {
        *reason = TAU_OVERWRITTEN;
        return NULL;
    }
    const tau_word next = payload[0];
    if (TAU_ON_LONGEST_PATH(next == tlsf_last_link(heap, end))) {
        *tlsf_slot_before(end) = tlsf_no_block(heap);
        if (!TLSF_IS_KEPT) {
            tlsf_mark_empty(heap, class, marks);
            return payload;
        }
        word = TAU_BITS_BY_ADDRESS ? word : &heap->bitmap[index];
        if (tau_bits_clear(word, bits, tau_bits_moved(marks->one, class))) {
            *tlsf_summary_in(heap, marks) ^= tau_bits_moved(marks->one, index);
        }
    } else {
        if (TAU_CHECK_LEVEL >= 1 && !tlsf_points_back(heap, payload, next)) {
            *reason = TAU_OVERWRITTEN;
            return NULL;
        }
        *tlsf_slot_before(end) = next;
        tlsf_at(heap, next)[1] = tlsf_link_to(heap, end);
    }
    return payload;
}

TAU_SHARED tau_word *tlsf_take(struct tau_tlsf *heap, tau_word size, tau_word *header,
                               enum tau_status *reason) {
    struct tlsf_marks marks = tlsf_marks_of(heap);
    tau_word *const payload = tlsf_take_with(heap, size, header, reason, &marks);
    tlsf_leave(heap, &marks);
    return payload;
}

// Makes PAYLOAD, an unlisted free block with HEADER (its size | TLSF_FREE), a used block of SIZE
// with FLAGS. The remainder is listed if it is large enough for a block: by `tlsf_insert` if MARKS
// is NULL. Returns the bytes kept.
TAU_INLINE tau_word tlsf_keep_with(struct tau_tlsf *heap, tau_word *payload, tau_word header,
                                   tau_word size, tau_word flags, struct tlsf_marks *marks) {
    TAU_ASSERT((header & ~TLSF_SIZE_MASK) == TLSF_FREE);
    TAU_ASSERT(header >= size);
    const tau_word rest = header - size;
    if (TAU_ON_LONGEST_PATH((tau_signed_word)tlsf_key_of(rest) >= (tau_signed_word)TLSF_KEY_MIN)) {
        payload[-1] = size | flags;
        if (marks != NULL) {
            tlsf_insert_with(heap, tlsf_after(payload, size), rest, marks);
        } else {
            tlsf_insert(heap, tlsf_after(payload, size), rest);
        }
        return size;
    }
    payload[-1] = (header - TLSF_FREE) | flags;
    tlsf_after(payload, header - TLSF_FREE)[-1] &= ~TLSF_PREVIOUS_FREE;
    return header - TLSF_FREE;
}

TAU_SHARED tau_word tlsf_keep(struct tau_tlsf *heap, tau_word *payload, tau_word header,
                              tau_word size, tau_word flags) {
#ifdef __OPTIMIZE_SIZE__
    return tlsf_keep_with(heap, payload, header, size, flags, NULL);
#else
    struct tlsf_marks marks = tlsf_marks_of(heap);
    const tau_word kept = tlsf_keep_with(heap, payload, header, size, flags, &marks);
    tlsf_leave(heap, &marks);
    return kept;
#endif
}

// Adds BYTES, which may be negative modulo 2^TAU_WORD_BITS, to the bytes of used blocks.
TAU_INLINE void tlsf_count_used(struct tau_tlsf *heap, tau_word bytes) {
    if (TAU_STATISTICS) {
        tlsf_fields_of(heap)->used_bytes += bytes;
    }
}

// Called by free: use can only peak right before a free, so malloc need not update the peak.
TAU_INLINE void tlsf_note_peak(struct tau_tlsf *heap) {
    if (TAU_STATISTICS && TAU_ON_LONGEST_PATH(tlsf_fields_of(heap)->used_bytes >
                                              tlsf_fields_of(heap)->peak_used_bytes)) {
        tlsf_fields_of(heap)->peak_used_bytes = tlsf_fields_of(heap)->used_bytes;
    }
}

#endif
