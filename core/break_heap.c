// The conventional heap: placed as page_heap.c places, on a plain page table. What differs is what
// happens to pages: an edge is mapped if it is not yet, and only a free block that reaches the end
// of the heap gives its pages back, one by one.
#include "core/break_heap.h"

#include "core/pagetable_entry.h"
#include "core/tlsf_pages.h"

#define HEAP_RIGHTS (TAU_READ | TAU_WRITE)

TAU_INLINE uint32_t last_page(const struct tau_break_heap *heap) {
    return heap->first.number + heap->pages_count - 1;
}

// Makes the pages of CUT what they will be; END is the free block's end. False, with nothing
// changed, if a frame is missing.
TAU_INLINE bool cut_pages(struct tau_break_heap *heap, struct cut cut, uintptr_t end) {
    struct tau_pagetable *const table = heap->table;
    uint32_t frame;
    TAU_ASSERT(cut.start <= cut.split);
    TAU_ASSERT(cut.end <= last_page(heap));
    if (cut.split != cut.start && cut.split != cut.end && !pagetable_is_mapped(table, cut.split)) {
        if (!frames_take_clean(table->frames, &frame)) {
            return false;
        }
        pagetable_enter(table, cut.split, frame, HEAP_RIGHTS);
    }
    if (end == heap->limit) {
        heap->break_page = cut.rest != 0 && cut.split != cut.end ? cut.split + 1 : last_page(heap);
    }
    return true;
}

// Whether the header in front of BLOCK may be looked at: it is aligned and its page is mapped.
TAU_INLINE bool is_mapped_block(const struct tau_break_heap *heap, const tau_word *block) {
    const uint32_t edge = edge_of(ORIGIN(heap), block);
    TAU_ASSERT(heap->pages_count >= 2);
    TAU_ASSERT(heap->table != NULL);
    return edge - heap->first.number < heap->pages_count &&
           pagetable_is_mapped(heap->table, edge) && ((uintptr_t)block & (TAU_ALIGNMENT - 1)) == 0;
}

// As page_heap.c's.
TAU_INLINE bool can_look_at(const struct tau_break_heap *heap, tau_word *block) {
    if (!is_mapped_block(heap, block)) {
        return false;
    }
    const tau_word header = block[-1];
    tau_word *const next = after(block, header & SIZE_MASK);
    TAU_ASSERT(block != NULL);
    if (!is_mapped_block(heap, next) ||
        ((next[-1] & FREE) != 0 && !is_mapped_block(heap, after(next, size_of(next))))) {
        return false;
    }
    return (header & PREVIOUS_FREE) == 0 ||
           is_mapped_block(heap, before(block, block[-2] & SIZE_MASK));
}

// Why POINTER is no object of the heap; reports it and leaves the lock.
static __attribute__((noinline)) enum tau_status misused_object(struct tau_break_heap *heap,
                                                                tau_word *block, void *pointer) {
    TAU_ASSERT(heap->blocks != NULL);
    TAU_ASSERT(pointer != NULL);
    return misused_at(heap->blocks, block, pointer, is_mapped_block(heap, block),
                      can_look_at(heap, block));
}

static enum tau_status why_no_heap(const struct tau_pagetable *table, uintptr_t origin,
                                   struct tau_page first, uint32_t pages) {
    const uint64_t heap_bytes = (uint64_t)pages << TAU_PAGE_LOG2;
    TAU_ASSERT(table != NULL);
    TAU_ASSERT(table->pages_count != 0);
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
    if (first.number == 0) {
        return TAU_PAGE_ZERO;
    }
    if (first.number >= table->pages_count) {
        return TAU_PAGE_OUTSIDE;
    }
    if (pages > table->pages_count - first.number) {
        return TAU_REGION_TOO_LARGE;
    }
    return tau_frames_free_count(table->frames) <= control_pages((size_t)heap_bytes) ? TAU_NO_FRAME
                                                                                     : TAU_OK;
}

