// Steps of the calls of a heap on pages that concern blocks only, not pages: from a free block to
// an object, and from an object to a free block. page_heap.c joins them with its own steps, which
// map and release pages.
#ifndef TAU_PAGED_CALLS_H
#define TAU_PAGED_CALLS_H

#include "core/private/pages/paged_edges.h"

// ---- Handing out -------------------------------------------------------------------------------

// Result of a heap's step that maps the pages of a cut.
enum paged_cutting {
    PAGED_CUT_MADE,
    PAGED_CUT_REFUSED,        // final
    PAGED_CUT_WITHOUT_FRAME,  // no frame is ready; if frames may be zeroed: no frame is left
};

// Takes a free block for SIZE_BYTES and computes its cut. The caller then holds the lock. Returns
// NULL, without the lock, if the caller must refuse for *REASON.
TAU_SHARED tau_word *paged_take(struct tau_tlsf *blocks, uintptr_t origin, size_t size_bytes,
                                struct paged_cut *cut, enum tau_status *reason) {
    const tau_word size = tlsf_needed(blocks, size_bytes, 0);
    tau_word header;
    *reason = TAU_NO_MEMORY;
    if (size == 0) {
        return NULL;
    }
    TAU_PORT_LOCK(blocks);
    tau_word *const payload = tlsf_take(blocks, size, &header, reason);
    if (payload == NULL) {
        TAU_PORT_UNLOCK(blocks);
        return NULL;
    }
    *cut = paged_cut_of(origin, payload, header, size);
    return payload;
}

// The cut of a block that `paged_take` took for SIZE_BYTES.
TAU_SHARED struct paged_cut paged_cut_again(struct tau_tlsf *blocks, uintptr_t origin,
                                            const tau_word *payload, size_t size_bytes) {
    TAU_ASSERT((payload[-1] & TLSF_FLAGS) == TLSF_FREE);
    return paged_cut_of(origin, payload, payload[-1], tlsf_needed(blocks, size_bytes, 0));
}

// A free block and the aligned object that will lie in it.
struct paged_aligned {
    tau_word *found;  // the free block
    tau_word *block;  // the object's block, after a gap of FOUND or at its start
    void *pointer;    // the object
    struct paged_cut cut;
};

// As paged_take, at a multiple of ALIGNMENT, a power of two above the usual alignment.
TAU_SHARED bool paged_take_aligned(struct tau_tlsf *blocks, uintptr_t origin, size_t alignment,
                                   size_t size_bytes, struct paged_aligned *taken,
                                   enum tau_status *reason) {
    const tau_word size = tlsf_needed(blocks, size_bytes, PAGED_START_GAP);
    const size_t room = (size_t)tlsf_block_max_bytes(blocks) - size;
    tau_word header;
    TAU_ASSERT(tau_bits_is_power_of_two(alignment));
    *reason = TAU_NO_MEMORY;
    if (size == 0 || alignment > room / 4) {
        return false;
    }
    TAU_PORT_LOCK(blocks);
    taken->found = tlsf_take(blocks, size + PAGED_GAP_BYTES(alignment), &header, reason);
    if (taken->found == NULL) {
        TAU_PORT_UNLOCK(blocks);
        return false;
    }
    taken->block = paged_aligned_block(taken->found, alignment, &taken->pointer);
    const tau_word gap = (tau_word)((uintptr_t)taken->block - (uintptr_t)taken->found);
    TAU_ASSERT(gap == 0 || gap >= TLSF_BLOCK_MIN_BYTES);
    taken->cut = paged_cut_of(origin, taken->block, header - gap, size);
    return true;
}

