// Where the blocks of a heap on pages meet, in pages.
//
// The boundary of two blocks takes 16 bytes of a 32-bit heap. If the second block's payload is at
// t, the first block's footer is at t - 8, the second block's header at t - 4, and its links at t
// and t + 4. No payload starts a page, so a boundary lies in one page. That page is its edge.
#ifndef TAU_PAGED_EDGES_H
#define TAU_PAGED_EDGES_H

#include "core/page.h"
#include "core/private/heap/tlsf_block.h"
#include "core/private/heap/tlsf_check.h"
#include "core/private/heap/tlsf_list.h"
#include "core/private/heap/tlsf_merge.h"
#include "core/private/heap/tlsf_request.h"

_Static_assert(TAU_ALIGNMENT == TAU_ALIGNMENT_DEFAULT,
               "a heap on pages has the default alignment: leave core/page_heap.c out");

// Gap between a block's payload and its object, if the object starts a page.
#define PAGED_START_GAP ((tau_word)(2 * TAU_ALIGNMENT))

// The address of the space's page 0 is a constant in a build for a 32-bit machine. A 64-bit machine
// that stands for one has spaces anywhere.
#if UINTPTR_MAX > 0xffffffffu
#define PAGED_ORIGIN(heap) ((heap)->origin)
#else
#define PAGED_ORIGIN(heap) ((void)(heap), (uintptr_t)TAU_SPACE_ORIGIN)
#endif

TAU_SHARED bool paged_starts_page(const void *address) {
    return ((uintptr_t)address & (TAU_PAGE_BYTES - 1)) == 0;
}

// The page of the boundary before PAYLOAD, which may be any address: no bit of it is lost.
TAU_SHARED uintptr_t paged_any_edge_of(uintptr_t origin, const tau_word *payload) {
    return ((uintptr_t)payload - TAU_ALIGNMENT - origin) >> TAU_PAGE_LOG2;
}

// The page of the boundary before PAYLOAD, which is a block of the heap or the heap's end.
TAU_SHARED uint32_t paged_edge_of(uintptr_t origin, const tau_word *payload) {
    return (uint32_t)paged_any_edge_of(origin, payload);
}

// Bytes before the first payload, which must not start a page.
TAU_SHARED size_t paged_first_payload_bytes(size_t heap_bytes) {
    const size_t bytes = tau_tlsf_control_bytes(heap_bytes);
    TAU_ASSERT(bytes >= TAU_ALIGNMENT);
    TAU_ASSERT(bytes % TAU_ALIGNMENT == 0);
    return bytes % TAU_PAGE_BYTES == 0 ? bytes + TAU_ALIGNMENT : bytes;
}

// Pages up to the one with the first block's header. They always stay mapped.
TAU_SHARED uint32_t paged_control_pages(size_t heap_bytes) {
    return (uint32_t)((paged_first_payload_bytes(heap_bytes) - TAU_ALIGNMENT) >> TAU_PAGE_LOG2) + 1;
}

// Why a heap of PAGES pages is impossible in any space.
TAU_SHARED enum tau_status paged_why_no_size(uintptr_t origin, uint32_t pages) {
    const uint64_t heap_bytes = (uint64_t)pages << TAU_PAGE_LOG2;
    if (!paged_starts_page((void *)origin) ||
        (origin != TAU_SPACE_ORIGIN && UINTPTR_MAX <= 0xffffffffu)) {
        return TAU_BAD_ARGUMENT;
    }
    if (heap_bytes > TLSF_POOL_MAX_BYTES) {
        return TAU_POOL_TOO_LARGE;
    }
    return heap_bytes < TAU_TLSF_POOL_MIN_BYTES || pages <= paged_control_pages((size_t)heap_bytes)
               ? TAU_POOL_TOO_SMALL
               : TAU_OK;
}

// Whether the PAGES pages from FIRST on end inside the address space.
TAU_SHARED bool paged_ends_in_memory(uintptr_t origin, struct tau_page first, uint32_t pages) {
    const uint64_t bytes = ((uint64_t)first.number + pages) << TAU_PAGE_LOG2;
    TAU_ASSERT(paged_starts_page((void *)origin));
    TAU_ASSERT(pages != 0);
    return bytes <= UINTPTR_MAX - origin;
}

