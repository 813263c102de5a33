// The pages validity array (PVA) with its virtual regions cache (VRC): a page table that forgets
// all pages of a region at one store.
//
// It is an initialization-free array (Mehlhorn 1984) per region, all of them laid over one set of
// arrays. Source: the paper's sections II-C1, IV-A1, IV-A2, Lemma 1 [P0-13 ... P0-15, P0-22 ...
// P0-26]. Only the sp array is ever initialised; everything else may hold anything at any time.
// Layout, invariants and the four cases of Lemma 1 are docs/spec/vspace.md, "The pages validity
// array". The operations are inlined, for vspace.c and the heaps on pages: validity_inline.h.
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

// The three memories that the RTMMU reads in parallel [P0-28], an element a page.
struct tau_validity_region {  // port 1
    uint32_t cache;           // c[b]: start of b's region, when it was mapped
    uint32_t top;             // sp[a] | rights | state, where a region starts at a
};

struct tau_validity_stack {  // port 2
    uint32_t helper;         // h[b]: b's place in the stack of its region
    uint32_t page;           // s[i]: the page whose place is i
};

struct tau_validity {
    struct tau_validity_region *regions;
    struct tau_validity_stack *stacks;
    uint32_t *data;  // port 3: d[b]: frame | rights
    uint32_t pages_count;
};

// Bytes of the three memories for PAGES_COUNT pages: five words a page [P0-20].
size_t tau_validity_size_bytes(uint32_t pages_count);

// Lays the memories out in MEMORY and initialises sp, nothing else. Fails if and only if MEMORY is
// NULL or no multiple of 4, PAGES_COUNT is 0 or above TAU_NUMBER_MASK, or SIZE_BYTES is too small
// (TAU_BAD_ARGUMENT). Cost: one store a page.
enum tau_status tau_validity_init(struct tau_validity *validity, void *memory, size_t size_bytes,
                                  uint32_t pages_count);

// The same for memories that lie where an MMU reads them, PAGES_COUNT elements each.
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

// What the MMU does for PAGE: true and *ENTRY (frame | rights) if and only if it is mapped.
// Constant time: at most five words are read; no region tree [P0-11].
bool tau_validity_lookup(const struct tau_validity *validity, struct tau_page page,
                         uint32_t *entry);

#ifdef __cplusplus
}
#endif

#endif
