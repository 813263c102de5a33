// The lists of free blocks, one per class, and the bitmap that finds the first non-empty list. Only
// core/tlsf.c and the heaps on pages include this.
#ifndef TAU_TLSF_LIST_H
#define TAU_TLSF_LIST_H

#include "core/private/heap/tlsf_block.h"
#include "core/private/heap/tlsf_check.h"
#include "core/private/heap/tlsf_sound.h"

// Clears the bit of the list at BIT of word INDEX, which has lost its last block.
TAU_INLINE void mark_empty(struct tau_tlsf *heap, unsigned index, unsigned bit) {
    const uint32_t left = heap->bitmap[index] ^ tau_bits_mask(bit);
    TAU_ASSERT(index < fields_of(heap)->words);
    TAU_ASSERT(bit < 32);
    heap->bitmap[index] = left;
    if (ON_LONGEST_PATH(left == 0)) {
        fields_of(heap)->summary ^= tau_bits_mask(index);
    }
}

// Makes PAYLOAD a free block, first in its list. HEADER is its size | FREE.
TAU_INLINE void insert(struct tau_tlsf *heap, tau_word *payload, tau_word header) {
    const tau_word size = header - FREE;
    const tau_word key = key_of(header);
    TAU_ASSERT(size >= BLOCK_MIN_BYTES);
    TAU_ASSERT((size & ~SIZE_MASK) == 0);
    const unsigned level = fields_of(heap)->second_level_bits;
    const unsigned shift = tau_bits_log2(key >> level);
    const unsigned class = (shift << level) + (unsigned)(key >> shift);
    tau_word *const head = head_of(heap, class);
    const tau_word next = *head;

    payload[-1] = header;
    after(payload, size)[-2] = size;
    payload[0] = next;
    payload[1] = link_to(heap, head);
    *head = link_to(heap, payload);
    if (ON_LONGEST_PATH(next == 0)) {
        heap->bitmap[class >> 5] |= tau_bits_mask(class & 31u);
        fields_of(heap)->summary |= tau_bits_mask(class >> 5);
    } else {
        at(heap, next)[1] = link_to(heap, payload);
    }
}

// Removes a free block from its list. Its `back` says whether the list's head is its only other
// link, so no class is computed.
TAU_INLINE void unlink(struct tau_tlsf *heap, tau_word *payload) {
    TAU_ASSERT((payload[-1] & FREE) != 0);
    const tau_word next = payload[0];
    const tau_word back = payload[1];
    tau_word *const slot = at(heap, back);
    TAU_ASSERT(*slot == link_to(heap, payload));
    *slot = next;
    if (ON_LONGEST_PATH(next == 0)) {
        const uintptr_t class = ((uintptr_t)head_of(heap, 0) - (uintptr_t)slot) / WORD_BYTES;
        if (ON_LONGEST_PATH(class < fields_of(heap)->classes)) {
            mark_empty(heap, (unsigned)class >> 5, (unsigned)class & 31u);
        }
    } else {
        at(heap, next)[1] = back;
    }
}

// As `unlink`, after a check of both links. Returns false, with nothing changed, if one was
// overwritten.
TAU_INLINE bool unlink_checked(struct tau_tlsf *heap, tau_word *payload) {
    const tau_word next = payload[0];
    const tau_word back = payload[1];
    tau_word *const slot = at(heap, back);
    const uintptr_t class = class_of_head(heap, slot);
    TAU_ASSERT((payload[-1] & FREE) != 0);
    if (ON_LONGEST_PATH(class < fields_of(heap)->classes)) {
        if (*slot != link_to(heap, payload)) {
            return false;
        }
        if (ON_LONGEST_PATH(next == 0)) {
            *slot = 0;
            mark_empty(heap, (unsigned)class >> 5, (unsigned)class & 31u);
            return true;
        }
        if (!points_back(tau_bits_hold_pointer(heap), payload, next)) {
            return false;
        }
    } else if (!is_inside_list(heap, payload)) {
        return false;
    }
    *slot = next;
    if (next != 0) {
        at(heap, next)[1] = back;
    }
    return true;
}

// Removes a block of at least SIZE bytes from its list and sets *HEADER to its header. It takes the
// first block of the size's class if that is large enough. Otherwise it takes the first block of
// the next non-empty class, in which every block is. Returns NULL with the reason if there is none
// or if the block found was overwritten.
TAU_INLINE tau_word *take(struct tau_tlsf *heap, tau_word size, tau_word *header,
                          enum tau_status *reason) {
    const tau_word key = key_of(size);
    const unsigned level = fields_of(heap)->second_level_bits;
    const unsigned shift = tau_bits_log2(key >> level);
    const tau_word leading = key >> shift;
    unsigned class = (shift << level) + (unsigned)leading;
    unsigned index;
    unsigned bit;
    tau_word *payload;
    TAU_ASSERT(class < fields_of(heap)->classes);

    if (ON_LONGEST_PATH(leading << shift != key)) {
        const tau_word probed = *head_of(heap, class);
        payload = at(heap, probed);
        if (probed != 0 && has_room(payload[-1], size)) {
            index = class >> 5;
            bit = class & 31u;
            goto found;
        }
        class += 1;
    }
    index = class >> 5;
    const uint32_t word = heap->bitmap[index] & tau_bits_from(class & 31u);
    if (ON_LONGEST_PATH(word == 0)) {
        const uint32_t above = fields_of(heap)->summary & tau_bits_above(index);
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
    payload = at(heap, *head_of(heap, class));
found:;
    tau_word *const head = head_of(heap, class);
    *header = payload[-1];
    if (TAU_CHECK_LEVEL >= 1 &&
        (!is_sound(heap, payload, *header, size) || payload[1] != link_to(heap, head))) {
        *reason = TAU_OVERWRITTEN;
        return NULL;
    }
    const tau_word next = payload[0];
    if (ON_LONGEST_PATH(next == 0)) {
        *head = 0;
        mark_empty(heap, index, bit);
    } else {
        if (TAU_CHECK_LEVEL >= 1 && !points_back(tau_bits_hold_pointer(heap), payload, next)) {
            *reason = TAU_OVERWRITTEN;
            return NULL;
        }
        *head = next;
        at(heap, next)[1] = link_to(heap, head);
    }
    return payload;
}

// Makes PAYLOAD, an unlisted free block with HEADER (its size | FREE), a used block of SIZE with
// FLAGS. The remainder is listed if it is large enough for a block. Returns the bytes kept.
TAU_INLINE tau_word keep(struct tau_tlsf *heap, tau_word *payload, tau_word header, tau_word size,
                         tau_word flags) {
    TAU_ASSERT((header & ~SIZE_MASK) == FREE);
    TAU_ASSERT(header >= size);
    const tau_word rest = header - size;
    if (ON_LONGEST_PATH((tau_signed_word)key_of(rest) > 0)) {
        payload[-1] = size | flags;
        insert(heap, after(payload, size), rest);
        return size;
    }
    payload[-1] = (header - FREE) | flags;
    after(payload, header - FREE)[-1] &= ~PREVIOUS_FREE;
    return header - FREE;
}

// Called by free: use can only peak right before a free, so malloc need not update the peak.
TAU_INLINE void note_peak(struct tau_tlsf *heap) {
    if (ON_LONGEST_PATH(fields_of(heap)->used_bytes > fields_of(heap)->peak_used_bytes)) {
        fields_of(heap)->peak_used_bytes = fields_of(heap)->used_bytes;
    }
}

#endif
