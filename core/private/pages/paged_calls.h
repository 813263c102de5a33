// The calls of a heap on pages, up to the point where pages are mapped or released. The heap's
// `struct paging` has functions for the rest. Those functions are inlined here, and these into
// page_heap.c and break_heap.c, so no call goes through a pointer.
#ifndef TAU_PAGED_CALLS_H
#define TAU_PAGED_CALLS_H

#include "core/private/pages/paged_object.h"

// ---- Handing out -------------------------------------------------------------------------------

// Returns the object at POINTER to the caller and releases the lock. BLOCK was cut as CUT says.
TAU_INLINE void *hand_out(struct tau_tlsf *blocks, tau_word *block, struct cut cut, tau_word flags,
                          void *pointer, size_t size_bytes, size_t alignment) {
    cut_write(blocks, block, cut, flags);
    fields_of(blocks)->used_bytes += cut.size;
    TAU_ASSERT(!starts_page(block) && block_of(pointer) == block);
    TAU_ASSERT(((uintptr_t)pointer & (alignment - 1)) == 0);
    TAU_ASSERT(usable_bytes(block) - ((uintptr_t)pointer - (uintptr_t)block) >= size_bytes);
    seal(blocks, block);
    TAU_PORT_TRACE(blocks, NULL, pointer, size_bytes, alignment);
    TAU_PORT_UNLOCK(blocks);
    return pointer;
}

// Lists the block at PAYLOAD again, which was taken and not cut. Releases the lock and refuses.
static __attribute__((noinline)) void *put_back(struct tau_tlsf *blocks, tau_word *payload,
                                                size_t size_bytes) {
    TAU_ASSERT((payload[-1] & FLAGS) == FREE);
    TAU_ASSERT(!starts_page(payload));
    insert(blocks, payload, payload[-1]);
    TAU_PORT_UNLOCK(blocks);
    return refuse(blocks, size_bytes, TAU_NO_MEMORY);
}

TAU_INLINE void *paged_malloc(struct paged paged, const struct paging *paging, size_t size_bytes) {
    struct tau_tlsf *const blocks = paged.blocks;
    const tau_word size = needed(blocks, size_bytes, 0);
    if (size == 0) {
        return refuse(blocks, size_bytes, TAU_NO_MEMORY);
    }
    TAU_PORT_LOCK(blocks);
    TAU_INVARIANT(paging->invariants_hold(paged.heap));
    enum tau_status reason;
    tau_word header;
    tau_word *const payload = take(blocks, size, &header, &reason);
    if (payload == NULL) {
        TAU_PORT_UNLOCK(blocks);
        return refuse(blocks, size_bytes, reason);
    }
    const struct cut cut = cut_of(paged.origin, payload, header, size);
    const enum cutting cutting = paging->cut(paged.heap, cut, false);
    if (cutting == CUT_REFUSED) {
        return put_back(blocks, payload, size_bytes);
    }
    if (cutting == CUT_WITHOUT_FRAME) {
        return paging->malloc_again(paged.heap, payload, size_bytes);
    }
    return hand_out(blocks, payload, cut, 0, payload, size_bytes, TAU_ALIGNMENT);
}

// Repeats the end of malloc for the block that it took, now with a frame ready.
TAU_INLINE void *paged_malloc_again(struct paged paged, const struct paging *paging,
                                    tau_word *payload, size_t size_bytes) {
    const tau_word size = needed(paged.blocks, size_bytes, 0);
    TAU_ASSERT((payload[-1] & FLAGS) == FREE);
    TAU_ASSERT(size != 0);
    const struct cut cut = cut_of(paged.origin, payload, payload[-1], size);
    if (paging->cut(paged.heap, cut, false) != CUT_MADE) {
        return put_back(paged.blocks, payload, size_bytes);
    }
    return hand_out(paged.blocks, payload, cut, 0, payload, size_bytes, TAU_ALIGNMENT);
}