// Makes the blocks of a heap of PAGES pages from START on. Its control pages and its last page must
// be mapped.
TAU_SHARED struct tau_tlsf *paged_blocks_in(uintptr_t start, uint32_t pages) {
    const size_t heap_bytes = (size_t)pages << TAU_PAGE_LOG2;
    const size_t skip = paged_first_payload_bytes(heap_bytes) - tau_tlsf_control_bytes(heap_bytes);
    TAU_ASSERT(paged_starts_page((void *)start));
    TAU_ASSERT(skip == 0 || skip == TAU_ALIGNMENT);
    struct tau_tlsf *const blocks =
        tau_tlsf_init((void *)(start + skip), heap_bytes - skip, heap_bytes);
    tlsf_list_wilderness(blocks);  // its bounds are pages, which the lists' blocks know
    return blocks;
}

// How a free block is cut: the SIZE bytes from PAYLOAD on are allocated.
struct paged_cut {
    tau_word size;           // Bytes of the allocated block.
    tau_word rest;           // Bytes that stay free. 0 if the whole block is allocated.
    uint32_t start;          // The edge before the block.
    uint32_t split;          // The edge before the rest, or `end` without a rest.
    uint32_t end;            // The edge after the free block.
    const tau_word *behind;  // Payload of the next block.
};

// Cuts the unlisted free block at PAYLOAD with HEADER (its size | TLSF_FREE) for SIZE bytes.
TAU_SHARED struct paged_cut paged_cut_of(uintptr_t origin, const tau_word *payload, tau_word header,
                                         tau_word size) {
    const tau_word whole = header - TLSF_FREE;
    TAU_ASSERT(size <= whole);
    TAU_ASSERT((header & TLSF_FLAGS) == TLSF_FREE);
    if (paged_starts_page(tlsf_after(payload, size))) {
        size += TAU_ALIGNMENT;
    }
    struct paged_cut cut = {
        .size = size, .rest = whole - size, .behind = tlsf_after(payload, whole)};
    cut.start = paged_edge_of(origin, payload);
    cut.end = paged_edge_of(origin, cut.behind);
    cut.split = paged_edge_of(origin, tlsf_after(payload, size));
    if ((tau_signed_word)(cut.rest - TLSF_BLOCK_MIN_BYTES) < 0) {
        cut.size = whole;
        cut.rest = 0;
        cut.split = cut.end;
    }
    TAU_ASSERT(cut.start <= cut.split);
    TAU_ASSERT(cut.split <= cut.end);
    return cut;
}

// Writes the headers of a cut, with FLAGS for the allocated block, and lists the rest.
TAU_SHARED void paged_cut_write(struct tau_tlsf *blocks, tau_word *payload, struct paged_cut cut,
                                tau_word flags) {
    TAU_ASSERT(cut.size >= TLSF_BLOCK_MIN_BYTES);
    TAU_ASSERT(cut.rest == 0 || cut.rest >= TLSF_BLOCK_MIN_BYTES);
    payload[-1] = cut.size | flags;
    if (TAU_ON_LONGEST_PATH(cut.rest != 0)) {
        tlsf_insert(blocks, tlsf_after(payload, cut.size), cut.rest + TLSF_FREE);
    } else {
        tlsf_after(payload, cut.size)[-1] &= ~TLSF_PREVIOUS_FREE;
    }
}

// The block of an object. An object that starts a page lies a gap after its block's payload.
TAU_SHARED tau_word *paged_block_of(void *pointer) {
    return paged_starts_page(pointer) ? tlsf_before(pointer, PAGED_START_GAP) : pointer;
}

// The block of an object with ALIGNMENT, which is above the usual one, in the free block at FOUND.
// *POINTER is the object. The bytes from FOUND to the result are none or a block. It takes at most
// three steps of ALIGNMENT: a gap of one unit is too small for a block, and skipping that gap may
// lead to the start of a page.
TAU_SHARED tau_word *paged_aligned_block(tau_word *found, size_t alignment, void **pointer) {
    uintptr_t address = tau_bits_round_up((uintptr_t)found, alignment);
    TAU_ASSERT(alignment > TAU_ALIGNMENT);
    TAU_ASSERT(!paged_starts_page(found));
#pragma GCC unroll 3
    for (unsigned step = 0; step < 3; step++) {
        *pointer = (void *)address;
        tau_word *const block = paged_block_of(*pointer);
        const uintptr_t gap = (uintptr_t)block - (uintptr_t)found;
        if (gap == 0 || (intptr_t)gap >= (intptr_t)TLSF_BLOCK_MIN_BYTES) {
            return block;
        }
        address += alignment;
    }
    *pointer = (void *)address;
    return paged_block_of(*pointer);
}

// Extra bytes that the free block for such an object must have: the gap before a page and the
// steps.
#define PAGED_GAP_BYTES(alignment) (4 * (tau_word)(alignment))

#endif
