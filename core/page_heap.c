// TLSF on pages. docs/spec/page_heap.md numbers the invariants. The steps:
//
// 1. malloc cuts a free block. If the boundary before the remainder lies in a page without a
//    boundary, that page becomes a region of its own with one frame, because the remainder's header
//    is written there.
// 2. The pages between two edges belong to the region of the first edge. Faults map them, and only
//    while the block that covers them is in use.
// 3. free merges the block. Edges that now lie inside the merged block are removed. The frames of
// their regions, which include the object's, are released as one chain. If the block's own
//    edge stays, its region keeps only its first page.
#include "core/page_heap.h"

#include "core/private/pages/paged_calls.h"
#include "core/private/pages/paged_object.h"
#include "core/private/pages/vspace_inline.h"

#define PAGE_HEAP_RIGHTS (TAU_READ | TAU_WRITE)

// ---- Edges -------------------------------------------------------------------------------------

// Makes EDGE the start of a region, with FRAME at its first page.
TAU_SHARED void page_heap_edge_open(struct tau_vspace *space, uint32_t edge, uint32_t frame) {
    struct tau_validity *const validity = &space->validity;
    TAU_ASSERT(edge != 0);
    TAU_ASSERT(edge < validity->pages_count);
    validity->data[edge] = frame | PAGE_HEAP_RIGHTS;
    space->mapped_pages++;
    validity->stacks[edge].helper = edge;
    validity->stacks[edge].page = edge;
    validity->regions[edge].cache = edge;
    validity->regions[edge].top = edge | VALIDITY_HEAP_HEAD | PAGE_HEAP_RIGHTS;
    region_tree_split(&space->tree, (struct tau_page){edge});
}

// Releases the frames of the region at EDGE. If IS_KEPT, the first frame stays. Otherwise the
// region joins the one before it.
TAU_SHARED void page_heap_edge_release(struct tau_vspace *space, uint32_t edge, bool is_kept) {
    const uint32_t sp = validity_sp(space->validity.regions[edge].top);
    const uint32_t first = is_kept ? edge + 1 : edge;
    TAU_ASSERT(sp >= edge);
    TAU_ASSERT(space->validity.stacks[edge].page == edge);
    if (TAU_ON_LONGEST_PATH(sp >= first)) {
        vspace_region_release(space, first, sp);
    }
    if (is_kept) {
        vspace_region_cut(space, edge, edge | VALIDITY_HEAP_HEAD | PAGE_HEAP_RIGHTS);
    } else {
        vspace_region_empty(space, edge, VALIDITY_FREE);
        region_tree_union(&space->tree, (struct tau_page){edge});
    }
}

// Opens the region of EDGE for a block that extends beyond the edge. Only the edge is mapped.
TAU_SHARED void page_heap_edge_extend(struct tau_vspace *space, uint32_t edge) {
    TAU_ASSERT(validity_sp(space->validity.regions[edge].top) == edge);
    TAU_ASSERT((space->validity.regions[edge].top & VALIDITY_STATE) == VALIDITY_HEAP_HEAD);
    space->validity.regions[edge].top = edge | VALIDITY_HEAP_OPEN | PAGE_HEAP_RIGHTS;
}

// Maps and opens the pages that CUT, at the front of a free block, needs, or changes nothing.
// MAY_CLEAN: a frame is zeroed if none is ready.
TAU_SHARED enum paged_cutting page_heap_cut_pages(struct tau_page_heap *heap, struct paged_cut cut,
                                                  bool may_clean) {
    struct tau_vspace *const space = heap->space;
    TAU_ASSERT(cut.start <= cut.split && cut.split <= cut.end);
    TAU_ASSERT(cut.end - heap->first.number < heap->pages_count);
    if (cut.split == cut.start) {
        return PAGED_CUT_MADE;
    }
    uint32_t committed_pages = heap->committed_pages + (cut.split - cut.start);
    if (TAU_ON_LONGEST_PATH(cut.split != cut.end)) {
        if (committed_pages > heap->commit_max_pages) {
            return PAGED_CUT_REFUSED;
        }
        if (!frames_is_ready(space->frames, may_clean)) {
            return PAGED_CUT_WITHOUT_FRAME;
        }
        heap->committed_pages = committed_pages;
        page_heap_edge_open(space, cut.split, frames_take(space->frames));
        page_heap_edge_extend(space, cut.start);
        return PAGED_CUT_MADE;
    }
    committed_pages -= 1;  // the edge after is already committed
    if (committed_pages > heap->commit_max_pages) {
        return PAGED_CUT_REFUSED;
    }
    heap->committed_pages = committed_pages;
    page_heap_edge_extend(space, cut.start);
    TAU_ASSERT(committed_pages >= 2);
    return PAGED_CUT_MADE;
}

