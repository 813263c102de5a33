// The conventional heap. It places blocks as page_heap.c does, on a plain page table. Only the
// handling of pages differs. An edge is mapped if it is not mapped yet. Only a free block that
// extends to the end of the heap releases its pages, one by one.
#include "core/conventional/break_heap.h"

#include "core/conventional/break_heap_inline.h"

#define BREAK_HEAP_RIGHTS (TAU_READ | TAU_WRITE)

// Whether CUT makes an edge that is not mapped yet.
TAU_INLINE bool break_heap_has_new_split(const struct tau_pagetable *table, struct paged_cut cut) {
    TAU_ASSERT(cut.start <= cut.split);
    TAU_ASSERT(cut.split <= cut.end);
    return cut.split != cut.start && cut.split != cut.end && !pagetable_is_mapped(table, cut.split);
}

TAU_INLINE enum paged_cutting break_heap_cut_pages(void *context, struct paged_cut cut,
                                                   bool may_clean) {
    struct tau_break_heap *const heap = context;
    struct tau_pagetable *const table = heap->table;
    TAU_ASSERT(cut.end <= break_heap_last_page(heap));
    if (break_heap_has_new_split(table, cut)) {
        if (!frames_is_ready(table->frames, may_clean)) {
            return PAGED_CUT_WITHOUT_FRAME;
        }
        pagetable_enter(table, cut.split, frames_take(table->frames), BREAK_HEAP_RIGHTS);
    }
    if ((uintptr_t)cut.behind == heap->limit) {
        heap->break_page =
            cut.rest != 0 && cut.split != cut.end ? cut.split + 1 : break_heap_last_page(heap);
    }
    TAU_ASSERT(pagetable_is_mapped(table, cut.split));
    return PAGED_CUT_MADE;
}

// A cut inside a free block has two boundaries, so up to two new edges.
TAU_INLINE bool break_heap_cut_inside(void *context, struct paged_cut cut, uint32_t low) {
    struct tau_break_heap *const heap = context;
    struct tau_frames *const frames = heap->table->frames;
    const bool is_start_new = !pagetable_is_mapped(heap->table, cut.start);
    const uint32_t edges =
        (is_start_new ? 1u : 0u) + (break_heap_has_new_split(heap->table, cut) ? 1u : 0u);
    uint32_t frame = 0;
    TAU_ASSERT(low <= cut.start);
    (void)low;
    if (edges > tau_frames_free_count(frames)) {
        return false;
    }
    if (is_start_new && frames_take_clean(frames, &frame)) {
        pagetable_enter(heap->table, cut.start, frame, BREAK_HEAP_RIGHTS);
    }
    return break_heap_cut_pages(heap, cut, true) == PAGED_CUT_MADE;
}

TAU_INLINE bool break_heap_move_end(void *context, uint32_t start, struct paged_cut cut) {
    struct tau_break_heap *const heap = context;
    TAU_ASSERT(start <= cut.start);
    (void)start;
    return break_heap_cut_pages(heap, cut, true) == PAGED_CUT_MADE;
}

// A free block at the end of the heap keeps the page with its header.
TAU_INLINE void break_heap_give_back(void *context, struct paged_freed freed) {
    struct tau_break_heap *const heap = context;
    const uint32_t new_break = freed.low + 1;
    TAU_ASSERT(freed.low >= heap->first.number);
    TAU_ASSERT(freed.low <= break_heap_last_page(heap));
    if ((uintptr_t)freed.behind == heap->limit && new_break < heap->break_page) {
        pagetable_unmap(heap->table, new_break, heap->break_page);
        heap->break_page = new_break;
    }
}

static enum tau_status break_heap_why_not(const struct tau_pagetable *table, uintptr_t origin,
                                          struct tau_page first, uint32_t pages) {
    const enum tau_status reason = paged_why_no_size(origin, pages);
    TAU_ASSERT(table != NULL);
    TAU_ASSERT(table->pages_count != 0);
    if (reason != TAU_OK) {
        return reason;
    }
    if (first.number == 0) {
        return TAU_PAGE_ZERO;
    }
    if (first.number >= table->pages_count) {
        return TAU_PAGE_OUTSIDE;
    }
    if (pages > table->pages_count - first.number) {
        return TAU_REGION_TOO_LARGE;
    }
    if (!paged_ends_in_memory(origin, first, pages)) {
        return TAU_BAD_ARGUMENT;
    }
    return tau_frames_free_count(table->frames) <=
                   paged_control_pages((size_t)pages << TAU_PAGE_LOG2)
               ? TAU_NO_FRAME
               : TAU_OK;
}

