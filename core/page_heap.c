// TLSF on pages. SPEC.md, "TLSF on pages", numbers what holds; the steps:
//
// 1. malloc cuts a free block. If the boundary in front of what remains falls into a page that has
//    no boundary yet, that page becomes a region of its own with one frame: the header is about to
//    be written there.
// 2. The pages between two edges belong to the region of the first one. They are mapped by faults,
//    and only while the block that reaches over them is in use.
// 3. free merges the block. Edges that now lie inside the merged block are dissolved: the frames of
//    their regions, the object's among them, go back as one chain. If the block's own edge stays,
//    its region keeps the first page only.
#include "core/page_heap.h"

#include "core/tlsf_pages.h"
#include "core/vspace_region.h"

#define HEAP_RIGHTS (TAU_READ | TAU_WRITE)

// ---- Edges -------------------------------------------------------------------------------------

// Makes EDGE a region of its own, which has FRAME as its first page.
TAU_INLINE void edge_open(struct tau_vspace *space, uint32_t edge, uint32_t frame) {
    struct tau_validity *const validity = &space->validity;
    TAU_ASSERT(edge != 0);
    TAU_ASSERT(edge < validity->pages_count);
    region_tree_split(&space->tree, (struct tau_page){edge});
    validity->regions[edge].cache = edge;
    validity->regions[edge].top = edge | REGION_HEAP_HEAD | HEAP_RIGHTS;
    validity->stacks[edge].helper = edge;
    validity->stacks[edge].page = edge;
    validity->data[edge] = frame | HEAP_RIGHTS;
    space->mapped_pages++;
}

// Gives the frames of the region at EDGE back; the first one stays if IS_KEPT, else the region
// joins the one before it.
TAU_INLINE void edge_release(struct tau_vspace *space, uint32_t edge, bool is_kept) {
    const uint32_t sp = validity_sp(space->validity.regions[edge].top);
    const uint32_t first = is_kept ? edge + 1 : edge;
    TAU_ASSERT(sp >= edge);
    TAU_ASSERT(space->validity.stacks[edge].page == edge);
    if (ON_LONGEST_PATH(sp >= first)) {
        region_release(space, first, sp);
    }
    if (is_kept) {
        space->validity.regions[edge].top = edge | REGION_HEAP_HEAD | HEAP_RIGHTS;
    } else {
        region_empty(space, edge, REGION_FREE);
        region_tree_union(&space->tree, (struct tau_page){edge});
    }
}

// Opens the region of EDGE, of which only the edge is mapped, for a block that reaches beyond it.
TAU_INLINE void edge_extend(struct tau_vspace *space, uint32_t edge) {
    TAU_ASSERT(validity_sp(space->validity.regions[edge].top) == edge);
    TAU_ASSERT((space->validity.regions[edge].top & REGION_STATE) == REGION_HEAP_HEAD);
    space->validity.regions[edge].top = edge | REGION_HEAP_OPEN | HEAP_RIGHTS;
}

// Makes the pages of CUT what they will be: false, with nothing changed, if they exceed the
// commitment or a frame is missing.
TAU_INLINE bool cut_pages(struct tau_page_heap *heap, struct cut cut) {
    struct tau_vspace *const space = heap->space;
    uint32_t frame;
    if (cut.split == cut.start) {
        return true;
    }
    uint32_t committed_pages = heap->committed_pages + (cut.split - cut.start);
    if (ON_LONGEST_PATH(cut.split != cut.end)) {
        if (committed_pages > heap->commit_max_pages || !frames_take_clean(space->frames, &frame)) {
            return false;
        }
        edge_open(space, cut.split, frame);
    } else {
        committed_pages -= 1;  // the edge behind is one already
        if (committed_pages > heap->commit_max_pages) {
            return false;
        }
    }
    heap->committed_pages = committed_pages;
    edge_extend(space, cut.start);
    TAU_ASSERT(committed_pages >= 2);
    return true;
}