// Releases the pages of a block that left use. The block is already listed, so its header is
// written.
TAU_SHARED void page_heap_give_back(struct tau_page_heap *heap, struct paged_freed freed) {
    struct tau_vspace *const space = heap->space;
    const uint32_t start = freed.start;
    const uint32_t end = freed.end;
    uint32_t pages = end != start ? end - start - 1 : 0;
    TAU_ASSERT(freed.high - heap->first.number < heap->pages_count);
    if (start == freed.low) {
        if (end != start) {
            page_heap_edge_release(space, start, true);
        }
    } else if (start != freed.high) {
        page_heap_edge_release(space, start, false);
        pages += 1;
    }
    if (TAU_ON_LONGEST_PATH(end != start && end != freed.high)) {
        page_heap_edge_release(space, end, false);
        pages += 1;
    }
    TAU_ASSERT(heap->committed_pages >= pages);
    heap->committed_pages -= pages;
}

// Whether frames and commitment suffice for CUT, which starts inside a free block whose edge is
// LOW. It has two boundaries, so up to two new edges.
static bool page_heap_is_cut_admitted(const struct tau_page_heap *heap, struct paged_cut cut,
                                      uint32_t low) {
    const uint32_t start_edges = cut.start != low && cut.start != cut.end ? 1 : 0;
    const uint32_t split_edges = cut.split != cut.start && cut.split != cut.end ? 1 : 0;
    const uint32_t between = cut.split != cut.start ? cut.split - cut.start - 1 : 0;
    TAU_ASSERT(low <= cut.start);
    TAU_ASSERT(heap->committed_pages <= heap->commit_max_pages);
    return start_edges + split_edges + between <= heap->commit_max_pages - heap->committed_pages &&
           start_edges + split_edges <= tau_frames_free_count(heap->space->frames);
}

// As page_heap_cut_pages, inside a free block whose edge is LOW. Zeroes frames. Returns false, with
// nothing changed, if frames or commitment do not suffice.
TAU_SHARED bool page_heap_cut_inside(struct tau_page_heap *heap, struct paged_cut cut,
                                     uint32_t low) {
    uint32_t frame = 0;
    TAU_ASSERT(low >= heap->first.number);
    if (!page_heap_is_cut_admitted(heap, cut, low)) {
        return false;
    }
    if (cut.start != low && cut.start != cut.end &&
        frames_take_clean(heap->space->frames, &frame)) {
        page_heap_edge_open(heap->space, cut.start, frame);
        heap->committed_pages += 1;
    }
    const bool is_cut = page_heap_cut_pages(heap, cut, true) == PAGED_CUT_MADE;
    TAU_ASSERT(is_cut);
    (void)is_cut;
    return true;
}

// Moves the boundary after a used block with the edges START and END. It moves from END to the
// place that CUT, which starts at END, gives. END's page becomes one of the block's own pages. It
// may zero a frame. Returns false, with nothing changed, if frames or commitment do not suffice.
static bool page_heap_move_end(struct tau_page_heap *heap, uint32_t start, struct paged_cut cut) {
    struct tau_vspace *const space = heap->space;
    const uint32_t end = cut.start;
    const bool is_new = cut.split != cut.end;
    uint32_t frame = 0;
    TAU_ASSERT(start <= end && end <= cut.split);
    if (cut.split == end) {
        return true;
    }
    const uint32_t pages = cut.split - end - (is_new ? 0 : 1);
    if (pages > heap->commit_max_pages - heap->committed_pages ||
        (is_new && !frames_take_clean(space->frames, &frame))) {
        return false;
    }
    if (is_new) {
        page_heap_edge_open(space, cut.split, frame);
    }
    if (end != start) {
        const uint32_t kept = space->validity.data[end] & TAU_NUMBER_MASK;
        TAU_ASSERT(validity_sp(space->validity.regions[end].top) == end);
        vspace_region_empty(space, end, VALIDITY_FREE);
        region_tree_union(&space->tree, (struct tau_page){end});
        validity_push(&space->validity, space->frames->links, start, end, kept);
    }
    heap->committed_pages += pages;
    space->validity.regions[start].top |= VALIDITY_OPEN;
    TAU_ASSERT(heap->committed_pages <= heap->commit_max_pages);
    return true;
}

