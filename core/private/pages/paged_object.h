// Whether a pointer is an object of a heap on pages. A false header may lead to an unmapped page:
// the page of each header is looked at first.
#ifndef TAU_PAGED_OBJECT_H
#define TAU_PAGED_OBJECT_H

#include "core/private/heap/tlsf_inside.h"
#include "core/private/pages/paged_edges.h"

// Whether the header before BLOCK may be read: BLOCK is aligned and its page is mapped.
typedef bool paged_has_header(const void *heap, const tau_word *block);

// Whether tlsf_is_used on BLOCK and its neighbors would read mapped pages only.
TAU_SHARED bool paged_can_look_at(const void *heap, paged_has_header *has_header, tau_word *block) {
    if (!has_header(heap, block)) {
        return false;
    }
    const tau_word header = block[-1];
    tau_word *const next = tlsf_after(block, header & TLSF_SIZE_MASK);
    TAU_ASSERT(block != NULL);
    if (!has_header(heap, next) ||
        ((next[-1] & TLSF_FREE) != 0 && !has_header(heap, tlsf_after(next, tlsf_size_of(next))))) {
        return false;
    }
    return (header & TLSF_PREVIOUS_FREE) == 0 ||
           has_header(heap, tlsf_before(block, block[-2] & TLSF_SIZE_MASK));
}

// Why POINTER, whose block would be BLOCK, is not an object. Reports it and releases the lock.
TAU_SHARED enum tau_status paged_misused(const void *heap, paged_has_header *has_header,
                                         struct tau_tlsf *blocks, tau_word *block, void *pointer) {
    enum tau_status reason = TAU_OVERWRITTEN;
    TAU_ASSERT(pointer != NULL);
    if (paged_can_look_at(heap, has_header, block)) {
        return tlsf_misused(blocks, block);
    }
    if (((uintptr_t)pointer & (TAU_ALIGNMENT - 1)) != 0) {
        reason = TAU_MISALIGNED_POINTER;
    } else if (!has_header(heap, block) || tlsf_size_of(block) < TLSF_BLOCK_MIN_BYTES) {
        reason = TAU_FOREIGN_POINTER;
    } else if ((block[-1] & TLSF_FREE) != 0) {
        reason = TAU_DOUBLE_FREE;
    }
    TAU_PORT_UNLOCK(blocks);
    TAU_PORT_MISUSE(blocks, pointer, reason);
    return reason;
}

// Whether BLOCK is the block of an object. *USED is what free needs of it. Check level 0 does not
// verify it.
TAU_SHARED bool paged_is_object(const void *heap, paged_has_header *has_header,
                                const struct tau_tlsf *blocks, tau_word *block,
                                struct tlsf_used *used) {
    if (TAU_CHECK_LEVEL == 0) {
        *used = tlsf_look_at(block);
        return true;
    }
    return paged_can_look_at(heap, has_header, block) && tlsf_is_used(blocks, block, used);
}

TAU_SHARED size_t paged_usable_size(const void *heap, paged_has_header *has_header,
                                    struct tau_tlsf *blocks, const void *pointer) {
    tau_word *const block = paged_block_of((void *)(uintptr_t)pointer);
    size_t bytes = 0;
    TAU_PORT_LOCK(blocks);
    if (pointer != NULL && paged_can_look_at(heap, has_header, block) &&
        tau_tlsf_check_locked(blocks, block) == TAU_OK) {
        bytes = tlsf_usable_bytes(block) - ((uintptr_t)pointer - (uintptr_t)block);
        TAU_ASSERT(tlsf_usable_bytes(block) >= bytes);
    }
    TAU_PORT_UNLOCK(blocks);
    return bytes;
}

#endif
