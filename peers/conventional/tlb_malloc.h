// The interface of the paper: objects by color, for one TLB of a linear index [P4-5, P4-6, P4-8].
//
// A pool of sets x ways pages starts at a multiple of sets pages, so page p lies in set p modulo
// sets. R sets are reserved for large objects. A large color k is the run of pages kM ... kM + R
// - 1. A small color c is the pages of set R + c, one per way. Each color is a TLSF of its own,
// where the paper has a list. core/tlb_color.h does the same for any geometry, without a color per
// call.
#ifndef TAU_TLB_MALLOC_H
#define TAU_TLB_MALLOC_H

#include <stddef.h>
#include <stdint.h>

#include "core/config.h"
#include "core/status.h"
#include "core/tlsf.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tau_tlb_malloc_shape {
    uint32_t sets_count;      // M
    uint32_t ways;            // N
    uint32_t reserved_count;  // R, less than M
    uint8_t page_log2;
};

// Equation 2: M - R colors for objects of up to a page.
#define TAU_TLB_MALLOC_SMALL_COLORS(shape) ((shape)->sets_count - (shape)->reserved_count)

// Corollary 1: as many colors for larger objects as ways. None if no set is reserved.
#define TAU_TLB_MALLOC_LARGE_COLORS(shape) ((shape)->reserved_count > 0 ? (shape)->ways : 0u)

// Bytes of the pool. Its start is a multiple of M pages.
#define TAU_TLB_MALLOC_POOL_BYTES(shape)                                                           \
    ((size_t)(shape)->sets_count * (shape)->ways << (shape)->page_log2)

struct tau_tlb_malloc {
    struct tau_tlb_malloc_shape shape;
    uintptr_t pool;
    struct tau_tlsf **heaps;  // the small colors, then the large ones
    size_t small_max_bytes;   // the largest object of a small color
    size_t large_max_bytes;   // equation 1, less the overhead: page size x R
};

// Makes the colors of a pool at POOL. HEAPS has room for the small and the large colors.
// Fails (TAU_BAD_ARGUMENT), with nothing changed, if and only if:
// - a pointer is NULL
// - R is not less than M, M is not a power of two, or there are 0 ways
// - a page is too small for the control block (less than 2048 bytes)
// - a color is larger than a TLSF can be
// - POOL is not a multiple of M pages
// - the pool does not end inside the address space, or 32 bits cannot count its pages
// Cost: one step per pair of ways, for each color.
enum tau_status tau_tlb_malloc_init(struct tau_tlb_malloc *heap,
                                    const struct tau_tlb_malloc_shape *shape, void *pool,
                                    struct tau_tlsf **heaps);

// An object of COLOR: of a small color if SIZE_BYTES fits into a page with its overhead, else of a
// large one. Returns NULL if and only if COLOR does not exist or tau_tlsf_malloc finds no room.
// Cost: as tau_tlsf_malloc, and the choice of a color.
void *tau_tlb_malloc_allocate(struct tau_tlb_malloc *heap, size_t size_bytes, uint32_t color);

// Frees an object of COLOR. As tau_tlsf_free; a pointer into another color is foreign.
enum tau_status tau_tlb_malloc_free(struct tau_tlb_malloc *heap, void *pointer, uint32_t color);

#ifdef __cplusplus
}
#endif

#endif