// Self test. The caller holds the lock or owns the heap alone.
static bool page_heap_invariants_hold(const struct tau_page_heap *heap) {
    const uint32_t last = heap->first.number + heap->pages_count - 1;
    TAU_ASSERT(heap->space != NULL);
    return heap->blocks != NULL && heap->committed_pages <= heap->pages_count &&
           heap->committed_pages <= heap->commit_max_pages &&
           region_tree_is_start(&heap->space->tree, heap->first) &&
           region_tree_is_start(&heap->space->tree, (struct tau_page){last}) &&
           tau_tlsf_invariants_hold_locked(heap->blocks);
}

// ---- Making a heap -----------------------------------------------------------------------------

static enum tau_status page_heap_why_not(const struct tau_vspace *space, uintptr_t origin,
                                         uint32_t pages, uint32_t commit_max_pages) {
    const enum tau_status reason = paged_why_no_size(origin, pages);
    TAU_ASSERT(space != NULL);
    if (reason != TAU_OK) {
        return reason;
    }
    const uint32_t control = paged_control_pages((size_t)pages << TAU_PAGE_LOG2);
    TAU_ASSERT(control < pages);
    if (commit_max_pages <= control) {
        return TAU_NOT_ADMITTED;
    }
    return tau_frames_free_count(space->frames) <= control ? TAU_NO_FRAME : TAU_OK;
}

// Maps the pages from FIRST to HEADER, the page with the first block's header, and the heap's LAST
// page. HEADER and LAST are edges.
static void page_heap_map_control(struct tau_vspace *space, uint32_t first, uint32_t header,
                                  uint32_t last) {
    uint32_t frame = 0;
    TAU_ASSERT(first <= header);
    TAU_ASSERT(header < last);
    if (header == first) {
        region_tree_union(&space->tree, (struct tau_page){first});
    }
    for (uint32_t page = first; page < header; page++) {  // bound: the control block's pages
        (void)tau_vspace_map_page(space, (struct tau_page){page}, TAU_WRITE);
    }
    space->validity.regions[first].top |= VALIDITY_HEAP_HEAD;
    (void)frames_take_clean(space->frames, &frame);
    page_heap_edge_open(space, header, frame);
    (void)frames_take_clean(space->frames, &frame);
    page_heap_edge_open(space, last, frame);
}

enum tau_status tau_page_heap_init(struct tau_page_heap *heap, struct tau_vspace *space,
                                   uintptr_t origin, struct tau_page first, uint32_t pages,
                                   uint32_t commit_max_pages) {
    const enum tau_status reason = page_heap_why_not(space, origin, pages, commit_max_pages);
    if (reason != TAU_OK) {
        return reason;
    }
    const uint32_t control = paged_control_pages((size_t)pages << TAU_PAGE_LOG2);
    if (first.number < space->validity.pages_count &&
        pages <= space->validity.pages_count - first.number &&
        !paged_ends_in_memory(origin, first, pages)) {
        return TAU_BAD_ARGUMENT;
    }
    const enum tau_status claimed = tau_vspace_claim(
        space, first, pages, PAGE_HEAP_RIGHTS, commit_max_pages < pages ? commit_max_pages : pages);
    if (claimed != TAU_OK) {
        return claimed;
    }
    page_heap_map_control(space, first.number, first.number + control - 1,
                          first.number + pages - 1);
    *heap = (struct tau_page_heap){
        .blocks = paged_blocks_in(origin + ((uintptr_t)first.number << TAU_PAGE_LOG2), pages),
        .space = space,
        .origin = origin,
        .first = first,
        .pages_count = pages,
        .committed_pages = control + 1,
        .commit_max_pages = commit_max_pages,
    };
    TAU_ASSERT(heap->blocks != NULL);
    TAU_ASSERT(page_heap_invariants_hold(heap));
    return TAU_OK;
}

// ---- Looking at an object ----------------------------------------------------------------------

// Headers lie only in edges.
TAU_SHARED bool page_heap_has_header(const void *context, const tau_word *block) {
    const struct tau_page_heap *const heap = context;
    const uintptr_t edge = paged_any_edge_of(PAGED_ORIGIN(heap), block);
    TAU_ASSERT(heap->pages_count >= 2);
    TAU_ASSERT(heap->space != NULL);
    return edge - heap->first.number < heap->pages_count &&
           region_tree_is_start(&heap->space->tree, (struct tau_page){(uint32_t)edge}) &&
           ((uintptr_t)block & (TAU_ALIGNMENT - 1)) == 0;
}

