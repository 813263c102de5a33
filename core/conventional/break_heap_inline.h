// How the conventional heap is looked at, inlined, for every heap that is made of its parts.
#ifndef TAU_BREAK_HEAP_INLINE_H
#define TAU_BREAK_HEAP_INLINE_H

#include "core/conventional/break_heap.h"
#include "core/conventional/pagetable_inline.h"
#include "core/private/pages/paged_calls.h"

TAU_INLINE uint32_t break_heap_last_page(const struct tau_break_heap *heap) {
    return heap->first.number + heap->pages_count - 1;
}

TAU_INLINE bool break_heap_has_header(const void *context, const tau_word *block) {
    const struct tau_break_heap *const heap = context;
    const uintptr_t edge = paged_any_edge_of(PAGED_ORIGIN(heap), block);
    TAU_ASSERT(heap->pages_count >= 2);
    TAU_ASSERT(heap->table != NULL);
    return edge - heap->first.number < heap->pages_count &&
           pagetable_is_mapped(heap->table, (uint32_t)edge) &&
           ((uintptr_t)block & (TAU_ALIGNMENT - 1)) == 0;
}

TAU_INLINE struct paged break_heap_view(const struct tau_break_heap *heap) {
    return (struct paged){(void *)(uintptr_t)heap, heap->blocks, PAGED_ORIGIN(heap)};
}

// The self test, with the lock held.
TAU_INLINE bool break_heap_invariants_hold(const void *context) {
    return tau_tlsf_invariants_hold_locked(((const struct tau_break_heap *)context)->blocks);
}

#endif