// A used block left: START and END are its edges, LOW and HIGH those of the free block that it is
// part of now. END lies inside that one only if the block behind was free too.
TAU_INLINE void release_pages(struct tau_page_heap *heap, uint32_t start, uint32_t end,
                              uint32_t low, uint32_t high) {
    struct tau_vspace *const space = heap->space;
    uint32_t pages = end != start ? end - start - 1 : 0;
    TAU_ASSERT(low <= start && start <= end && end <= high);
    if (start == low) {
        if (end != start) {
            edge_release(space, start, true);
        }
    } else if (start != high) {
        edge_release(space, start, false);
        pages += 1;
    }
    if (ON_LONGEST_PATH(end != start && end != high)) {
        edge_release(space, end, false);
        pages += 1;
    }
    TAU_ASSERT(heap->committed_pages >= pages);
    heap->committed_pages -= pages;
}

// ---- Making a heap -----------------------------------------------------------------------------

static enum tau_status why_no_heap(const struct tau_vspace *space, uintptr_t origin, uint32_t pages,
                                   uint32_t commit_max_pages) {
    const uint64_t heap_bytes = (uint64_t)pages << TAU_PAGE_LOG2;
    if (!starts_page((void *)origin) ||
        (origin != TAU_SPACE_ORIGIN && UINTPTR_MAX <= 0xffffffffu)) {
        return TAU_BAD_ARGUMENT;
    }
    if (heap_bytes > POOL_MAX_BYTES) {
        return TAU_POOL_TOO_LARGE;
    }
    if (heap_bytes < TAU_TLSF_POOL_MIN_BYTES || pages <= control_pages((size_t)heap_bytes)) {
        return TAU_POOL_TOO_SMALL;
    }
    TAU_ASSERT(pages >= 2);
    TAU_ASSERT(space->frames != NULL);
    if (commit_max_pages <= control_pages((size_t)heap_bytes)) {
        return TAU_NOT_ADMITTED;
    }
    return tau_frames_free_count(space->frames) <= control_pages((size_t)heap_bytes) ? TAU_NO_FRAME
                                                                                     : TAU_OK;
}

// Maps the pages from FIRST to the one with the first block's header, an edge, and the heap's last
// page, the other edge.
static void map_control(struct tau_vspace *space, uint32_t first, uint32_t header, uint32_t last) {
    uint32_t frame = 0;
    TAU_ASSERT(first <= header);
    TAU_ASSERT(header < last);
    if (header == first) {
        region_tree_union(&space->tree, (struct tau_page){first});
    }
    for (uint32_t page = first; page < header; page++) {  // bound: the control block's pages
        (void)tau_vspace_map_page(space, (struct tau_page){page}, TAU_WRITE);
    }
    space->validity.regions[first].top |= REGION_HEAP_HEAD;
    (void)frames_take_clean(space->frames, &frame);
    edge_open(space, header, frame);
    (void)frames_take_clean(space->frames, &frame);
    edge_open(space, last, frame);
}

enum tau_status tau_page_heap_init(struct tau_page_heap *heap, struct tau_vspace *space,
                                   uintptr_t origin, struct tau_page first, uint32_t pages,
                                   uint32_t commit_max_pages) {
    const enum tau_status reason = why_no_heap(space, origin, pages, commit_max_pages);
    if (reason != TAU_OK) {
        return reason;
    }
    const size_t heap_bytes = (size_t)pages << TAU_PAGE_LOG2;
    const uint32_t control = control_pages(heap_bytes);
    const enum tau_status claimed = tau_vspace_claim(
        space, first, pages, HEAP_RIGHTS, commit_max_pages < pages ? commit_max_pages : pages);
    if (claimed != TAU_OK) {
        return claimed;
    }
    map_control(space, first.number, first.number + control - 1, first.number + pages - 1);
    const size_t skip = first_payload_bytes(heap_bytes) - tau_tlsf_control_bytes(heap_bytes);
    const uintptr_t memory = origin + ((uintptr_t)first.number << TAU_PAGE_LOG2) + skip;
    *heap = (struct tau_page_heap){
        .blocks = tau_tlsf_init((void *)memory, heap_bytes - skip, heap_bytes),
        .space = space,
        .origin = origin,
        .first = first,
        .pages_count = pages,
        .committed_pages = control + 1,
        .commit_max_pages = commit_max_pages,
    };
    TAU_ASSERT(heap->blocks != NULL);
    TAU_ASSERT(tau_page_heap_invariants_hold(heap));
    return TAU_OK;
}

// ---- Looking at an object ----------------------------------------------------------------------