// ---- The operations ----------------------------------------------------------------------------

// Ends a malloc that took PAYLOAD and found no frame ready. Not inlined, so that malloc itself
// makes no call and saves few registers.
static __attribute__((noinline)) void *
page_heap_malloc_again(struct tau_page_heap *heap, tau_word *payload, size_t size_bytes) {
    TAU_ASSERT(heap->space->frames->ready.count == 0);
    TAU_ASSERT(payload != NULL);
    if (!tau_frames_clean_one(heap->space->frames)) {
        return paged_put_back(heap->blocks, payload, size_bytes);
    }
    struct tau_tlsf *const blocks = heap->blocks;
    const struct paged_cut cut = paged_cut_again(blocks, PAGED_ORIGIN(heap), payload, size_bytes);
    if (page_heap_cut_pages(heap, cut, false) != PAGED_CUT_MADE) {
        return paged_put_back(blocks, payload, size_bytes);
    }
    return paged_hand_out(blocks, payload, cut, 0, payload, size_bytes, TAU_ALIGNMENT);
}

void *tau_page_heap_malloc(struct tau_page_heap *heap, size_t size_bytes) {
    struct tau_tlsf *const blocks = heap->blocks;
    struct paged_cut cut;
    enum tau_status reason;
    TAU_INVARIANT(tau_page_heap_invariants_hold(heap));
    tau_word *const payload = paged_take(blocks, PAGED_ORIGIN(heap), size_bytes, &cut, &reason);
    if (payload == NULL) {
        return tlsf_refuse(blocks, size_bytes, reason);
    }
    const enum paged_cutting cutting = page_heap_cut_pages(heap, cut, false);
    if (cutting == PAGED_CUT_REFUSED) {
        return paged_put_back(blocks, payload, size_bytes);
    }
    if (cutting == PAGED_CUT_WITHOUT_FRAME) {
        return page_heap_malloc_again(heap, payload, size_bytes);
    }
    return paged_hand_out(blocks, payload, cut, 0, payload, size_bytes, TAU_ALIGNMENT);
}

void *tau_page_heap_calloc(struct tau_page_heap *heap, size_t count, size_t size_bytes) {
    size_t total_bytes;
    if (__builtin_mul_overflow(count, size_bytes, &total_bytes)) {
        return tlsf_refuse(heap->blocks, SIZE_MAX, TAU_NO_MEMORY);
    }
    void *const pointer = tau_page_heap_malloc(heap, total_bytes);
    if (pointer != NULL) {
        TAU_ASSERT(tau_page_heap_usable_size(heap, pointer) >= total_bytes);
        TAU_PORT_FILL(pointer, 0, total_bytes);
    }
    return pointer;
}

void *tau_page_heap_aligned_alloc(struct tau_page_heap *heap, size_t alignment, size_t size_bytes) {
    struct tau_tlsf *const blocks = heap->blocks;
    struct paged_aligned taken;
    enum tau_status reason;
    if (!tau_bits_is_power_of_two(alignment)) {
        return NULL;
    }
    if (alignment <= TAU_ALIGNMENT) {
        return tau_page_heap_malloc(heap, size_bytes);
    }
    TAU_INVARIANT(tau_page_heap_invariants_hold(heap));
    if (!paged_take_aligned(blocks, PAGED_ORIGIN(heap), alignment, size_bytes, &taken, &reason)) {
        return tlsf_refuse(blocks, size_bytes, reason);
    }
    if (!page_heap_cut_inside(heap, taken.cut, paged_edge_of(PAGED_ORIGIN(heap), taken.found))) {
        return paged_put_back(blocks, taken.found, size_bytes);
    }
    return paged_hand_out_aligned(blocks, taken, alignment, size_bytes);
}

static __attribute__((noinline)) enum tau_status page_heap_misused(const struct tau_page_heap *heap,
                                                                   tau_word *block, void *pointer) {
    return paged_misused(heap, page_heap_has_header, heap->blocks, block, pointer);
}

enum tau_status tau_page_heap_free(struct tau_page_heap *heap, void *pointer) {
    struct tau_tlsf *const blocks = heap->blocks;
    tau_word *const block = paged_block_of(pointer);
    struct tlsf_used used;
    struct tlsf_merged merged;
    struct paged_freed freed;
    if (pointer == NULL) {
        return TAU_OK;
    }
    TAU_PORT_LOCK(blocks);
    TAU_INVARIANT(page_heap_invariants_hold(heap));
    if (!paged_is_object(heap, page_heap_has_header, blocks, block, &used)) {
        return page_heap_misused(heap, block, pointer);
    }
    if (!paged_merge(blocks, PAGED_ORIGIN(heap), block, used, &freed, &merged)) {
        return tlsf_unmerged(blocks, block, pointer, merged.header != 0);
    }
    page_heap_give_back(heap, freed);
    return paged_taken_back(blocks, pointer);
}

