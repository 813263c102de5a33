// TLSF on pages: malloc and free over an address space, giving back every page that becomes wholly
// free, at once and anywhere in the heap, in constant time [P0-6, P0-33, P0-43].
//
// Only pages that hold a block's header stay mapped. Such a page starts a region of its own, which
// reaches to the next such page: so what one free gives back is at most two regions. The pages of a
// free block, except the one with its header, cannot be mapped: a late access is refused. Design:
// docs/design/page_heap.md; bounds: docs/spec/bounds.md. Every operation holds the port's lock of
// `blocks`, under which it reads and changes the space and its frames too. The costs below are
// those of the longest path on RV32IMC, -O2, at check level 0, without the zeroing of frames that
// are not ready.
#ifndef TAU_PAGE_HEAP_H
#define TAU_PAGE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/status.h"
#include "core/tlsf.h"
#include "core/vspace.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tau_page_heap {
    struct tau_tlsf *blocks;
    struct tau_vspace *space;
    uintptr_t origin;  // where the space's page 0 would be
    struct tau_page first;
    uint32_t pages_count;
    uint32_t committed_pages;  // that can be mapped without another malloc
    uint32_t commit_max_pages;
};

// Makes a heap of PAGES pages from FIRST on in SPACE, whose page 0 lies at ORIGIN (on a 32-bit
// machine TAU_SPACE_ORIGIN), that never commits more than COMMIT_MAX_PAGES pages (UINT32_MAX: no
// limit). Fails, with nothing changed, for the reasons of tau_vspace_map_region and
// tau_vspace_map_page, with TAU_POOL_TOO_SMALL or TAU_POOL_TOO_LARGE as tau_tlsf_init does, or if
// no page can start at ORIGIN (TAU_BAD_ARGUMENT). Cost: that of tau_tlsf_init.
enum tau_status tau_page_heap_init(struct tau_page_heap *heap, struct tau_vspace *space,
                                   uintptr_t origin, struct tau_page first, uint32_t pages,
                                   uint32_t commit_max_pages);

// As tau_tlsf_malloc; NULL also if and only if the object's pages would exceed the commitment or no
// frame is left for the header of what remains free. The object's own pages are mapped on access.
// Cost: 221 instructions (197 with Zbb), 66 accesses.
void *tau_page_heap_malloc(struct tau_page_heap *heap, size_t size_bytes);

// As malloc of COUNT * SIZE_BYTES, cleared. Cost: malloc, a fault a page and the clearing.
void *tau_page_heap_calloc(struct tau_page_heap *heap, size_t count, size_t size_bytes);

// As malloc, with the address a multiple of ALIGNMENT; NULL also if that is no power of two.
// Cost: 538 instructions (509 with Zbb), 195 accesses.
void *tau_page_heap_aligned_alloc(struct tau_page_heap *heap, size_t alignment, size_t size_bytes);

// In place where the block or its free neighbour behind has room; else malloc, copy, free, with the
// usual alignment. realloc(NULL, n) is malloc; realloc(p, 0) frees. Cost: resize; where it copies,
// malloc, free, two looks at objects, a fault a page and the copying.
void *tau_page_heap_realloc(struct tau_page_heap *heap, void *pointer, size_t size_bytes);

// Resizes in place; false, and nothing is changed, where realloc would have to copy.
// Cost: 335 instructions (330 with Zbb), 128 accesses.
bool tau_page_heap_resize(struct tau_page_heap *heap, void *pointer, size_t size_bytes);

// Gives the object and every page that becomes wholly free back. Misuse returns its reason and
// changes nothing.
// Cost: 284 instructions (279 with Zbb), 98 accesses, however large the object.
enum tau_status tau_page_heap_free(struct tau_page_heap *heap, void *pointer);

// Bytes that may be used from POINTER on; 0 if it is no object of the heap.
size_t tau_page_heap_usable_size(const struct tau_page_heap *heap, const void *pointer);

// Constant-time self test. The full walk is core/tests/checks/check_page_heap.c.
bool tau_page_heap_invariants_hold(const struct tau_page_heap *heap);

#ifdef __cplusplus
}
#endif

#endif