// ALIGNMENT is a power of two above the usual alignment.
TAU_INLINE void *paged_aligned_alloc(struct paged paged, const struct paging *paging,
                                     size_t alignment, size_t size_bytes) {
    struct tau_tlsf *const blocks = paged.blocks;
    const tau_word size = needed(blocks, size_bytes, PAGE_START_GAP);
    const size_t room = (size_t)fields_of(blocks)->block_max_bytes - size;
    TAU_ASSERT(tau_bits_is_power_of_two(alignment));
    if (size == 0 || alignment > room / 4) {
        return refuse(blocks, size_bytes, TAU_NO_MEMORY);
    }
    TAU_PORT_LOCK(blocks);
    TAU_INVARIANT(paging->invariants_hold(paged.heap));
    enum tau_status reason = TAU_NO_MEMORY;
    tau_word header;
    tau_word *const found = take(blocks, size + ALIGNED_SLACK_BYTES(alignment), &header, &reason);
    if (found == NULL) {
        TAU_PORT_UNLOCK(blocks);
        return refuse(blocks, size_bytes, reason);
    }
    void *pointer;
    tau_word *const block = aligned_block(found, alignment, &pointer);
    const tau_word gap = (tau_word)((uintptr_t)block - (uintptr_t)found);
    const struct cut cut = cut_of(paged.origin, block, header - gap, size);
    TAU_ASSERT(gap == 0 || gap >= BLOCK_MIN_BYTES);
    if (!paging->cut_inside(paged.heap, cut, edge_of(paged.origin, found))) {
        return put_back(blocks, found, size_bytes);
    }
    if (gap != 0) {
        insert(blocks, found, gap + FREE);
    }
    return hand_out(blocks, block, cut, gap != 0 ? PREVIOUS_FREE : 0, pointer, size_bytes,
                    alignment);
}

// ---- Giving back and resizing ------------------------------------------------------------------

TAU_INLINE enum tau_status paged_free(struct paged paged, const struct paging *paging,
                                      void *pointer) {
    struct tau_tlsf *const blocks = paged.blocks;
    tau_word *const block = block_of(pointer);
    struct used used;
    if (pointer == NULL) {
        return TAU_OK;
    }
    TAU_PORT_LOCK(blocks);
    TAU_INVARIANT(paging->invariants_hold(paged.heap));
    if (!is_object(paged, paging, block, &used)) {
        return paging->misused(paged.heap, block, pointer);
    }
    struct freed freed = {.start = edge_of(paged.origin, block),
                          .end = edge_of(paged.origin, after(block, used.size))};
    const struct merged merged = merge(blocks, block, used);
    if (TAU_CHECK_LEVEL >= 1 && merged.payload == NULL) {
        return unmerged(blocks, block, pointer, merged.size != 0);
    }
    freed.behind = after(merged.payload, merged.size);
    freed.low = edge_of(paged.origin, merged.payload);
    freed.high = edge_of(paged.origin, freed.behind);
    insert(blocks, merged.payload, merged.size + FREE);
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
TAU_INLINE bool resize_block(struct paged paged, const struct paging *paging, tau_word *block,
                             tau_word size) {
    const tau_word old = size_of(block);
    tau_word *const next = after(block, old);
    const uint32_t start = edge_of(paged.origin, block);
    const uint32_t end = edge_of(paged.origin, next);
    TAU_ASSERT((block[-1] & FREE) == 0);
    TAU_ASSERT(old >= BLOCK_MIN_BYTES);
    if (size <= old) {
        return edge_of(paged.origin, after(block, size)) == end;
    }
    const tau_word more = (next[-1] & FREE) != 0 ? size_of(next) : 0;
    if (size > old + more) {
        return false;
    }
    struct cut cut = cut_of(paged.origin, block, old + more + FREE, size);
    cut.start = end;
    if (!paging->move_end(paged.heap, start, cut)) {
        return false;
    }
    unlink(paged.blocks, next);
    TAU_ASSERT(cut.size > old);
    cut_write(paged.blocks, block, cut, block[-1] & PREVIOUS_FREE);
    fields_of(paged.blocks)->used_bytes += cut.size - old;
    return true;
}

TAU_INLINE bool paged_resize(struct paged paged, const struct paging *paging, void *pointer,
                             size_t size_bytes) {
    struct tau_tlsf *const blocks = paged.blocks;
    tau_word *const block = block_of(pointer);
    struct used used;
    if (pointer == NULL) {
        return false;
    }
    TAU_PORT_LOCK(blocks);
    TAU_INVARIANT(paging->invariants_hold(paged.heap));
    if (TAU_CHECK_LEVEL >= 1 &&
        (!is_object(paged, paging, block, &used) || !is_mergeable(blocks, block, &used))) {
        (void)paging->misused(paged.heap, block, pointer);
        return false;
    }
    const size_t gap = (uintptr_t)pointer - (uintptr_t)block;
    const tau_word size = needed(blocks, size_bytes, gap);
    const bool is_resized = size != 0 && resize_block(paged, paging, block, size);
    if (is_resized) {
        TAU_ASSERT(usable_bytes(block) >= size_bytes + gap);
        seal(blocks, block);
        TAU_PORT_TRACE(blocks, pointer, pointer, size_bytes, TAU_ALIGNMENT);
    }
    TAU_PORT_UNLOCK(blocks);
    return is_resized;
}

#endif
