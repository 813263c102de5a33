// The conventional heap. It places blocks as page_heap.c does, on a plain page table. Only the
// handling of pages differs. An edge is mapped if it is not mapped yet. Only a free block that
// extends to the end of the heap releases its pages, one by one.
#include "peers/conventional/break_heap.h"

#include "core/private/pages/paged_calls.h"
#include "core/private/pages/paged_object.h"
#include "peers/conventional/pagetable_inline.h"

#define BREAK_HEAP_RIGHTS (TAU_READ | TAU_WRITE)

static uint32_t break_heap_last_page(const struct tau_break_heap *heap) {
    return heap->first.number + heap->pages_count - 1;
}

// Whether CUT makes an edge that is not mapped yet.
TAU_SHARED bool break_heap_has_new_split(const struct tau_pagetable *table, struct paged_cut cut) {
    TAU_ASSERT(cut.start <= cut.split);
    TAU_ASSERT(cut.split <= cut.end);
    return cut.split != cut.start && cut.split != cut.end && !pagetable_is_mapped(table, cut.split);
}

TAU_SHARED enum paged_cutting break_heap_cut_pages(struct tau_break_heap *heap,
                                                   struct paged_cut cut, bool may_clean) {
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
TAU_SHARED bool break_heap_cut_inside(struct tau_break_heap *heap, struct paged_cut cut) {
    struct tau_frames *const frames = heap->table->frames;
    const bool is_start_new = !pagetable_is_mapped(heap->table, cut.start);
    const uint32_t edges =
        (is_start_new ? 1u : 0u) + (break_heap_has_new_split(heap->table, cut) ? 1u : 0u);
    uint32_t frame = 0;
    if (edges > tau_frames_free_count(frames)) {
        return false;
    }
    if (is_start_new && frames_take_clean(frames, &frame)) {
        pagetable_enter(heap->table, cut.start, frame, BREAK_HEAP_RIGHTS);
    }
    return break_heap_cut_pages(heap, cut, true) == PAGED_CUT_MADE;
}

// A free block at the end of the heap keeps the page with its header.
TAU_SHARED void break_heap_give_back(struct tau_break_heap *heap, struct paged_freed freed) {
    const uint32_t new_break = freed.low + 1;
    TAU_ASSERT(freed.low >= heap->first.number);
    TAU_ASSERT(freed.low <= break_heap_last_page(heap));
    if ((uintptr_t)freed.behind == heap->limit && new_break < heap->break_page) {
        pagetable_unmap(heap->table, new_break, heap->break_page);
        heap->break_page = new_break;
    }
}

// The purging heap keeps only the pages with the edges that stay: from after LOW, or from START if
// that edge is dissolved, to before HIGH, or to END with it if that one is. Between two calls a
// proper program has no page mapped inside a free block, so no other page is looked at.
TAU_SHARED void break_heap_purge(struct tau_break_heap *heap, struct paged_freed freed) {
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

static __attribute__((noinline)) void *
break_heap_malloc_again(struct tau_break_heap *heap, tau_word *payload, size_t size_bytes) {
    TAU_ASSERT(heap->table->frames->ready.count == 0);
    TAU_ASSERT(payload != NULL);
    if (!tau_frames_clean_one(heap->table->frames)) {
        return paged_put_back(heap->blocks, payload, size_bytes);
    }
    struct tau_tlsf *const blocks = heap->blocks;
    const struct paged_cut cut = paged_cut_again(blocks, PAGED_ORIGIN(heap), payload, size_bytes);
    if (break_heap_cut_pages(heap, cut, false) != PAGED_CUT_MADE) {
        return paged_put_back(blocks, payload, size_bytes);
    }
    return paged_hand_out(blocks, payload, cut, 0, payload, size_bytes, TAU_ALIGNMENT);
}

// The steps of malloc that concern pages. gcc resolves them after it has laid out the steps around
// them, and our figures of the conventional malloc are of this layout. Called by name, its longest
// path is 4 instructions shorter and has 2 accesses more.
struct break_heap_steps {
    enum paged_cutting (*cut)(struct tau_break_heap *heap, struct paged_cut cut, bool may_clean);
    void *(*malloc_again)(struct tau_break_heap *heap, tau_word *payload, size_t size_bytes);
};
static const struct break_heap_steps BREAK_HEAP_STEPS = {break_heap_cut_pages,
                                                         break_heap_malloc_again};

TAU_SHARED void *break_heap_malloc(struct tau_break_heap *heap,
                                   const struct break_heap_steps *steps, size_t size_bytes) {
    struct tau_tlsf *const blocks = heap->blocks;
    const tau_word size = tlsf_needed(blocks, size_bytes, 0);
    if (size == 0) {
        return tlsf_refuse(blocks, size_bytes, TAU_NO_MEMORY);
    }
    TAU_PORT_LOCK(blocks);
    TAU_INVARIANT(tau_tlsf_invariants_hold_locked(blocks));
    enum tau_status reason;
    tau_word header;
    tau_word *const payload = tlsf_take(blocks, size, &header, &reason);
    if (payload == NULL) {
        TAU_PORT_UNLOCK(blocks);
        return tlsf_refuse(blocks, size_bytes, reason);
    }
    const struct paged_cut cut = paged_cut_of(PAGED_ORIGIN(heap), payload, header, size);
    const enum paged_cutting cutting = steps->cut(heap, cut, false);
    if (cutting == PAGED_CUT_REFUSED) {
        return paged_put_back(blocks, payload, size_bytes);
    }
    if (cutting == PAGED_CUT_WITHOUT_FRAME) {
        return steps->malloc_again(heap, payload, size_bytes);
    }
    return paged_hand_out(blocks, payload, cut, 0, payload, size_bytes, TAU_ALIGNMENT);
}

void *tau_break_heap_malloc(struct tau_break_heap *heap, size_t size_bytes) {
    return break_heap_malloc(heap, &BREAK_HEAP_STEPS, size_bytes);
}

void *tau_break_heap_aligned_alloc(struct tau_break_heap *heap, size_t alignment,
                                   size_t size_bytes) {
    struct tau_tlsf *const blocks = heap->blocks;
    struct paged_aligned taken;
    enum tau_status reason;
    if (!tau_bits_is_power_of_two(alignment)) {
        return NULL;
    }
    if (alignment <= TAU_ALIGNMENT) {
        return tau_break_heap_malloc(heap, size_bytes);
    }
    TAU_INVARIANT(tau_tlsf_invariants_hold(blocks));
    if (!paged_take_aligned(blocks, PAGED_ORIGIN(heap), alignment, size_bytes, &taken, &reason)) {
        return tlsf_refuse(blocks, size_bytes, reason);
    }
    if (!break_heap_cut_inside(heap, taken.cut)) {
        return paged_put_back(blocks, taken.found, size_bytes);
    }
    return paged_hand_out_aligned(blocks, taken, alignment, size_bytes);
}

static bool break_heap_has_header(const void *context, const tau_word *block) {
    const struct tau_break_heap *const heap = context;
    const uintptr_t edge = paged_any_edge_of(PAGED_ORIGIN(heap), block);
    TAU_ASSERT(heap->pages_count >= 2);
    TAU_ASSERT(heap->table != NULL);
    return edge - heap->first.number < heap->pages_count &&
           pagetable_is_mapped(heap->table, (uint32_t)edge) &&
           ((uintptr_t)block & (TAU_ALIGNMENT - 1)) == 0;
}

static __attribute__((noinline)) enum tau_status
break_heap_misused(const struct tau_break_heap *heap, tau_word *block, void *pointer) {
    return paged_misused(heap, break_heap_has_header, heap->blocks, block, pointer);
}

// Both frees. IS_PURGING is a constant where this is inlined.
TAU_SHARED enum tau_status break_heap_free(struct tau_break_heap *heap, void *pointer,
                                           bool is_purging) {
    struct tau_tlsf *const blocks = heap->blocks;
    tau_word *const block = paged_block_of(pointer);
    struct tlsf_used used;
    struct tlsf_merged merged;
    struct paged_freed freed;
    if (pointer == NULL) {
        return TAU_OK;
    }
    TAU_PORT_LOCK(blocks);
    TAU_INVARIANT(tau_tlsf_invariants_hold_locked(blocks));
    if (!paged_is_object(heap, break_heap_has_header, blocks, block, &used)) {
        return break_heap_misused(heap, block, pointer);
    }
    if (!paged_merge(blocks, PAGED_ORIGIN(heap), block, used, &freed, &merged)) {
        return tlsf_unmerged(blocks, block, pointer, merged.header != 0);
    }
    if (is_purging) {
        break_heap_purge(heap, freed);
    } else {
        break_heap_give_back(heap, freed);
    }
    return paged_taken_back(blocks, pointer);
}

enum tau_status tau_break_heap_free(struct tau_break_heap *heap, void *pointer) {
    return break_heap_free(heap, pointer, false);
}

enum tau_status tau_break_heap_free_purging(struct tau_break_heap *heap, void *pointer) {
    return break_heap_free(heap, pointer, true);
}

TAU_SHARED bool break_heap_resize_block(struct tau_break_heap *heap, tau_word *block,
                                        tau_word size) {
    const uintptr_t origin = PAGED_ORIGIN(heap);
    const tau_word old = tlsf_size_of(block);
    tau_word *const next = tlsf_after(block, old);
    const uint32_t end = paged_edge_of(origin, next);
    if (size <= old) {
        return paged_edge_of(origin, tlsf_after(block, size)) == end;
    }
    const tau_word more = (next[-1] & TLSF_FREE) != 0 ? tlsf_size_of(next) : 0;
    if (size > old + more) {
        return false;
    }
    struct paged_cut cut = paged_cut_of(origin, block, old + more + TLSF_FREE, size);
    cut.start = end;
    if (break_heap_cut_pages(heap, cut, true) != PAGED_CUT_MADE) {
        return false;
    }
    paged_grow(heap->blocks, block, next, cut);
    return true;
}

bool tau_break_heap_resize(struct tau_break_heap *heap, void *pointer, size_t size_bytes) {
    struct tau_tlsf *const blocks = heap->blocks;
    tau_word *const block = paged_block_of(pointer);
    struct tlsf_used used;
    if (pointer == NULL) {
        return false;
    }
    TAU_PORT_LOCK(blocks);
    TAU_INVARIANT(tau_tlsf_invariants_hold_locked(blocks));
    if (TAU_CHECK_LEVEL >= 1 &&
        (!paged_is_object(heap, break_heap_has_header, blocks, block, &used) ||
         !tlsf_is_mergeable(blocks, block, &used))) {
        (void)break_heap_misused(heap, block, pointer);
        return false;
    }
    const tau_word size = tlsf_needed(blocks, size_bytes, (uintptr_t)pointer - (uintptr_t)block);
    const bool is_resized = size != 0 && break_heap_resize_block(heap, block, size);
    if (is_resized) {
        tlsf_seal(blocks, block);
        TAU_PORT_TRACE(blocks, pointer, pointer, size_bytes, TAU_ALIGNMENT);
    }
    TAU_PORT_UNLOCK(blocks);
    return is_resized;
}

size_t tau_break_heap_usable_size(const struct tau_break_heap *heap, const void *pointer) {
    return paged_usable_size(heap, break_heap_has_header, heap->blocks, pointer);
}

enum tau_status tau_break_heap_map_page(struct tau_break_heap *heap, struct tau_page page) {
    TAU_ASSERT(heap->break_page > heap->first.number);
    TAU_ASSERT(heap->break_page <= break_heap_last_page(heap));
    if (page.number - heap->first.number >= heap->break_page - heap->first.number) {
        return TAU_NOT_IN_REGION;
    }
    return tau_pagetable_map_page(heap->table, page, BREAK_HEAP_RIGHTS);
}
