// A heap on pages as the calls that all such heaps share see it, and how an object of it is looked
// at: what is no header may lead to a page that is not mapped.
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

// Where a block that left use lies: START and END are its edges, LOW and HIGH those of the free
// block that it is part of now. END lies inside that one only if the block behind was free too.
struct freed {
    uint32_t start;
    uint32_t end;
    uint32_t low;
    uint32_t high;
    const tau_word *behind;  // the next block's payload
};

// What became of a cut.
enum cutting {
    CUT_MADE,
    CUT_REFUSED,        // for good
    CUT_WITHOUT_FRAME,  // none is ready, or with leave to zero one, none is left
};

// What the heaps differ in. HEAP is the heap; "refuses" is: false, with nothing changed.
struct paging {
    // The self test, with the lock held.
    bool (*invariants_hold)(const void *heap);
    // Whether the header in front of BLOCK may be read: it is aligned and its page is mapped.
    bool (*has_header)(const void *heap, const tau_word *block);
    // Makes the pages of CUT, at the front of a free block, what they will be, or changes nothing.
    // MAY_CLEAN: a frame is zeroed if none is ready.
    enum cutting (*cut)(void *heap, struct cut cut, bool may_clean);
    // For malloc that `cut` left without a frame: zeroes one and ends as paged_malloc_again, or
    // lists the block again. Not inlined, so that malloc itself calls nothing and saves few
    // registers.
    void *(*malloc_again)(void *heap, tau_word *payload, size_t size_bytes);
    // As `cut`, inside of a free block whose edge is LOW. Zeroes frames.
    bool (*cut_inside)(void *heap, struct cut cut, uint32_t low);
    // Moves the boundary behind a used block with the edges START and CUT.start to CUT.split.
    // Refuses; zeroes a frame.
    bool (*move_end)(void *heap, uint32_t start, struct cut cut);
    // Gives the pages of a block that left use back; it is listed, so its header is written.
    void (*give_back)(void *heap, struct freed freed);
    // Why POINTER is no object, whose block would be BLOCK: misused_at. Not inlined.
    enum tau_status (*misused)(void *heap, tau_word *block, void *pointer);
};

// Whether a look at BLOCK and its neighbors, as is_used takes it, stays in mapped pages: what is no
// header may lead anywhere.
TAU_INLINE bool can_look_at(struct paged paged, const struct paging *paging, tau_word *block) {
    if (!paging->has_header(paged.heap, block)) {
        return false;
    }
    const tau_word header = block[-1];
    tau_word *const next = after(block, header & SIZE_MASK);
    TAU_ASSERT(block != NULL);
    if (!paging->has_header(paged.heap, next) ||
        ((next[-1] & FREE) != 0 && !paging->has_header(paged.heap, after(next, size_of(next))))) {
        return false;
    }
    return (header & PREVIOUS_FREE) == 0 ||
           paging->has_header(paged.heap, before(block, block[-2] & SIZE_MASK));
}

// Whether BLOCK is an object's; *USED is what free needs of it. Level 0 believes it.
TAU_INLINE bool is_object(struct paged paged, const struct paging *paging, tau_word *block,
                          struct used *used) {
    TAU_ASSERT(paged.blocks != NULL);
    if (TAU_CHECK_LEVEL == 0) {
        *used = look_at(block);
        return true;
    }
    return can_look_at(paged, paging, block) && is_used(paged.blocks, block, used);
}

// Why POINTER, whose block would be BLOCK, is no object; reports it and leaves the lock.
TAU_INLINE enum tau_status misused_at(struct paged paged, const struct paging *paging,
                                      tau_word *block, void *pointer) {
    enum tau_status reason = TAU_OVERWRITTEN;
    TAU_ASSERT(paged.blocks != NULL);
    TAU_ASSERT(pointer != NULL);
    if (can_look_at(paged, paging, block)) {
        return misused(paged.blocks, block);
    }
    if (((uintptr_t)pointer & (TAU_ALIGNMENT - 1)) != 0) {
        reason = TAU_MISALIGNED_POINTER;
    } else if (!paging->has_header(paged.heap, block) || size_of(block) < BLOCK_MIN_BYTES) {
        reason = TAU_FOREIGN_POINTER;
    } else if ((block[-1] & FREE) != 0) {
        reason = TAU_DOUBLE_FREE;
    }
    TAU_PORT_UNLOCK(paged.blocks);
    TAU_PORT_MISUSE(paged.blocks, pointer, reason);
    return reason;
}

TAU_INLINE size_t paged_usable_size(struct paged paged, const struct paging *paging,
                                    const void *pointer) {
    tau_word *const block = block_of((void *)(uintptr_t)pointer);
    size_t bytes = 0;
    TAU_ASSERT(paged.blocks != NULL);
    TAU_PORT_LOCK(paged.blocks);
    if (pointer != NULL && can_look_at(paged, paging, block) &&
        tau_tlsf_check_locked(paged.blocks, block) == TAU_OK) {
        bytes = usable_bytes(block) - ((uintptr_t)pointer - (uintptr_t)block);
        TAU_ASSERT(usable_bytes(block) >= bytes);
    }
    TAU_PORT_UNLOCK(paged.blocks);
    return bytes;
}

#endif
