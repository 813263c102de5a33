// The lists of free blocks, one per class, and the bitmap that finds the first non-empty list. Only
// core/tlsf.c and the heaps on pages include this.
#ifndef TAU_TLSF_LIST_H
#define TAU_TLSF_LIST_H

#include "core/private/bits_map.h"
#include "core/private/heap/tlsf_block.h"
#include "core/private/heap/tlsf_check.h"
#include "core/private/heap/tlsf_request.h"

// Clears the bit of the list at BIT of word INDEX, which has lost its last block.
TAU_INLINE void tlsf_mark_empty(struct tau_tlsf *heap, unsigned index, unsigned bit) {
    const uint32_t left = heap->bitmap[index] ^ tau_bits_mask(bit);
    TAU_ASSERT(index < tlsf_fields_of(heap)->words);
    TAU_ASSERT(bit < 32);
    heap->bitmap[index] = left;
    if (TAU_ON_LONGEST_PATH(left == 0)) {
        tlsf_fields_of(heap)->summary ^= tau_bits_mask(index);
    }
}

// Makes PAYLOAD a free block, first in its list. HEADER is its size | TLSF_FREE.
TAU_INLINE void tlsf_insert(struct tau_tlsf *heap, tau_word *payload, tau_word header) {
    const tau_word size = header - TLSF_FREE;
    const tau_word key = tlsf_key_of(header);
    TAU_ASSERT(size >= TLSF_BLOCK_MIN_BYTES);
    TAU_ASSERT((size & ~TLSF_SIZE_MASK) == 0);
    const unsigned level = tlsf_fields_of(heap)->second_level_bits;
    const unsigned shift = tau_bits_log2(key >> level);
    const unsigned class = (shift << level) + (unsigned)(key >> shift);
    tau_word *const head = tlsf_head_of(heap, class);
    const tau_word next = *head;

    payload[-1] = header;
    tlsf_after(payload, size)[-2] = size;
    payload[0] = next;
    payload[1] = tlsf_link_to(heap, head);
    *head = tlsf_link_to(heap, payload);
    if (TAU_ON_LONGEST_PATH(next == 0)) {
        heap->bitmap[class >> 5] |= tau_bits_mask(class & 31u);
        tlsf_fields_of(heap)->summary |= tau_bits_mask(class >> 5);
    } else {
        tlsf_at(heap, next)[1] = tlsf_link_to(heap, payload);
    }
}

// Removes a free block from its list. Its `back` says whether the list's head is its only other
// link, so no class is computed.
TAU_INLINE void tlsf_unlink(struct tau_tlsf *heap, tau_word *payload) {
    TAU_ASSERT((payload[-1] & TLSF_FREE) != 0);
    const tau_word next = payload[0];
    const tau_word back = payload[1];
    tau_word *const slot = tlsf_at(heap, back);
    TAU_ASSERT(*slot == tlsf_link_to(heap, payload));
    *slot = next;
    if (TAU_ON_LONGEST_PATH(next == 0)) {
        const uintptr_t class =
            ((uintptr_t)tlsf_head_of(heap, 0) - (uintptr_t)slot) / TLSF_WORD_BYTES;
        if (TAU_ON_LONGEST_PATH(class < tlsf_fields_of(heap)->classes)) {
            tlsf_mark_empty(heap, (unsigned)class >> 5, (unsigned)class & 31u);
        }
    } else {
        tlsf_at(heap, next)[1] = back;
    }
}

// As `tlsf_unlink`, after a check of both links. Returns false, with nothing changed, if one was
// overwritten.
TAU_INLINE bool tlsf_unlink_checked(struct tau_tlsf *heap, tau_word *payload) {
    const tau_word next = payload[0];
    const tau_word back = payload[1];
    tau_word *const slot = tlsf_at(heap, back);
    const uintptr_t class = tlsf_class_of_head(heap, slot);
    TAU_ASSERT((payload[-1] & TLSF_FREE) != 0);
    if (TAU_ON_LONGEST_PATH(class < tlsf_fields_of(heap)->classes)) {
        if (*slot != tlsf_link_to(heap, payload)) {
            return false;
        }
        if (TAU_ON_LONGEST_PATH(next == 0)) {
            *slot = 0;
            tlsf_mark_empty(heap, (unsigned)class >> 5, (unsigned)class & 31u);
            return true;
        }
        if (!tlsf_points_back(tau_bits_hold_pointer(heap), payload, next)) {
            return false;
        }
    } else if (!tlsf_is_inside_list(heap, payload)) {
        return false;
    }
    *slot = next;
    if (next != 0) {
        tlsf_at(heap, next)[1] = back;
    }
    return true;
}