// Returns the object at POINTER to the caller and releases the lock. BLOCK was cut as CUT says.
TAU_SHARED void *paged_hand_out(struct tau_tlsf *blocks, tau_word *block, struct paged_cut cut,
                                tau_word flags, void *pointer, size_t size_bytes,
                                size_t alignment) {
    paged_cut_write(blocks, block, cut, flags);
    tlsf_count_used(blocks, cut.size);
    TAU_ASSERT(!paged_starts_page(block) && paged_block_of(pointer) == block);
    TAU_ASSERT(((uintptr_t)pointer & (alignment - 1)) == 0);
    TAU_ASSERT(tlsf_usable_bytes(block) - ((uintptr_t)pointer - (uintptr_t)block) >= size_bytes);
    tlsf_seal(blocks, block);
    TAU_PORT_TRACE(blocks, NULL, pointer, size_bytes, alignment);
    TAU_PORT_UNLOCK(blocks);
    return pointer;
}

// As paged_hand_out, for TAKEN. Lists the gap before the object's block.
TAU_SHARED void *paged_hand_out_aligned(struct tau_tlsf *blocks, struct paged_aligned taken,
                                        size_t alignment, size_t size_bytes) {
    const tau_word gap = (tau_word)((uintptr_t)taken.block - (uintptr_t)taken.found);
    if (gap != 0) {
        tlsf_insert(blocks, taken.found, gap + TLSF_FREE);
    }
    return paged_hand_out(blocks, taken.block, taken.cut, gap != 0 ? TLSF_PREVIOUS_FREE : 0,
                          taken.pointer, size_bytes, alignment);
}

// Lists the block at PAYLOAD again, which was taken and not cut. Releases the lock and refuses.
static __attribute__((noinline)) void *paged_put_back(struct tau_tlsf *blocks, tau_word *payload,
                                                      size_t size_bytes) {
    TAU_ASSERT((payload[-1] & TLSF_FLAGS) == TLSF_FREE);
    TAU_ASSERT(!paged_starts_page(payload));
    tlsf_insert(blocks, payload, payload[-1]);
    TAU_PORT_UNLOCK(blocks);
    return tlsf_refuse(blocks, size_bytes, TAU_NO_MEMORY);
}

// ---- Taking back and resizing ------------------------------------------------------------------

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

// Merges BLOCK, which leaves use, with its free neighbors and lists the result. Returns false if a
// neighbor's link was overwritten: the caller must call `tlsf_unmerged` with *MERGED.
TAU_SHARED bool paged_merge(struct tau_tlsf *blocks, uintptr_t origin, tau_word *block,
                            struct tlsf_used used, struct paged_freed *freed,
                            struct tlsf_merged *merged) {
    freed->start = paged_edge_of(origin, block);
    freed->end = paged_edge_of(origin, tlsf_after(block, used.size));
    *merged = tlsf_merge(blocks, block, used);
    if (TAU_CHECK_LEVEL >= 1 && merged->payload == NULL) {
        return false;
    }
    freed->behind = tlsf_after(merged->payload, merged->header - TLSF_FREE);
    freed->low = paged_edge_of(origin, merged->payload);
    freed->high = paged_edge_of(origin, freed->behind);
    tlsf_insert(blocks, merged->payload, merged->header);
    TAU_ASSERT(freed->low <= freed->start && freed->start <= freed->end);
    TAU_ASSERT(freed->end <= freed->high);
    return true;
}

// Ends the free of POINTER and releases the lock.
TAU_SHARED enum tau_status paged_taken_back(struct tau_tlsf *blocks, void *pointer) {
    TAU_PORT_TRACE(blocks, pointer, NULL, 0, 0);
    TAU_PORT_UNLOCK(blocks);
    return TAU_OK;
}

// Writes the CUT with which the used BLOCK grows into NEXT, its free next neighbor.
TAU_SHARED void paged_grow(struct tau_tlsf *blocks, tau_word *block, tau_word *next,
                           struct paged_cut cut) {
    const tau_word old = tlsf_size_of(block);
    TAU_ASSERT(cut.size > old);
    tlsf_unlink(blocks, next);
    paged_cut_write(blocks, block, cut, block[-1] & TLSF_PREVIOUS_FREE);
    tlsf_count_used(blocks, cut.size - old);
}

#endif
