// See check_page_heap.h.
#include "core/tests/checks/check_page_heap.h"

#include <stdlib.h>

#include "core/private/pages/validity_inline.h"
#include "core/tests/checks/check_tlsf.h"
#include "core/tests/checks/check_vspace.h"

// The blocks' demands on a page.
enum { NEEDS_NOTHING = 0, IS_EDGE = 1, OPENS = 2, IS_INSIDE = 4 };

struct walk {
    const struct tau_page_heap *heap;
    unsigned char *needs;  // a page of the heap
    uint32_t header_page;  // page of the first block's header, from the heap's first page on
    unsigned broken;
    bool is_first;
};

// The page, counted from the heap's first, of the boundary before ADDRESS.
static uint32_t edge_before(const struct tau_page_heap *heap, uintptr_t address) {
    const uintptr_t start = heap->origin + (uintptr_t)heap->first.number * TAU_PAGE_BYTES;
    return (uint32_t)((address - 8 - start) / TAU_PAGE_BYTES);
}

static bool visit(void *context, void *payload, size_t size_bytes, bool is_free) {
    struct walk *const walk = context;
    const uintptr_t block = (uintptr_t)payload;
    const size_t header_bytes = sizeof(tau_word);
    const size_t tail_bytes = !is_free && TAU_CHECK_LEVEL >= 2 ? sizeof(tau_word) : 0;
    const uint32_t edge = edge_before(walk->heap, block);
    const uint32_t end = edge_before(walk->heap, block + size_bytes + header_bytes + tail_bytes);
    if (block % TAU_PAGE_BYTES == 0 || end >= walk->heap->pages_count) {
        walk->broken = 1;
        return false;
    }
    if (walk->is_first) {
        walk->header_page = edge;
        walk->is_first = false;
    }
    walk->needs[edge] |= IS_EDGE;
    walk->needs[end] |= IS_EDGE;
    if (!is_free && end != edge) {
        walk->needs[edge] |= OPENS;
        for (uint32_t page = edge + 1; page < end; page++) {
            walk->needs[page] |= IS_INSIDE;
        }
    }
    return true;
}

// [PGH-2], [PGH-3], [PGH-4] for the heap's page at INDEX.
static unsigned page_broken(const struct walk *walk, uint32_t index) {
    const struct tau_page_heap *const heap = walk->heap;
    const struct tau_page page = {heap->first.number + index};
    const uint32_t top = heap->space->validity.regions[page.number].top;
    const bool is_control = index < walk->header_page;
    const bool is_edge = (walk->needs[index] & IS_EDGE) != 0;
    const bool is_start = tau_region_tree_is_start(&heap->space->tree, page);
    struct tau_frame frame;
    const bool is_mapped =
        tau_vspace_translate(heap->space, page, TAU_READ | TAU_WRITE, &frame) == TAU_OK;
    if (is_start != (is_edge || (is_control && index == 0))) {
        return 2;
    }
    if (is_start) {
        const bool opens = is_control || (walk->needs[index] & OPENS) != 0;
        if ((top & VALIDITY_STATE) != (opens ? VALIDITY_HEAP_OPEN : VALIDITY_HEAP_HEAD) ||
            (top & TAU_RIGHTS) != (TAU_READ | TAU_WRITE)) {
            return 3;
        }
    }
    if (is_edge || is_control ? !is_mapped : is_mapped && (walk->needs[index] & IS_INSIDE) == 0) {
        return 4;
    }
    return 0;
}

static unsigned pages_broken(const struct walk *walk) {
    const struct tau_page_heap *const heap = walk->heap;
    uint32_t committed_pages = 0;
    for (uint32_t index = 0; index < heap->pages_count; index++) {
        const unsigned broken = page_broken(walk, index);
        if (broken != 0) {
            return broken;
        }
        committed_pages += index < walk->header_page || walk->needs[index] != NEEDS_NOTHING;
    }
    if (committed_pages != heap->committed_pages || committed_pages > heap->commit_max_pages) {
        return 5;
    }
    return tau_page_heap_invariants_hold(heap) ? 0 : 6;
}

unsigned check_page_heap(const struct tau_page_heap *heap) {
    const unsigned blocks = check_tlsf(heap->blocks);
    if (blocks != 0) {
        return CHECK_PAGE_HEAP_TLSF + blocks;
    }
    struct walk walk = {.heap = heap, .needs = calloc(heap->pages_count, 1), .is_first = true};
    if (walk.needs == NULL) {
        abort();
    }
    tau_tlsf_walk(heap->blocks, visit, &walk);
    const unsigned broken = walk.broken != 0 ? walk.broken : pages_broken(&walk);
    free(walk.needs);
    if (broken != 0) {
        return broken;
    }
    const unsigned space = check_vspace(heap->space, NULL);
    return space == 0 ? 0 : CHECK_PAGE_HEAP_SPACE + space;
}
