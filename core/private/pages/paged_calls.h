// The calls of a heap on pages, up to the point where pages are mapped or released. The heap's
// `struct paged_paging` has functions for the rest. Those functions are inlined here, and these
// into page_heap.c and break_heap.c, so no call goes through a pointer.
#ifndef TAU_PAGED_CALLS_H
#define TAU_PAGED_CALLS_H

#include "core/private/pages/paged_object.h"

// ---- Handing out -------------------------------------------------------------------------------

// Returns the object at POINTER to the caller and releases the lock. BLOCK was cut as CUT says.
TAU_INLINE void *paged_hand_out(struct tau_tlsf *blocks, tau_word *block, struct paged_cut cut,
                                tau_word flags, void *pointer, size_t size_bytes,
                                size_t alignment) {
    paged_cut_write(blocks, block, cut, flags);
    tlsf_fields_of(blocks)->used_bytes += cut.size;
    TAU_ASSERT(!paged_starts_page(block) && paged_block_of(pointer) == block);
    TAU_ASSERT(((uintptr_t)pointer & (alignment - 1)) == 0);
    TAU_ASSERT(tlsf_usable_bytes(block) - ((uintptr_t)pointer - (uintptr_t)block) >= size_bytes);
    tlsf_seal(blocks, block);
    TAU_PORT_TRACE(blocks, NULL, pointer, size_bytes, alignment);
    TAU_PORT_UNLOCK(blocks);
    return pointer;
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

TAU_INLINE void *paged_malloc(struct paged paged, const struct paged_paging *paging,
                              size_t size_bytes) {
    struct tau_tlsf *const blocks = paged.blocks;
    const tau_word size = tlsf_needed(blocks, size_bytes, 0);
    if (size == 0) {
        return tlsf_refuse(blocks, size_bytes, TAU_NO_MEMORY);
    }
    TAU_PORT_LOCK(blocks);
    TAU_INVARIANT(paging->invariants_hold(paged.heap));
    enum tau_status reason;
    tau_word header;
    tau_word *const payload = tlsf_take(blocks, size, &header, &reason);
    if (payload == NULL) {
        TAU_PORT_UNLOCK(blocks);
        return tlsf_refuse(blocks, size_bytes, reason);
    }
    const struct paged_cut cut = paged_cut_of(paged.origin, payload, header, size);
    const enum paged_cutting cutting = paging->cut(paged.heap, cut, false);
    if (cutting == PAGED_CUT_REFUSED) {
        return paged_put_back(blocks, payload, size_bytes);
    }
    if (cutting == PAGED_CUT_WITHOUT_FRAME) {
        return paging->malloc_again(paged.heap, payload, size_bytes);
    }
    return paged_hand_out(blocks, payload, cut, 0, payload, size_bytes, TAU_ALIGNMENT);
}

// Repeats the end of malloc for the block that it took, now with a frame ready.
TAU_INLINE void *paged_malloc_again(struct paged paged, const struct paged_paging *paging,
                                    tau_word *payload, size_t size_bytes) {
    const tau_word size = tlsf_needed(paged.blocks, size_bytes, 0);
    TAU_ASSERT((payload[-1] & TLSF_FLAGS) == TLSF_FREE);
    TAU_ASSERT(size != 0);
    const struct paged_cut cut = paged_cut_of(paged.origin, payload, payload[-1], size);
    if (paging->cut(paged.heap, cut, false) != PAGED_CUT_MADE) {
        return paged_put_back(paged.blocks, payload, size_bytes);
    }
    return paged_hand_out(paged.blocks, payload, cut, 0, payload, size_bytes, TAU_ALIGNMENT);
}

// ALIGNMENT is a power of two above the usual alignment.
TAU_INLINE void *paged_aligned_alloc(struct paged paged, const struct paged_paging *paging,
                                     size_t alignment, size_t size_bytes) {
    struct tau_tlsf *const blocks = paged.blocks;
    const tau_word size = tlsf_needed(blocks, size_bytes, PAGED_START_GAP);
    const size_t room = (size_t)tlsf_fields_of(blocks)->block_max_bytes - size;
    TAU_ASSERT(tau_bits_is_power_of_two(alignment));
    if (size == 0 || alignment > room / 4) {
        return tlsf_refuse(blocks, size_bytes, TAU_NO_MEMORY);
    }
    TAU_PORT_LOCK(blocks);
    TAU_INVARIANT(paging->invariants_hold(paged.heap));
    enum tau_status reason = TAU_NO_MEMORY;
    tau_word header;
    tau_word *const found = tlsf_take(blocks, size + PAGED_GAP_BYTES(alignment), &header, &reason);
    if (found == NULL) {
        TAU_PORT_UNLOCK(blocks);
        return tlsf_refuse(blocks, size_bytes, reason);
    }
    void *pointer;
    tau_word *const block = paged_aligned_block(found, alignment, &pointer);
    const tau_word gap = (tau_word)((uintptr_t)block - (uintptr_t)found);
    const struct paged_cut cut = paged_cut_of(paged.origin, block, header - gap, size);
    TAU_ASSERT(gap == 0 || gap >= TLSF_BLOCK_MIN_BYTES);
    if (!paging->cut_inside(paged.heap, cut, paged_edge_of(paged.origin, found))) {
        return paged_put_back(blocks, found, size_bytes);
    }
    if (gap != 0) {
        tlsf_insert(blocks, found, gap + TLSF_FREE);
    }
    return paged_hand_out(blocks, block, cut, gap != 0 ? TLSF_PREVIOUS_FREE : 0, pointer,
                          size_bytes, alignment);
}

// ---- Giving back and resizing ------------------------------------------------------------------

TAU_INLINE enum tau_status paged_free(struct paged paged, const struct paged_paging *paging,
                                      void *pointer) {
    struct tau_tlsf *const blocks = paged.blocks;
    tau_word *const block = paged_block_of(pointer);
    struct tlsf_used used;
    if (pointer == NULL) {
        return TAU_OK;
    }
    TAU_PORT_LOCK(blocks);
    TAU_INVARIANT(paging->invariants_hold(paged.heap));
    if (!paged_is_object(paged, paging, block, &used)) {
        return paging->misused(paged.heap, block, pointer);
    }
    struct paged_freed freed = {.start = paged_edge_of(paged.origin, block),
                                .end = paged_edge_of(paged.origin, tlsf_after(block, used.size))};
    const struct tlsf_merged merged = tlsf_merge(blocks, block, used);
    if (TAU_CHECK_LEVEL >= 1 && merged.payload == NULL) {
        return tlsf_unmerged(blocks, block, pointer, merged.size != 0);
    }
    freed.behind = tlsf_after(merged.payload, merged.size);
    freed.low = paged_edge_of(paged.origin, merged.payload);
    freed.high = paged_edge_of(paged.origin, freed.behind);
    tlsf_insert(blocks, merged.payload, merged.size + TLSF_FREE);
    TAU_ASSERT(freed.low <= freed.start && freed.start <= freed.end);
    TAU_ASSERT(freed.end <= freed.high);
    paging->give_back(paged.heap, freed);
    TAU_PORT_TRACE(blocks, pointer, NULL, 0, 0);
    TAU_PORT_UNLOCK(blocks);
    return TAU_OK;
}

// Resizes the used BLOCK to SIZE. Returns false, with nothing changed, in two cases: the block
// would have to move, or its end would move down to another page. Only free can do the latter in
// constant time.
TAU_INLINE bool paged_resize_block(struct paged paged, const struct paged_paging *paging,
                                   tau_word *block, tau_word size) {
    const tau_word old = tlsf_size_of(block);
    tau_word *const next = tlsf_after(block, old);
    const uint32_t start = paged_edge_of(paged.origin, block);
    const uint32_t end = paged_edge_of(paged.origin, next);
    TAU_ASSERT((block[-1] & TLSF_FREE) == 0);
    TAU_ASSERT(old >= TLSF_BLOCK_MIN_BYTES);
    if (size <= old) {
        return paged_edge_of(paged.origin, tlsf_after(block, size)) == end;
    }
    const tau_word more = (next[-1] & TLSF_FREE) != 0 ? tlsf_size_of(next) : 0;
    if (size > old + more) {
        return false;
    }
    struct paged_cut cut = paged_cut_of(paged.origin, block, old + more + TLSF_FREE, size);
    cut.start = end;
    if (!paging->move_end(paged.heap, start, cut)) {
        return false;
    }
    tlsf_unlink(paged.blocks, next);
    TAU_ASSERT(cut.size > old);
    paged_cut_write(paged.blocks, block, cut, block[-1] & TLSF_PREVIOUS_FREE);
    tlsf_fields_of(paged.blocks)->used_bytes += cut.size - old;
    return true;
}

TAU_INLINE bool paged_resize(struct paged paged, const struct paged_paging *paging, void *pointer,
                             size_t size_bytes) {
    struct tau_tlsf *const blocks = paged.blocks;
    tau_word *const block = paged_block_of(pointer);
    struct tlsf_used used;
    if (pointer == NULL) {
        return false;
    }
    TAU_PORT_LOCK(blocks);
    TAU_INVARIANT(paging->invariants_hold(paged.heap));
    if (TAU_CHECK_LEVEL >= 1 && (!paged_is_object(paged, paging, block, &used) ||
                                 !tlsf_is_mergeable(blocks, block, &used))) {
        (void)paging->misused(paged.heap, block, pointer);
        return false;
    }
    const size_t gap = (uintptr_t)pointer - (uintptr_t)block;
    const tau_word size = tlsf_needed(blocks, size_bytes, gap);
    const bool is_resized = size != 0 && paged_resize_block(paged, paging, block, size);
    if (is_resized) {
        TAU_ASSERT(tlsf_usable_bytes(block) >= size_bytes + gap);
        tlsf_seal(blocks, block);
        TAU_PORT_TRACE(blocks, pointer, pointer, size_bytes, TAU_ALIGNMENT);
    }
    TAU_PORT_UNLOCK(blocks);
    return is_resized;
}

#endif