// Whether POINTER may be looked at: its block's header would lie in one of the heap's edges.
TAU_INLINE bool is_at_edge(const struct tau_page_heap *heap, const tau_word *block) {
    const uint32_t edge = edge_of(ORIGIN(heap), block);
    TAU_ASSERT(heap->pages_count >= 2);
    TAU_ASSERT(heap->space != NULL);
    return edge - heap->first.number < heap->pages_count &&
           region_tree_is_start(&heap->space->tree, (struct tau_page){edge}) &&
           ((uintptr_t)block & (TAU_ALIGNMENT - 1)) == 0;
}

// Whether a look at BLOCK and its neighbors, as is_used takes it, stays in mapped pages: all
// headers are in edges, and what is no header may lead anywhere.
TAU_INLINE bool can_look_at(const struct tau_page_heap *heap, tau_word *block) {
    if (!is_at_edge(heap, block)) {
        return false;
    }
    const tau_word header = block[-1];
    tau_word *const next = after(block, header & SIZE_MASK);
    TAU_ASSERT(block != NULL);
    if (!is_at_edge(heap, next) ||
        ((next[-1] & FREE) != 0 && !is_at_edge(heap, after(next, size_of(next))))) {
        return false;
    }
    return (header & PREVIOUS_FREE) == 0 || is_at_edge(heap, before(block, block[-2] & SIZE_MASK));
}

// Why POINTER is no object of the heap; reports it and leaves the lock.
static __attribute__((noinline)) enum tau_status misused_object(struct tau_page_heap *heap,
                                                                tau_word *block, void *pointer) {
    TAU_ASSERT(heap->blocks != NULL);
    TAU_ASSERT(pointer != NULL);
    return misused_at(heap->blocks, block, pointer, is_at_edge(heap, block),
                      can_look_at(heap, block));
}

size_t tau_page_heap_usable_size(const struct tau_page_heap *heap, const void *pointer) {
    tau_word *const block = block_of((void *)(uintptr_t)pointer);
    if (pointer == NULL || !can_look_at(heap, block) ||
        tau_tlsf_check_pointer(heap->blocks, block) != TAU_OK) {
        return 0;
    }
    return usable_bytes(block) - ((uintptr_t)pointer - (uintptr_t)block);
}

// ---- The operations ----------------------------------------------------------------------------

void *tau_page_heap_malloc(struct tau_page_heap *heap, size_t size_bytes) {
    struct tau_tlsf *const blocks = heap->blocks;
    const tau_word size = needed(blocks, size_bytes, 0);
    if (size == 0) {
        return refuse(blocks, size_bytes, TAU_NO_MEMORY);
    }
    TAU_PORT_LOCK(blocks);
    TAU_INVARIANT(tau_page_heap_invariants_hold(heap));
    enum tau_status reason;
    tau_word header;
    tau_word *const payload = take(blocks, size, &header, &reason);
    if (payload == NULL) {
        TAU_PORT_UNLOCK(blocks);
        return refuse(blocks, size_bytes, reason);
    }
    const struct cut cut = cut_of(ORIGIN(heap), payload, header, size);
    if (!cut_pages(heap, cut)) {
        insert(blocks, payload, header);
        TAU_PORT_UNLOCK(blocks);
        return refuse(blocks, size_bytes, TAU_NO_MEMORY);
    }
    cut_write(blocks, payload, cut, 0);
    fields_of(blocks)->used_bytes += cut.size;
    TAU_ASSERT(!starts_page(payload));
    TAU_ASSERT(usable_bytes(payload) >= size_bytes);
    seal(blocks, payload);
    TAU_PORT_TRACE(blocks, NULL, payload, size_bytes, TAU_ALIGNMENT);
    TAU_PORT_UNLOCK(blocks);
    return payload;
}

void *tau_page_heap_calloc(struct tau_page_heap *heap, size_t count, size_t size_bytes) {
    size_t total_bytes;
    if (__builtin_mul_overflow(count, size_bytes, &total_bytes)) {
        return refuse(heap->blocks, SIZE_MAX, TAU_NO_MEMORY);
    }
    void *const pointer = tau_page_heap_malloc(heap, total_bytes);
    if (pointer != NULL) {
        TAU_ASSERT(tau_page_heap_usable_size(heap, pointer) >= total_bytes);
        TAU_PORT_FILL(pointer, 0, total_bytes);
    }
    return pointer;
}