// Resizes the used BLOCK to SIZE. Returns false, with nothing changed, if the block would have to
// move, its end would move down to another page, or pages are refused.
TAU_SHARED bool page_heap_resize_block(struct tau_page_heap *heap, tau_word *block, tau_word size) {
    const uintptr_t origin = PAGED_ORIGIN(heap);
    const tau_word old = tlsf_size_of(block);
    tau_word *const next = tlsf_after(block, old);
    const uint32_t start = paged_edge_of(origin, block);
    const uint32_t end = paged_edge_of(origin, next);
    TAU_ASSERT((block[-1] & TLSF_FREE) == 0);
    TAU_ASSERT(old >= TLSF_BLOCK_MIN_BYTES);
    if (size <= old) {
        return paged_edge_of(origin, tlsf_after(block, size)) == end;
    }
    const tau_word more = (next[-1] & TLSF_FREE) != 0 ? tlsf_size_of(next) : 0;
    if (size > old + more) {
        return false;
    }
    struct paged_cut cut = paged_cut_of(origin, block, old + more + TLSF_FREE, size);
    cut.start = end;
    if (!page_heap_move_end(heap, start, cut)) {
        return false;
    }
    paged_grow(heap->blocks, block, next, cut);
    return true;
}

bool tau_page_heap_resize(struct tau_page_heap *heap, void *pointer, size_t size_bytes) {
    struct tau_tlsf *const blocks = heap->blocks;
    tau_word *const block = paged_block_of(pointer);
    struct tlsf_used used;
    if (pointer == NULL) {
        return false;
    }
    TAU_PORT_LOCK(blocks);
    TAU_INVARIANT(page_heap_invariants_hold(heap));
    if (TAU_CHECK_LEVEL >= 1 &&
        (!paged_is_object(heap, page_heap_has_header, blocks, block, &used) ||
         !tlsf_is_mergeable(blocks, block, &used))) {
        (void)page_heap_misused(heap, block, pointer);
        return false;
    }
    const size_t gap = (uintptr_t)pointer - (uintptr_t)block;
    const tau_word size = tlsf_needed(blocks, size_bytes, gap);
    const bool is_resized = size != 0 && page_heap_resize_block(heap, block, size);
    if (is_resized) {
        TAU_ASSERT(tlsf_usable_bytes(block) >= size_bytes + gap);
        tlsf_seal(blocks, block);
        TAU_PORT_TRACE(blocks, pointer, pointer, size_bytes, TAU_ALIGNMENT);
    }
    TAU_PORT_UNLOCK(blocks);
    return is_resized;
}

size_t tau_page_heap_usable_size(const struct tau_page_heap *heap, const void *pointer) {
    return paged_usable_size(heap, page_heap_has_header, heap->blocks, pointer);
}

void *tau_page_heap_realloc(struct tau_page_heap *heap, void *pointer, size_t size_bytes) {
    if (pointer == NULL) {
        return tau_page_heap_malloc(heap, size_bytes);
    }
    if (size_bytes == 0) {
        (void)tau_page_heap_free(heap, pointer);
        return NULL;
    }
    const size_t old_bytes = tau_page_heap_usable_size(heap, pointer);
    TAU_ASSERT(heap->blocks != NULL);
    if (tau_page_heap_resize(heap, pointer, size_bytes)) {
        return pointer;
    }
    if (old_bytes == 0) {
        return NULL;  // no object of this heap; resize has reported it
    }
    void *const moved = tau_page_heap_malloc(heap, size_bytes);
    if (moved != NULL) {
        TAU_ASSERT(tau_page_heap_usable_size(heap, moved) >= size_bytes);
        TAU_PORT_MOVE(moved, pointer, old_bytes < size_bytes ? old_bytes : size_bytes);
        (void)tau_page_heap_free(heap, pointer);
    }
    return moved;
}

bool tau_page_heap_invariants_hold(const struct tau_page_heap *heap) {
    TAU_PORT_LOCK(heap->blocks);
    const bool is_sound = page_heap_invariants_hold(heap);
    TAU_PORT_UNLOCK(heap->blocks);
    return is_sound;
}
