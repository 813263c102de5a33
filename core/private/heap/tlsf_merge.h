// What free does to the lists: it removes the free neighbors of a block, or changes nothing. Only
// core/tlsf.c and the heaps on pages include this.
#ifndef TAU_TLSF_MERGE_H
#define TAU_TLSF_MERGE_H

#include "core/private/heap/tlsf_list.h"

// A block that leaves use, merged with its free neighbors. HEADER is its size | TLSF_FREE, or the
// size alone if it is the wilderness that has to take it. If a neighbor's link was overwritten,
// PAYLOAD is NULL, and HEADER says whether the next block was already removed.
struct tlsf_merged {
    tau_word *payload;
    tau_word header;
};

// Removes the free neighbors of PAYLOAD's used block from their lists. free has checked the block.
// The result is in no list yet. If a link was overwritten, the caller must call `tlsf_unmerged`.
// The wilderness takes only a block that IS_OF_POOL.
TAU_INLINE struct tlsf_merged tlsf_merge_with(struct tau_tlsf *heap, tau_word *payload,
                                              struct tlsf_used used, bool is_of_pool,
                                              struct tlsf_marks *marks) {
    tau_word *const next = tlsf_after(payload, used.size);
    // Level 0 has read no sizes yet. It decides by the flags.
    const tau_word next_header = next[-1];
    const bool is_next_free =
        TAU_CHECK_LEVEL == 0 ? (next_header & TLSF_FREE) != 0 : used.next_size != 0;
    const bool is_previous_free =
        TAU_CHECK_LEVEL == 0 ? (payload[-1] & TLSF_PREVIOUS_FREE) != 0 : used.previous_size != 0;
    tau_word header;  // of the result
    TAU_ASSERT(used.size == tlsf_size_of(payload));
    TAU_ASSERT(!TAU_STATISTICS || tlsf_fields_of(heap)->used_bytes >= used.size);
    TAU_ASSERT((payload[-1] & TLSF_FREE) == 0);
    TAU_ASSERT((next[-1] & TLSF_PREVIOUS_FREE) == 0);
    if (TAU_CHECK_LEVEL == 0) {  // nothing is refused later, and here it is cheapest
        tlsf_note_peak(heap);
        tlsf_count_used(heap, 0 - used.size);
    }
    if (TAU_ON_LONGEST_PATH(is_next_free)) {
        if (TAU_CHECK_LEVEL == 0) {
            tlsf_unlink_with(heap, next, marks);
        } else if (!tlsf_unlink_checked_with(heap, next, marks)) {
            return (struct tlsf_merged){NULL, false};
        }
        header = used.size + (TAU_CHECK_LEVEL == 0 ? next_header : used.next_size + TLSF_FREE);
    } else {
        next[-1] = next_header | TLSF_PREVIOUS_FREE;
        header = used.size + (is_of_pool && tlsf_is_end(heap, next) ? 0 : TLSF_FREE);
    }
    if (TAU_ON_LONGEST_PATH(is_previous_free)) {
        const tau_word previous_size = TAU_CHECK_LEVEL == 0 ? payload[-2] : used.previous_size;
        payload = tlsf_before(payload, previous_size);
        if (TAU_CHECK_LEVEL == 0) {
            tlsf_unlink_with(heap, payload, marks);
        } else if (!tlsf_unlink_checked_with(heap, payload, marks)) {
            return (struct tlsf_merged){NULL, true};
        }
        header += previous_size;
    }
    if (TAU_CHECK_LEVEL >= 1) {
        if (TAU_CHECK_LEVEL >= 2) {
            *used.canary = 0;  // so that no stale pointer finds it
        }
        tlsf_note_peak(heap);
        tlsf_count_used(heap, 0 - used.size);
    }
    return (struct tlsf_merged){payload, header};
}

TAU_SHARED struct tlsf_merged tlsf_merge(struct tau_tlsf *heap, tau_word *payload,
                                         struct tlsf_used used) {
    struct tlsf_marks marks = tlsf_marks_of(heap);
    const struct tlsf_merged merged = tlsf_merge_with(heap, payload, used, false, &marks);
    tlsf_leave(heap, &marks);
    return merged;
}

// Ends the free of POINTER, in PAYLOAD's block, after `tlsf_merge` found an overwritten link. If
// the next block IS_MERGED, it is listed again by its own links, so that nothing is changed.
// Releases the lock and reports.
static __attribute__((noinline, unused)) enum tau_status
tlsf_unmerged(struct tau_tlsf *heap, tau_word *payload, void *pointer, bool is_merged) {
    tau_word *const behind = tlsf_after(payload, tlsf_size_of(payload));
    TAU_ASSERT((payload[-1] & TLSF_FREE) == 0);
    TAU_ASSERT(TAU_CHECK_LEVEL >= 1);
    TAU_ASSERT(behind > payload);
    if (is_merged && (behind[-1] & TLSF_PREVIOUS_FREE) != 0) {  // as merge left a block in use
        behind[-1] &= ~TLSF_PREVIOUS_FREE;
    } else if (is_merged) {
        const tau_word next = behind[0];
        const uintptr_t class = tlsf_class_at(heap, behind[1]);
        tau_word *const slot = tlsf_slot_at(heap, behind[1]);
        *slot = tlsf_link_to(heap, behind);
        if (next != 0) {
            tlsf_at(heap, next)[1] = tlsf_back_to(heap, behind);
        } else if (class < tlsf_fields_of(heap)->classes) {
            heap->bitmap[class >> 5] |= tau_bits_mask((unsigned)class & 31u);
            tlsf_fields_of(heap)->summary |= tau_bits_mask((unsigned)class >> 5);
        }
    }
    TAU_PORT_UNLOCK(heap);
    TAU_PORT_MISUSE(heap, pointer, TAU_OVERWRITTEN);
    return TAU_OVERWRITTEN;
}

#endif
