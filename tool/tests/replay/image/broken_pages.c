// Heaps on pages that are wrong in the one way that `broken` says, with the names of
// core/page_heap.h.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/page_heap.h"

#define UNMAPPED 1    // Writes a header to a page that is not mapped.
#define LOSES 2       // free returns every page of the heap.
#define MISCOUNTS 3   // Forgets to count a page.
#define REFUSES 4     // The pages of objects cannot be mapped.
#define MISALIGNS 5   // Objects start at odd addresses.
#define OVERLAPS 6    // Two objects share memory.
#define ENDLESS 7     // free never returns.
#define SHRINKS 8     // A resize in place gives a page back that the object still has.
#define NOT_FREED 9   // free says that it refused.

extern volatile uint32_t broken;

// The test sets it in the linked image.
volatile uint32_t broken = 0x5a5a5a5a;
static uintptr_t next;

enum tau_status tau_page_heap_init(struct tau_page_heap *heap, struct tau_vspace *space,
                                   uintptr_t origin, struct tau_page first, uint32_t pages,
                                   uint32_t commit_max_pages) {
    (void)commit_max_pages;
    *heap = (struct tau_page_heap){.space = space, .origin = origin, .first = first};
    heap->pages_count = pages;
    next = origin + ((uintptr_t)first.number << TAU_PAGE_LOG2) + 8;
    return broken == REFUSES
               ? TAU_OK
               : tau_vspace_map_region(space, first, pages, TAU_READ | TAU_WRITE);
}

void *tau_page_heap_malloc(struct tau_page_heap *heap, size_t size_bytes) {
    const uintptr_t pointer = next + (broken == MISALIGNS ? 1 : 0);
    next += broken == OVERLAPS ? 8 : (size_bytes + 15) & ~(size_t)7;
    if (broken == UNMAPPED) {
        *(volatile uint32_t *)pointer = 1;
    }
    if (broken == MISCOUNTS) {
        heap->space->mapped_pages += 1;
    }
    return (void *)pointer;
}

void *tau_page_heap_aligned_alloc(struct tau_page_heap *heap, size_t alignment, size_t size_bytes) {
    (void)alignment;
    return tau_page_heap_malloc(heap, size_bytes);
}

bool tau_page_heap_resize(struct tau_page_heap *heap, void *pointer, size_t size_bytes) {
    (void)pointer;
    (void)size_bytes;
    if (broken == SHRINKS) {
        (void)tau_vspace_unmap_region(heap->space, heap->first);
        (void)tau_vspace_map_region(heap->space, heap->first, heap->pages_count,
                                    TAU_READ | TAU_WRITE);
    }
    return true;
}

enum tau_status tau_page_heap_free(struct tau_page_heap *heap, void *pointer) {
    (void)pointer;
    while (broken == ENDLESS) {
    }
    if (broken == LOSES) {
        (void)tau_vspace_unmap_region(heap->space, heap->first);
        (void)tau_vspace_map_region(heap->space, heap->first, heap->pages_count,
                                    TAU_READ | TAU_WRITE);
    }
    return broken == NOT_FREED ? TAU_DOUBLE_FREE : TAU_OK;
}