enum tau_status tau_break_heap_init(struct tau_break_heap *heap, struct tau_pagetable *table,
                                    uintptr_t origin, struct tau_page first, uint32_t pages) {
    const enum tau_status reason = break_heap_why_not(table, origin, first, pages);
    if (reason != TAU_OK) {
        return reason;
    }
    const uint32_t control = paged_control_pages((size_t)pages << TAU_PAGE_LOG2);
    const uint32_t last = first.number + pages - 1;
    for (uint32_t i = 0; i < control; i++) {  // bound: the control block's pages
        (void)tau_pagetable_map_page(table, (struct tau_page){first.number + i}, BREAK_HEAP_RIGHTS);
    }
    (void)tau_pagetable_map_page(table, (struct tau_page){last}, BREAK_HEAP_RIGHTS);
    const uintptr_t start = origin + ((uintptr_t)first.number << TAU_PAGE_LOG2);
    *heap = (struct tau_break_heap){
        .blocks = paged_blocks_in(start, pages),
        .table = table,
        .origin = origin,
        .first = first,
        .pages_count = pages,
        .break_page = first.number + control,
        .limit = start + ((size_t)pages << TAU_PAGE_LOG2),
    };
    TAU_ASSERT(heap->blocks != NULL);
    TAU_ASSERT(pagetable_is_mapped(table, last));
    return TAU_OK;
}

// ---- The operations ----------------------------------------------------------------------------

static const struct paged_paging BREAK_HEAP_PAGING;

static __attribute__((noinline)) void *break_heap_malloc_again(void *context, tau_word *payload,
                                                               size_t size_bytes) {
    struct tau_break_heap *const heap = context;
    TAU_ASSERT(heap->table->frames->ready.count == 0);
    TAU_ASSERT(payload != NULL);
    if (!tau_frames_clean_one(heap->table->frames)) {
        return paged_put_back(heap->blocks, payload, size_bytes);
    }
    return paged_malloc_again(break_heap_view(heap), &BREAK_HEAP_PAGING, payload, size_bytes);
}

static __attribute__((noinline)) enum tau_status
break_heap_misused_object(void *context, tau_word *block, void *pointer) {
    return paged_misused_at(break_heap_view(context), &BREAK_HEAP_PAGING, block, pointer);
}

static const struct paged_paging BREAK_HEAP_PAGING = {
    .invariants_hold = break_heap_invariants_hold,
    .has_header = break_heap_has_header,
    .cut = break_heap_cut_pages,
    .malloc_again = break_heap_malloc_again,
    .cut_inside = break_heap_cut_inside,
    .move_end = break_heap_move_end,
    .give_back = break_heap_give_back,
    .misused = break_heap_misused_object,
};

void *tau_break_heap_malloc(struct tau_break_heap *heap, size_t size_bytes) {
    return paged_malloc(break_heap_view(heap), &BREAK_HEAP_PAGING, size_bytes);
}

void *tau_break_heap_aligned_alloc(struct tau_break_heap *heap, size_t alignment,
                                   size_t size_bytes) {
    if (!tau_bits_is_power_of_two(alignment)) {
        return NULL;
    }
    return alignment <= TAU_ALIGNMENT
               ? tau_break_heap_malloc(heap, size_bytes)
               : paged_aligned_alloc(break_heap_view(heap), &BREAK_HEAP_PAGING, alignment,
                                     size_bytes);
}

enum tau_status tau_break_heap_free(struct tau_break_heap *heap, void *pointer) {
    return paged_free(break_heap_view(heap), &BREAK_HEAP_PAGING, pointer);
}

bool tau_break_heap_resize(struct tau_break_heap *heap, void *pointer, size_t size_bytes) {
    return paged_resize(break_heap_view(heap), &BREAK_HEAP_PAGING, pointer, size_bytes);
}

size_t tau_break_heap_usable_size(const struct tau_break_heap *heap, const void *pointer) {
    return paged_usable_size(break_heap_view(heap), &BREAK_HEAP_PAGING, pointer);
}

enum tau_status tau_break_heap_map_page(struct tau_break_heap *heap, struct tau_page page) {
    TAU_ASSERT(heap->break_page > heap->first.number);
    TAU_ASSERT(heap->break_page <= break_heap_last_page(heap));
    if (page.number - heap->first.number >= heap->break_page - heap->first.number) {
        return TAU_NOT_IN_REGION;
    }
    return tau_pagetable_map_page(heap->table, page, BREAK_HEAP_RIGHTS);
}
