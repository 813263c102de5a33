// TLSF on pages: malloc and free over an address space. free returns every page that becomes wholly
// free, at once and anywhere in the heap, in constant time [P0-6, P0-33, P0-43].
//
// - Only pages that hold a block's header stay mapped. Such a page starts a region of its own,
//   which extends to the next such page. One free therefore releases at most two regions.
// - The pages of a free block cannot be mapped, except the page with its header. A late access is
//   refused.
//
// Every operation holds the port's lock of `blocks`. The space and its frames are read and changed
// under this lock too. The costs below are longest paths on RV32IMC at -O2 and check level 0,
// without zeroing frames that are not ready.
//
// Design: docs/design/page_heap.md. Bounds: docs/spec/bounds.md.
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
    uintptr_t origin;  // address of the space's page 0
    struct tau_page first;
    uint32_t pages_count;
    uint32_t committed_pages;  // pages that can be mapped without another malloc
    uint32_t commit_max_pages;
};

// Makes a heap of the PAGES pages of SPACE from FIRST on. ORIGIN is the address of the space's page
// 0 (TAU_SPACE_ORIGIN on a 32-bit machine). The heap never commits more than COMMIT_MAX_PAGES pages
// (UINT32_MAX: no limit).
// Fails, with nothing changed, if and only if:
// - tau_vspace_map_region or tau_vspace_map_page would fail, with their reasons
// - tau_tlsf_init would fail for the size (TAU_POOL_TOO_SMALL, TAU_POOL_TOO_LARGE)
// - ORIGIN cannot be the start of a page, or the heap's end wraps around (TAU_BAD_ARGUMENT)
// Cost: as tau_tlsf_init.
enum tau_status tau_page_heap_init(struct tau_page_heap *heap, struct tau_vspace *space,
                                   uintptr_t origin, struct tau_page first, uint32_t pages,
                                   uint32_t commit_max_pages);

// As tau_tlsf_malloc. The object's own pages are mapped on access. Returns NULL also if and only
// if:
// - the object's pages would exceed the commitment
// - no frame is left for the header of the remaining free block
// Cost: 212 instructions (188 with Zbb), 64 accesses.
void *tau_page_heap_malloc(struct tau_page_heap *heap, size_t size_bytes);

// As malloc of COUNT * SIZE_BYTES, cleared.
// Cost: malloc, one fault per page, and the clearing.
void *tau_page_heap_calloc(struct tau_page_heap *heap, size_t count, size_t size_bytes);

// As malloc, at a multiple of ALIGNMENT. Returns NULL also if ALIGNMENT is not a power of two.
// Cost: 511 instructions (483 with Zbb), 179 accesses.
void *tau_page_heap_aligned_alloc(struct tau_page_heap *heap, size_t alignment, size_t size_bytes);

// Resizes in place if the block or its free next neighbor has room. Otherwise it is malloc, copy
// and free, with the usual alignment. realloc(NULL, n) is malloc. realloc(p, 0) frees.
// Cost: resize. If it copies, also malloc, free, two object checks, one fault per page, and the
// copy.
void *tau_page_heap_realloc(struct tau_page_heap *heap, void *pointer, size_t size_bytes);

// Resizes in place. Returns false, with nothing changed, where realloc would have to copy.
// Cost: 330 instructions (324 with Zbb), 125 accesses.
bool tau_page_heap_resize(struct tau_page_heap *heap, void *pointer, size_t size_bytes);

// Frees the object and releases every page that becomes wholly free. Misuse changes nothing, and
// the call returns the reason.
// Cost: 271 instructions (265 with Zbb), 93 accesses, whatever the object's size.
enum tau_status tau_page_heap_free(struct tau_page_heap *heap, void *pointer);

// Bytes that may be used from POINTER on. 0 if POINTER is not an object of the heap.
size_t tau_page_heap_usable_size(const struct tau_page_heap *heap, const void *pointer);

// Constant-time self test. core/tests/checks/check_page_heap.c checks the whole heap.
bool tau_page_heap_invariants_hold(const struct tau_page_heap *heap);

#ifdef __cplusplus
}
#endif

#endif
