// The free of the purging heap. Between two calls a proper program has no page mapped that lies
// inside of a free block, so only the pages of the block that left use, and edges that it
// dissolved, are looked at.
#include "core/conventional/purge_heap.h"

#include "core/conventional/break_heap_inline.h"

// The pages between the edges that stay: from behind LOW, or from START if that edge is dissolved,
// to before HIGH, or to END with it if that one is.
TAU_INLINE void purge_heap_give_back(void *context, struct paged_freed freed) {
    struct tau_break_heap *const heap = context;
    const uint32_t first = freed.start != freed.low ? freed.start : freed.low + 1;
    const uint32_t behind = freed.end != freed.high ? freed.end + 1 : freed.high;
    TAU_ASSERT(freed.low >= heap->first.number);
    TAU_ASSERT(freed.high <= break_heap_last_page(heap));
    if (first < behind) {
        pagetable_unmap(heap->table, first, behind);
    }
    if ((uintptr_t)freed.behind == heap->limit && freed.low + 1 < heap->break_page) {
        heap->break_page = freed.low + 1;
    }
}

static const struct paged_paging PURGE_HEAP_PAGING;

static __attribute__((noinline)) enum tau_status
purge_heap_misused_object(void *context, tau_word *block, void *pointer) {
    return paged_misused_at(break_heap_view(context), &PURGE_HEAP_PAGING, block, pointer);
}

// What free needs.
static const struct paged_paging PURGE_HEAP_PAGING = {
    .invariants_hold = break_heap_invariants_hold,
    .has_header = break_heap_has_header,
    .give_back = purge_heap_give_back,
    .misused = purge_heap_misused_object,
};

enum tau_status tau_purge_heap_free(struct tau_break_heap *heap, void *pointer) {
    return paged_free(break_heap_view(heap), &PURGE_HEAP_PAGING, pointer);
}