// Whether frames and commitment suffice for CUT, which starts in a free block whose edge is LOW: it
// has two boundaries, so up to two new edges.
static bool is_cut_admitted(const struct tau_page_heap *heap, struct cut cut, uint32_t low) {
    const uint32_t start_edges = cut.start != low && cut.start != cut.end ? 1 : 0;
    const uint32_t split_edges = cut.split != cut.start && cut.split != cut.end ? 1 : 0;
    const uint32_t between = cut.split != cut.start ? cut.split - cut.start - 1 : 0;
    TAU_ASSERT(low <= cut.start);
    TAU_ASSERT(heap->committed_pages <= heap->commit_max_pages);
    return start_edges + split_edges + between <= heap->commit_max_pages - heap->committed_pages &&
           start_edges + split_edges <= tau_frames_free_count(heap->space->frames);
}

void *tau_page_heap_aligned_alloc(struct tau_page_heap *heap, size_t alignment, size_t size_bytes) {
    struct tau_tlsf *const blocks = heap->blocks;
    if (!tau_bits_is_power_of_two(alignment)) {
        return NULL;
    }
    if (alignment <= TAU_ALIGNMENT) {
        return tau_page_heap_malloc(heap, size_bytes);
    }
    const tau_word size = needed(blocks, size_bytes, PAGE_START_GAP);
    const size_t room = (size_t)fields_of(blocks)->block_max_bytes - size;
    if (size == 0 || alignment > room / 4) {
        return refuse(blocks, size_bytes, TAU_NO_MEMORY);
    }
    TAU_PORT_LOCK(blocks);
    TAU_INVARIANT(tau_page_heap_invariants_hold(heap));
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
    const struct cut cut = cut_of(ORIGIN(heap), block, header - gap, size);
    if (!is_cut_admitted(heap, cut, edge_of(ORIGIN(heap), found))) {
        insert(blocks, found, header);
        TAU_PORT_UNLOCK(blocks);
        return refuse(blocks, size_bytes, TAU_NO_MEMORY);
    }
    uint32_t frame = 0;
    if (cut.start != edge_of(ORIGIN(heap), found) && cut.start != cut.end &&
        frames_take_clean(heap->space->frames, &frame)) {
        edge_open(heap->space, cut.start, frame);
        heap->committed_pages += 1;
    }
    const bool is_cut = cut_pages(heap, cut);
    TAU_ASSERT(is_cut);
    (void)is_cut;
    if (gap != 0) {
        insert(blocks, found, gap + FREE);
    }
    cut_write(blocks, block, cut, gap != 0 ? PREVIOUS_FREE : 0);
    fields_of(blocks)->used_bytes += cut.size;
    TAU_ASSERT(((uintptr_t)pointer & (alignment - 1)) == 0);
    TAU_ASSERT(block_of(pointer) == block);
    seal(blocks, block);
    TAU_PORT_TRACE(blocks, NULL, pointer, size_bytes, alignment);
    TAU_PORT_UNLOCK(blocks);
    return pointer;
}

enum tau_status tau_page_heap_free(struct tau_page_heap *heap, void *pointer) {
    struct tau_tlsf *const blocks = heap->blocks;
    tau_word *const block = block_of(pointer);
    struct used used;
    if (pointer == NULL) {
        return TAU_OK;
    }
    TAU_PORT_LOCK(blocks);
    TAU_INVARIANT(tau_page_heap_invariants_hold(heap));
    if (TAU_CHECK_LEVEL == 0) {
        used = look_at(block);
    } else if (!can_look_at(heap, block) || !is_used(blocks, block, &used)) {
        return misused_object(heap, block, pointer);
    }
    TAU_PORT_TRACE(blocks, pointer, NULL, 0, 0);
    tau_word *const next = after(block, used.size);
    const uint32_t start = edge_of(ORIGIN(heap), block);
    const uint32_t end = edge_of(ORIGIN(heap), next);
    const struct merged merged = merge(blocks, block, used);
    const uint32_t low = edge_of(ORIGIN(heap), merged.payload);
    const uint32_t high = edge_of(ORIGIN(heap), after(merged.payload, merged.size));
    insert(blocks, merged.payload, merged.size + FREE);
    TAU_ASSERT(low <= start);
    TAU_ASSERT(end <= high);
    release_pages(heap, start, end, low, high);
    TAU_PORT_UNLOCK(blocks);
    return TAU_OK;
}