enum tau_status tau_break_heap_init(struct tau_break_heap *heap, struct tau_pagetable *table,
                                    uintptr_t origin, struct tau_page first, uint32_t pages) {
    const enum tau_status reason = why_no_heap(table, origin, first, pages);
    if (reason != TAU_OK) {
        return reason;
    }
    const size_t heap_bytes = (size_t)pages << TAU_PAGE_LOG2;
    const uint32_t control = control_pages(heap_bytes);
    const uint32_t last = first.number + pages - 1;
    for (uint32_t i = 0; i < control; i++) {  // bound: the control block's pages
        (void)tau_pagetable_map_page(table, (struct tau_page){first.number + i}, HEAP_RIGHTS);
    }
    (void)tau_pagetable_map_page(table, (struct tau_page){last}, HEAP_RIGHTS);
    const size_t skip = first_payload_bytes(heap_bytes) - tau_tlsf_control_bytes(heap_bytes);
    const uintptr_t start = origin + ((uintptr_t)first.number << TAU_PAGE_LOG2);
    *heap = (struct tau_break_heap){
        .blocks = tau_tlsf_init((void *)(start + skip), heap_bytes - skip, heap_bytes),
        .table = table,
        .origin = origin,
        .first = first,
        .pages_count = pages,
        .break_page = first.number + control,
        .limit = start + heap_bytes,
    };
    TAU_ASSERT(heap->blocks != NULL);
    TAU_ASSERT(pagetable_is_mapped(table, last));
    return TAU_OK;
}

void *tau_break_heap_malloc(struct tau_break_heap *heap, size_t size_bytes) {
    struct tau_tlsf *const blocks = heap->blocks;
    const tau_word size = needed(blocks, size_bytes, 0);
    if (size == 0) {
        return refuse(blocks, size_bytes, TAU_NO_MEMORY);
    }
    TAU_PORT_LOCK(blocks);
    TAU_INVARIANT(tau_tlsf_invariants_hold(blocks));
    enum tau_status reason;
    tau_word header;
    tau_word *const payload = take(blocks, size, &header, &reason);
    if (payload == NULL) {
        TAU_PORT_UNLOCK(blocks);
        return refuse(blocks, size_bytes, reason);
    }
    const struct cut cut = cut_of(ORIGIN(heap), payload, header, size);
    if (!cut_pages(heap, cut, (uintptr_t)after(payload, header - FREE))) {
        insert(blocks, payload, header);
        TAU_PORT_UNLOCK(blocks);
        return refuse(blocks, size_bytes, TAU_NO_MEMORY);
    }
    cut_write(blocks, payload, cut, 0);
    fields_of(blocks)->used_bytes += cut.size;
    TAU_ASSERT(!starts_page(payload));
    TAU_ASSERT(usable_bytes(payload) >= size_bytes);
    TAU_ASSERT(pagetable_is_mapped(heap->table, edge_of(ORIGIN(heap), payload)));
    seal(blocks, payload);
    TAU_PORT_TRACE(blocks, NULL, payload, size_bytes, TAU_ALIGNMENT);
    TAU_PORT_UNLOCK(blocks);
    return payload;
}

// Frames that a cut behind a gap takes: up to one for each of its two boundaries.
static uint32_t frames_needed(const struct tau_pagetable *table, struct cut cut) {
    const bool has_split = cut.split != cut.start && cut.split != cut.end;
    TAU_ASSERT(cut.start <= cut.split);
    TAU_ASSERT(cut.split <= cut.end);
    return (pagetable_is_mapped(table, cut.start) ? 0u : 1u) +
           (has_split && !pagetable_is_mapped(table, cut.split) ? 1u : 0u);
}

