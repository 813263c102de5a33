// What free does to the lists: it removes the free neighbors of a block, or changes nothing. Only
// core/tlsf.c and the heaps on pages include this.
#ifndef TAU_TLSF_MERGE_H
#define TAU_TLSF_MERGE_H

#include "core/private/heap/tlsf_list.h"

// A block that leaves use, merged with its free neighbors. If a neighbor's link was overwritten,
// PAYLOAD is NULL, and SIZE says whether the next block was already removed.
struct merged {
    tau_word *payload;
    tau_word size;
};

// Removes the free neighbors of PAYLOAD's used block from their lists. free has checked the block.
// The result is in no list yet. If a link was overwritten, the caller must call `unmerged`.
TAU_INLINE struct merged merge(struct tau_tlsf *heap, tau_word *payload, struct used used) {
    struct merged merged = {payload, used.size};
    tau_word *const next = after(payload, used.size);
    TAU_ASSERT(used.size == size_of(payload));
    TAU_ASSERT(fields_of(heap)->used_bytes >= used.size);
    TAU_ASSERT((payload[-1] & FREE) == 0);
    TAU_ASSERT((next[-1] & PREVIOUS_FREE) == 0);
    if (TAU_CHECK_LEVEL == 0) {  // nothing is refused later, and here it is cheapest
        note_peak(heap);
        fields_of(heap)->used_bytes -= used.size;
    }
    if (ON_LONGEST_PATH(used.next_size != 0)) {
        if (TAU_CHECK_LEVEL == 0) {
            unlink(heap, next);
        } else if (!unlink_checked(heap, next)) {
            return (struct merged){NULL, false};
        }
        merged.size += used.next_size;
    } else {
        next[-1] |= PREVIOUS_FREE;
    }
    if (ON_LONGEST_PATH(used.previous_size != 0)) {
        merged.payload = before(payload, used.previous_size);
        if (TAU_CHECK_LEVEL == 0) {
            unlink(heap, merged.payload);
        } else if (!unlink_checked(heap, merged.payload)) {
            return (struct merged){NULL, true};
        }
        merged.size += used.previous_size;
    }
    if (TAU_CHECK_LEVEL >= 1) {
        if (TAU_CHECK_LEVEL >= 2) {
            *used.canary = 0;  // so that no stale pointer finds it
        }
        note_peak(heap);
        fields_of(heap)->used_bytes -= used.size;
    }
    return merged;
}

// Ends the free of POINTER, in PAYLOAD's block, after `merge` found an overwritten link. If the
// next block IS_MERGED, it is listed again by its own links, so that nothing is changed. Releases
// the lock and reports.
static __attribute__((noinline, unused)) enum tau_status
unmerged(struct tau_tlsf *heap, tau_word *payload, void *pointer, bool is_merged) {
    tau_word *const behind = after(payload, size_of(payload));
    TAU_ASSERT((payload[-1] & FREE) == 0);
    TAU_ASSERT(TAU_CHECK_LEVEL >= 1);
    TAU_ASSERT(behind > payload);
    if (is_merged && (behind[-1] & PREVIOUS_FREE) != 0) {  // as merge left a block in use
        behind[-1] &= ~PREVIOUS_FREE;
    } else if (is_merged) {
        const tau_word next = behind[0];
        tau_word *const slot = at(heap, behind[1]);
        const uintptr_t class = class_of_head(heap, slot);
        TAU_ASSERT(*slot == next);
        *slot = link_to(heap, behind);
        if (next != 0) {
            at(heap, next)[1] = link_to(heap, behind);
        } else if (class < fields_of(heap)->classes) {
            heap->bitmap[class >> 5] |= tau_bits_mask((unsigned)class & 31u);
            fields_of(heap)->summary |= tau_bits_mask((unsigned)class >> 5);
        }
    }
    TAU_PORT_UNLOCK(heap);
    TAU_PORT_MISUSE(heap, pointer, TAU_OVERWRITTEN);
    return TAU_OVERWRITTEN;
}

#endif