// Moves the boundary behind a used block whose edges are START and END from END to where CUT, which
// starts there, says: END's page becomes one of the block's own.
static bool move_end(struct tau_page_heap *heap, uint32_t start, struct cut cut) {
    struct tau_vspace *const space = heap->space;
    const uint32_t end = cut.start;
    const bool is_new = cut.split != cut.end;
    uint32_t frame = 0;
    if (cut.split == end) {
        return true;
    }
    const uint32_t pages = cut.split - end - (is_new ? 0 : 1);
    if (pages > heap->commit_max_pages - heap->committed_pages ||
        (is_new && !frames_take_clean(space->frames, &frame))) {
        return false;
    }
    if (is_new) {
        edge_open(space, cut.split, frame);
    }
    if (end != start) {
        const uint32_t kept = space->validity.data[end] & TAU_NUMBER_MASK;
        TAU_ASSERT(validity_sp(space->validity.regions[end].top) == end);
        region_empty(space, end, REGION_FREE);
        region_tree_union(&space->tree, (struct tau_page){end});
        validity_push(&space->validity, space->frames->links, start, end, kept);
    }
    heap->committed_pages += pages;
    space->validity.regions[start].top |= REGION_OPEN;
    TAU_ASSERT(heap->committed_pages <= heap->commit_max_pages);
    return true;
}

// Resizes the used BLOCK to SIZE; false, with nothing changed, where it has to move or where pages
// would have to be given back, which only free can do in constant time.
static bool resize_block(struct tau_page_heap *heap, tau_word *block, tau_word size) {
    struct tau_tlsf *const blocks = heap->blocks;
    const tau_word old = size_of(block);
    tau_word *const next = after(block, old);
    const uint32_t start = edge_of(ORIGIN(heap), block);
    const uint32_t end = edge_of(ORIGIN(heap), next);
    TAU_ASSERT((block[-1] & FREE) == 0);
    if (size <= old) {
        return edge_of(ORIGIN(heap), after(block, size)) == end;
    }
    const tau_word more = (next[-1] & FREE) != 0 ? size_of(next) : 0;
    if (size > old + more) {
        return false;
    }
    struct cut cut = cut_of(ORIGIN(heap), block, old + more + FREE, size);
    cut.start = end;
    if (!move_end(heap, start, cut)) {
        return false;
    }
    unlink(blocks, next);
    TAU_ASSERT(cut.size > old);
    cut_write(blocks, block, cut, block[-1] & PREVIOUS_FREE);
    fields_of(blocks)->used_bytes += cut.size - old;
    return true;
}

bool tau_page_heap_resize(struct tau_page_heap *heap, void *pointer, size_t size_bytes) {
    struct tau_tlsf *const blocks = heap->blocks;
    tau_word *const block = block_of(pointer);
    struct used used;
    if (pointer == NULL) {
        return false;
    }
    TAU_PORT_LOCK(blocks);
    TAU_INVARIANT(tau_page_heap_invariants_hold(heap));
    if (TAU_CHECK_LEVEL >= 1 && (!can_look_at(heap, block) || !is_used(blocks, block, &used))) {
        (void)misused_object(heap, block, pointer);
        return false;
    }
    const size_t gap = (uintptr_t)pointer - (uintptr_t)block;
    const tau_word size = needed(blocks, size_bytes, gap);
    const bool is_resized = size != 0 && resize_block(heap, block, size);
    if (is_resized) {
        TAU_ASSERT(usable_bytes(block) >= size_bytes + gap);
        seal(blocks, block);
        TAU_PORT_TRACE(blocks, pointer, pointer, size_bytes, TAU_ALIGNMENT);
    }
    TAU_PORT_UNLOCK(blocks);
    return is_resized;
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
        return NULL;  // no object of this heap, as resize has reported
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
    const uint32_t last = heap->first.number + heap->pages_count - 1;
    TAU_ASSERT(heap->space != NULL);
    return heap->blocks != NULL && heap->committed_pages <= heap->pages_count &&
           heap->committed_pages <= heap->commit_max_pages &&
           region_tree_is_start(&heap->space->tree, heap->first) &&
           region_tree_is_start(&heap->space->tree, (struct tau_page){last}) &&
           tau_tlsf_invariants_hold(heap->blocks);
}