void *tau_break_heap_aligned_alloc(struct tau_break_heap *heap, size_t alignment,
                                   size_t size_bytes) {
    struct tau_tlsf *const blocks = heap->blocks;
    if (!tau_bits_is_power_of_two(alignment)) {
        return NULL;
    }
    if (alignment <= TAU_ALIGNMENT) {
        return tau_break_heap_malloc(heap, size_bytes);
    }
    const tau_word size = needed(blocks, size_bytes, PAGE_START_GAP);
    const size_t room = (size_t)fields_of(blocks)->block_max_bytes - size;
    if (size == 0 || alignment > room / 4) {
        return refuse(blocks, size_bytes, TAU_NO_MEMORY);
    }
    TAU_PORT_LOCK(blocks);
    TAU_INVARIANT(tau_tlsf_invariants_hold(blocks));
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
    const uintptr_t end = (uintptr_t)after(found, header - FREE);
    if (frames_needed(heap->table, cut) > tau_frames_free_count(heap->table->frames)) {
        insert(blocks, found, header);
        TAU_PORT_UNLOCK(blocks);
        return refuse(blocks, size_bytes, TAU_NO_MEMORY);
    }
    uint32_t frame = 0;
    if (!pagetable_is_mapped(heap->table, cut.start) &&
        frames_take_clean(heap->table->frames, &frame)) {
        pagetable_enter(heap->table, cut.start, frame, HEAP_RIGHTS);
    }
    (void)cut_pages(heap, cut, end);
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

// A free block reaches the end of the heap: its pages behind the one with its header go back.
TAU_INLINE void shrink(struct tau_break_heap *heap, uint32_t edge) {
    TAU_ASSERT(edge >= heap->first.number);
    TAU_ASSERT(edge <= last_page(heap));
    const uint32_t new_break = edge + 1;
    if (new_break < heap->break_page) {
        pagetable_unmap(heap->table, new_break, heap->break_page);
        heap->break_page = new_break;
    }
}

enum tau_status tau_break_heap_free(struct tau_break_heap *heap, void *pointer) {
    struct tau_tlsf *const blocks = heap->blocks;
    tau_word *const block = block_of(pointer);
    struct used used;
    if (pointer == NULL) {
        return TAU_OK;
    }
    TAU_PORT_LOCK(blocks);
    TAU_INVARIANT(tau_tlsf_invariants_hold(blocks));
    if (TAU_CHECK_LEVEL == 0) {
        used = look_at(block);
    } else if (!can_look_at(heap, block) || !is_used(blocks, block, &used)) {
        return misused_object(heap, block, pointer);
    }
    TAU_PORT_TRACE(blocks, pointer, NULL, 0, 0);
    const struct merged merged = merge(blocks, block, used);
    insert(blocks, merged.payload, merged.size + FREE);
    TAU_ASSERT(merged.size >= used.size);
    TAU_ASSERT(merged.payload <= block);
    if ((uintptr_t)after(merged.payload, merged.size) == heap->limit) {
        shrink(heap, edge_of(ORIGIN(heap), merged.payload));
    }
    TAU_PORT_UNLOCK(blocks);
    return TAU_OK;
}

size_t tau_break_heap_usable_size(const struct tau_break_heap *heap, const void *pointer) {
    tau_word *const block = block_of((void *)(uintptr_t)pointer);
    if (pointer == NULL || !can_look_at(heap, block) ||
        tau_tlsf_check_pointer(heap->blocks, block) != TAU_OK) {
        return 0;
    }
    return usable_bytes(block) - ((uintptr_t)pointer - (uintptr_t)block);
}

// As page_heap.c's, so that both place every object alike: a block that would leave a page stays.
static bool resize_block(struct tau_break_heap *heap, tau_word *block, tau_word size) {
    struct tau_tlsf *const blocks = heap->blocks;
    const tau_word old = size_of(block);
    tau_word *const next = after(block, old);
    TAU_ASSERT((block[-1] & FREE) == 0);
    TAU_ASSERT(old >= BLOCK_MIN_BYTES);
    if (size <= old) {
        return edge_of(ORIGIN(heap), after(block, size)) == edge_of(ORIGIN(heap), next);
    }
    const tau_word more = (next[-1] & FREE) != 0 ? size_of(next) : 0;
    if (size > old + more) {
        return false;
    }
    struct cut cut = cut_of(ORIGIN(heap), block, old + more + FREE, size);
    cut.start = edge_of(ORIGIN(heap), next);
    if (!cut_pages(heap, cut, (uintptr_t)after(next, more))) {
        return false;
    }
    unlink(blocks, next);
    cut_write(blocks, block, cut, block[-1] & PREVIOUS_FREE);
    fields_of(blocks)->used_bytes += cut.size - old;
    return true;
}

bool tau_break_heap_resize(struct tau_break_heap *heap, void *pointer, size_t size_bytes) {
    struct tau_tlsf *const blocks = heap->blocks;
    tau_word *const block = block_of(pointer);
    struct used used;
    if (pointer == NULL) {
        return false;
    }
    TAU_PORT_LOCK(blocks);
    TAU_INVARIANT(tau_tlsf_invariants_hold(blocks));
    if (TAU_CHECK_LEVEL >= 1 && (!can_look_at(heap, block) || !is_used(blocks, block, &used))) {
        (void)misused_object(heap, block, pointer);
        return false;
    }
    const size_t gap = (uintptr_t)pointer - (uintptr_t)block;
    const tau_word size = needed(blocks, size_bytes, gap);
    const bool is_resized = size != 0 && resize_block(heap, block, size);
    if (is_resized) {
        seal(blocks, block);
        TAU_PORT_TRACE(blocks, pointer, pointer, size_bytes, TAU_ALIGNMENT);
    }
    TAU_PORT_UNLOCK(blocks);
    return is_resized;
}

enum tau_status tau_break_heap_map_page(struct tau_break_heap *heap, struct tau_page page) {
    TAU_ASSERT(heap->break_page > heap->first.number);
    TAU_ASSERT(heap->break_page <= last_page(heap));
    if (page.number - heap->first.number >= heap->break_page - heap->first.number) {
        return TAU_NOT_IN_REGION;
    }
    return tau_pagetable_map_page(heap->table, page, HEAP_RIGHTS);
}