// Removes a block of at least SIZE bytes from its list and sets *HEADER to its header. It takes the
// first block of the size's class if that is large enough. Otherwise it takes the first block of
// the next non-empty class, in which every block is. Returns NULL with the reason if there is none
// or if the block found was overwritten.
TAU_INLINE tau_word *tlsf_take(struct tau_tlsf *heap, tau_word size, tau_word *header,
                               enum tau_status *reason) {
    const tau_word key = tlsf_key_of(size);
    const unsigned level = tlsf_fields_of(heap)->second_level_bits;
    const unsigned shift = tau_bits_log2(key >> level);
    const tau_word leading = key >> shift;
    unsigned class = (shift << level) + (unsigned)leading;
    unsigned index;
    unsigned bit;
    tau_word *payload;
    TAU_ASSERT(class < tlsf_fields_of(heap)->classes);

    if (TAU_ON_LONGEST_PATH(leading << shift != key)) {
        const tau_word probed = *tlsf_head_of(heap, class);
        payload = tlsf_at(heap, probed);
        if (probed != 0 && tlsf_has_room(payload[-1], size)) {
            index = class >> 5;
            bit = class & 31u;
            goto found;
        }
        class += 1;
    }
    index = class >> 5;
    const uint32_t word = heap->bitmap[index] & tau_bits_from(class & 31u);
    if (TAU_ON_LONGEST_PATH(word == 0)) {
        const uint32_t above = tlsf_fields_of(heap)->summary & tau_bits_above(index);
        if (above == 0) {
            *reason = TAU_NO_MEMORY;
            return NULL;
        }
        index = tau_bits_first(above);
        bit = tau_bits_first(heap->bitmap[index]);
    } else {
        bit = tau_bits_first(word);
    }
    class = index * 32u + bit;
    payload = tlsf_at(heap, *tlsf_head_of(heap, class));
found:;
    tau_word *const head = tlsf_head_of(heap, class);
    *header = payload[-1];
    if (TAU_CHECK_LEVEL >= 1 &&
        (!tlsf_is_sound(heap, payload, *header, size) || payload[1] != tlsf_link_to(heap, head))) {
        *reason = TAU_OVERWRITTEN;
        return NULL;
    }
    const tau_word next = payload[0];
    if (TAU_ON_LONGEST_PATH(next == 0)) {
        *head = 0;
        tlsf_mark_empty(heap, index, bit);
    } else {
        if (TAU_CHECK_LEVEL >= 1 && !tlsf_points_back(tau_bits_hold_pointer(heap), payload, next)) {
            *reason = TAU_OVERWRITTEN;
            return NULL;
        }
        *head = next;
        tlsf_at(heap, next)[1] = tlsf_link_to(heap, head);
    }
    return payload;
}

// Makes PAYLOAD, an unlisted free block with HEADER (its size | TLSF_FREE), a used block of SIZE
// with FLAGS. The remainder is listed if it is large enough for a block. Returns the bytes kept.
TAU_INLINE tau_word tlsf_keep(struct tau_tlsf *heap, tau_word *payload, tau_word header,
                              tau_word size, tau_word flags) {
    TAU_ASSERT((header & ~TLSF_SIZE_MASK) == TLSF_FREE);
    TAU_ASSERT(header >= size);
    const tau_word rest = header - size;
    if (TAU_ON_LONGEST_PATH((tau_signed_word)tlsf_key_of(rest) >= (tau_signed_word)TLSF_KEY_MIN)) {
        payload[-1] = size | flags;
        tlsf_insert(heap, tlsf_after(payload, size), rest);
        return size;
    }
    payload[-1] = (header - TLSF_FREE) | flags;
    tlsf_after(payload, header - TLSF_FREE)[-1] &= ~TLSF_PREVIOUS_FREE;
    return header - TLSF_FREE;
}

// Called by free: use can only peak right before a free, so malloc need not update the peak.
TAU_INLINE void tlsf_note_peak(struct tau_tlsf *heap) {
    if (TAU_ON_LONGEST_PATH(tlsf_fields_of(heap)->used_bytes >
                            tlsf_fields_of(heap)->peak_used_bytes)) {
        tlsf_fields_of(heap)->peak_used_bytes = tlsf_fields_of(heap)->used_bytes;
    }
}

#endif
