// The pages validity array (PVA) with its virtual regions cache (VRC): a page table in which one
// store invalidates all pages of a region.
//
// Each region is an initialization-free array (Mehlhorn 1984). All of them share one set of arrays.
// Only sp is ever initialized. Every other array may hold anything at any time.
//
// Source: the paper's sections II-C1, IV-A1, IV-A2, Lemma 1 [P0-13 … P0-15, P0-22 … P0-26]. Layout,
// invariants and the four cases of Lemma 1: docs/spec/vspace.md, "The pages validity array".
// validity_inline.h has the operations, for vspace.c and the heaps on pages.
#ifndef TAU_VALIDITY_H
#define TAU_VALIDITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/page.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// The three memories that the RTMMU reads in parallel [P0-28], one element per page.
struct tau_validity_region {  // port 1
    uint32_t cache;           // c[b]: start of b's region at the time b was mapped
    uint32_t top;             // sp[a] | rights | state of the region that starts at a
};

struct tau_validity_stack {  // port 2
    uint32_t helper;         // h[b]: index of b in the stack of its region
    uint32_t page;           // s[i]: the page at stack index i
};

struct tau_validity {
    struct tau_validity_region *regions;
    struct tau_validity_stack *stacks;
    uint32_t *data;  // port 3: d[b]: frame | rights
    uint32_t pages_count;
};

// Bytes of the three memories for PAGES_COUNT pages: five words per page [P0-20].
size_t tau_validity_size_bytes(uint32_t pages_count);

// Places the three memories in MEMORY and initializes sp, nothing else.
// Fails if and only if any of these holds (TAU_BAD_ARGUMENT):
// - MEMORY is NULL or not a multiple of 4, or its end wraps around
// - PAGES_COUNT is 0 or above TAU_NUMBER_MASK
// - SIZE_BYTES is too small
// Cost: one store per page.
enum tau_status tau_validity_init(struct tau_validity *validity, void *memory, size_t size_bytes,
                                  uint32_t pages_count);

// As tau_validity_init, for memories at the addresses where an MMU reads them. Each has PAGES_COUNT
// elements.
static inline void tau_validity_init_at(struct tau_validity *validity,
                                        struct tau_validity_region *regions,
                                        struct tau_validity_stack *stacks, uint32_t *data,
                                        uint32_t pages_count) {
    validity->regions = regions;
    validity->stacks = stacks;
    validity->data = data;
    validity->pages_count = pages_count;
    for (uint32_t page = 0; page < validity->pages_count; page++) {  // bound: pages_count
        validity->regions[page].top = 0;
    }
}

// Does the MMU's lookup of PAGE. Returns true and sets *ENTRY (frame | rights) if and only if PAGE
// is mapped.
// Cost: constant time. It reads at most five words and not the region tree [P0-11].
bool tau_validity_lookup(const struct tau_validity *validity, struct tau_page page,
                         uint32_t *entry);

#ifdef __cplusplus
}
#endif

#endif
