// A heap on pages as the calls that all such heaps share see it, and the check of an object. The
// check must not follow a false header, which may lead to an unmapped page.
#ifndef TAU_PAGED_OBJECT_H
#define TAU_PAGED_OBJECT_H

#include "core/private/heap/tlsf_inside.h"
#include "core/private/pages/paged_edges.h"

// A heap as its calls see it.
struct paged {
    void *heap;
    struct tau_tlsf *blocks;
    uintptr_t origin;
};

// Position of a block that left use. START and END are its edges. LOW and HIGH are the edges of the
// free block that now contains it. END lies inside that free block only if the next block was free
// too.
struct paged_freed {
    uint32_t start;
    uint32_t end;
    uint32_t low;
    uint32_t high;
    const tau_word *behind;  // payload of the next block
};

// Result of a cut.
enum paged_cutting {
    PAGED_CUT_MADE,
    PAGED_CUT_REFUSED,        // final
    PAGED_CUT_WITHOUT_FRAME,  // no frame is ready; with MAY_CLEAN: no frame is left
};

// The functions in which the heaps differ. HEAP is the heap. A function that refuses returns false,
// with nothing changed.
struct paged_paging {
    // The self test, with the lock held.
    bool (*invariants_hold)(const void *heap);
    // Whether the header in front of BLOCK may be read: BLOCK is aligned and its page is mapped.
    bool (*has_header)(const void *heap, const tau_word *block);
    // Maps and opens the pages that CUT, at the front of a free block, needs, or changes nothing.
    // MAY_CLEAN: a frame is zeroed if none is ready.
    enum paged_cutting (*cut)(void *heap, struct paged_cut cut, bool may_clean);
    // Ends a malloc that `cut` left without a frame. It zeroes a frame and ends as
    // paged_malloc_again, or it lists the block again. Not inlined, so that malloc itself makes no
    // call and saves few registers.
    void *(*malloc_again)(void *heap, tau_word *payload, size_t size_bytes);
    // As `cut`, inside a free block whose edge is LOW. Zeroes frames.
    bool (*cut_inside)(void *heap, struct paged_cut cut, uint32_t low);
    // Moves the boundary behind a used block with the edges START and CUT.start to CUT.split. It
    // may refuse, and it may zero a frame.
    bool (*move_end)(void *heap, uint32_t start, struct paged_cut cut);
    // Releases the pages of a block that left use. The block is already listed, so its header is
    // written.
    void (*give_back)(void *heap, struct paged_freed freed);
    // Why POINTER, whose block would be BLOCK, is no object: paged_misused_at. Not inlined.
    enum tau_status (*misused)(void *heap, tau_word *block, void *pointer);
};

// Whether tlsf_is_used on BLOCK and its neighbors would read mapped pages only. A false header may
// lead anywhere.
TAU_INLINE bool paged_can_look_at(struct paged paged, const struct paged_paging *paging,
                                  tau_word *block) {
    if (!paging->has_header(paged.heap, block)) {
        return false;
    }
    const tau_word header = block[-1];
    tau_word *const next = tlsf_after(block, header & TLSF_SIZE_MASK);
    TAU_ASSERT(block != NULL);
    if (!paging->has_header(paged.heap, next) ||
        ((next[-1] & TLSF_FREE) != 0 &&
         !paging->has_header(paged.heap, tlsf_after(next, tlsf_size_of(next))))) {
        return false;
    }
    return (header & TLSF_PREVIOUS_FREE) == 0 ||
           paging->has_header(paged.heap, tlsf_before(block, block[-2] & TLSF_SIZE_MASK));
}

// Whether BLOCK is the block of an object. *USED is what free needs of it. Check level 0 does not
// verify it.
TAU_INLINE bool paged_is_object(struct paged paged, const struct paged_paging *paging,
                                tau_word *block, struct tlsf_used *used) {
    TAU_ASSERT(paged.blocks != NULL);
    if (TAU_CHECK_LEVEL == 0) {
        *used = tlsf_look_at(block);
        return true;
    }
    return paged_can_look_at(paged, paging, block) && tlsf_is_used(paged.blocks, block, used);
}

// Why POINTER, whose block would be BLOCK, is no object. Reports it and releases the lock.
TAU_INLINE enum tau_status paged_misused_at(struct paged paged, const struct paged_paging *paging,
                                            tau_word *block, void *pointer) {
    enum tau_status reason = TAU_OVERWRITTEN;
    TAU_ASSERT(paged.blocks != NULL);
    TAU_ASSERT(pointer != NULL);
    if (paged_can_look_at(paged, paging, block)) {
        return tlsf_misused(paged.blocks, block);
    }
    if (((uintptr_t)pointer & (TAU_ALIGNMENT - 1)) != 0) {
        reason = TAU_MISALIGNED_POINTER;
    } else if (!paging->has_header(paged.heap, block) ||
               tlsf_size_of(block) < TLSF_BLOCK_MIN_BYTES) {
        reason = TAU_FOREIGN_POINTER;
    } else if ((block[-1] & TLSF_FREE) != 0) {
        reason = TAU_DOUBLE_FREE;
    }
    TAU_PORT_UNLOCK(paged.blocks);
    TAU_PORT_MISUSE(paged.blocks, pointer, reason);
    return reason;
}

TAU_INLINE size_t paged_usable_size(struct paged paged, const struct paged_paging *paging,
                                    const void *pointer) {
    tau_word *const block = paged_block_of((void *)(uintptr_t)pointer);
    size_t bytes = 0;
    TAU_ASSERT(paged.blocks != NULL);
    TAU_PORT_LOCK(paged.blocks);
    if (pointer != NULL && paged_can_look_at(paged, paging, block) &&
        tau_tlsf_check_locked(paged.blocks, block) == TAU_OK) {
        bytes = tlsf_usable_bytes(block) - ((uintptr_t)pointer - (uintptr_t)block);
        TAU_ASSERT(tlsf_usable_bytes(block) >= bytes);
    }
    TAU_PORT_UNLOCK(paged.blocks);
    return bytes;
}

#endif
