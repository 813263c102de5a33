// The conventional heap: the same TLSF on a plain page table. Pages are kept for reuse. They are
// released only when the end of the heap is freed, as sbrk does [P0-34, G-3].
#ifndef TAU_BREAK_HEAP_H
#define TAU_BREAK_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/status.h"
#include "core/tlsf.h"
#include "peers/conventional/pagetable.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tau_break_heap {
    struct tau_tlsf *blocks;
    struct tau_pagetable *table;
    uintptr_t origin;  // address of the table's page 0
    struct tau_page first;
    uint32_t pages_count;
    uint32_t break_page;  // the pages from here up to, but not including, the last are unmapped
    uintptr_t limit;      // end of the heap
};

// The operations are as in page_heap.h, without the commitment. Costs are stated under the same
// conditions.
enum tau_status tau_break_heap_init(struct tau_break_heap *heap, struct tau_pagetable *table,
                                    uintptr_t origin, struct tau_page first, uint32_t pages);

// Cost: 191 instructions (168 with Zbb), 57 accesses.
void *tau_break_heap_malloc(struct tau_break_heap *heap, size_t size_bytes);
void *tau_break_heap_aligned_alloc(struct tau_break_heap *heap, size_t alignment,
                                   size_t size_bytes);
bool tau_break_heap_resize(struct tau_break_heap *heap, void *pointer, size_t size_bytes);

// Cost: linear in the pages between the old and the new end of the heap.
enum tau_status tau_break_heap_free(struct tau_break_heap *heap, void *pointer);

// The free of the purging heap: also unmaps every page of the block that no header of a block
// needs, at once and anywhere in the heap, as tau_page_heap_free does. It separates what that
// policy saves from what the real-time MMU saves, which releases the same pages in constant time.
// A heap is freed by one of the two only. A page of a free block below the break can be mapped by a
// late access: the table does not know whose it is.
// Cost: linear in the pages of the block.
enum tau_status tau_break_heap_free_purging(struct tau_break_heap *heap, void *pointer);
size_t tau_break_heap_usable_size(const struct tau_break_heap *heap, const void *pointer);

// The fault handler: maps PAGE if it lies below the break.
// Fails with TAU_NOT_IN_REGION if PAGE lies above the break, else as tau_pagetable_map_page does.
// Cost: 66 instructions (66 with Zbb), 29 accesses.
enum tau_status tau_break_heap_map_page(struct tau_break_heap *heap, struct tau_page page);

#ifdef __cplusplus
}
#endif

#endif
