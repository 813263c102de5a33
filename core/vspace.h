// An address space: regions of pages that are mapped on their first access and given back, whole
// and anywhere, in constant time.
//
// Source: the paper's section IV [P0-5 ... P0-12]; mapVRH, mapPage and unmapRegion are
// tau_vspace_map_region, _map_page and _unmap_region. Design: docs/design/vspace.md;
// states, invariants and bounds: docs/spec/vspace.md. No operation but init and close
// loops; none depends on the size or use of a region, only on the number of pages of the space
// [P0-27]; the costs below are those of the longest path on RV32IMC, -O2, in spaces of up to 2^20
// pages, with a frame ready. Not reentrant: one lock a space and one a frame table, by the caller.
#ifndef TAU_VSPACE_H
#define TAU_VSPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/frames.h"
#include "core/page.h"
#include "core/region_tree.h"
#include "core/status.h"
#include "core/validity.h"

#ifdef __cplusplus
extern "C" {
#endif

enum tau_vspace_policy {
    TAU_VSPACE_OVERCOMMIT,  // a fault fails if and only if no frame is left
    TAU_VSPACE_COMMIT,      // no more pages are admitted than the space's pool has frames, so that
                            // no fault ever fails; the pool must be the space's own
};

struct tau_vspace {
    struct tau_validity validity;
    struct tau_region_tree tree;
    struct tau_frames *frames;
    uint32_t mapped_pages;
    uint32_t committed_pages;  // pages of all regions
    uint32_t commit_max_pages;
};

// Bytes of table memory for 2^PAGES_LOG2 pages; 0 if PAGES_LOG2 is out of range.
size_t tau_vspace_size_bytes(unsigned pages_log2);

// Makes a space of 2^PAGES_LOG2 pages, of which page 0 is never used, with its tables in MEMORY,
// which may hold anything. Fails if and only if PAGES_LOG2 is out of range (TAU_SPACE_TOO_SMALL,
// TAU_SPACE_TOO_LARGE), FRAMES is NULL, or not a reserved pool with TAU_VSPACE_COMMIT, or MEMORY is
// NULL, misaligned (4) or smaller than tau_vspace_size_bytes (TAU_BAD_ARGUMENT). Cost: one store a
// page and one a word of the tree.
enum tau_status tau_vspace_init(struct tau_vspace *space, void *memory, size_t size_bytes,
                                unsigned pages_log2, struct tau_frames *frames,
                                enum tau_vspace_policy policy);

// Where the tables of a space lie if an MMU reads them there: the three memories of the validity
// array, an element a page each, and TREE_BYTES for the tree of regions.
struct tau_vspace_tables {
    struct tau_validity_region *regions;
    struct tau_validity_stack *stacks;
    uint32_t *data;
    void *tree;
    size_t tree_bytes;
};

// As tau_vspace_init with TAU_VSPACE_OVERCOMMIT, with the tables at TABLES. SPACE is all zeros
// before, as a static one is. Fails if and only if the tree cannot be made (tau_region_tree_init).
// Inlined, for addresses that the compiler knows.
static inline enum tau_status tau_vspace_init_at(struct tau_vspace *space,
                                                 const struct tau_vspace_tables *tables,
                                                 unsigned pages_log2, struct tau_frames *frames) {
    const enum tau_status made =
        tau_region_tree_init(&space->tree, tables->tree, tables->tree_bytes, pages_log2);
    if (made != TAU_OK) {
        return made;
    }
    tau_validity_init_at(&space->validity, tables->regions, tables->stacks, tables->data,
                         UINT32_C(1) << pages_log2);
    space->frames = frames;
    space->commit_max_pages = UINT32_MAX;
    return TAU_OK;
}

// Makes PAGES pages from START on a region that allows RIGHTS; nothing is mapped yet. Fails, with
// nothing changed, if and only if PAGES is 0 or RIGHTS holds anything but TAU_READ, _WRITE and
// _EXECUTE (TAU_BAD_ARGUMENT), START is page 0 (TAU_PAGE_ZERO) or beyond the space
// (TAU_PAGE_OUTSIDE), the region ends beyond it (TAU_REGION_TOO_LARGE), some page belongs to a
// region (TAU_REGION_OVERLAPS), or the space commits and its frames would not hold it
// (TAU_NOT_ADMITTED).
// Cost: 323 instructions (264 with Zbb), 74 accesses.
enum tau_status tau_vspace_map_region(struct tau_vspace *space, struct tau_page start,
                                      uint32_t pages, uint32_t rights);

// As map_region, but admitted with COMMIT_PAGES (at most PAGES) instead of all its pages: for a
// heap, which keeps within them by itself.
enum tau_status tau_vspace_claim(struct tau_vspace *space, struct tau_page start, uint32_t pages,
                                 uint32_t rights, uint32_t commit_pages);

// The fault handler: maps a frame at PAGE for an ACCESS (some of the rights; 0 asks for none).
// Fails, with nothing changed, if and only if PAGE is 0 or beyond the space (TAU_PAGE_ZERO,
// TAU_PAGE_OUTSIDE), in no region or in a heap's free memory (TAU_NOT_IN_REGION), ACCESS is not
// among the region's rights (TAU_ACCESS_DENIED), the page is mapped (TAU_PAGE_MAPPED), or no frame
// is left (TAU_NO_FRAME).
// Cost: 177 instructions (148 with Zbb), 53 accesses.
enum tau_status tau_vspace_map_page(struct tau_vspace *space, struct tau_page page,
                                    uint32_t access);

// Gives the region that starts at START back, with all its frames. Fails, with nothing changed, if
// and only if START is page 0 or beyond the space (TAU_PAGE_ZERO, TAU_PAGE_OUTSIDE), no region
// starts there (TAU_NOT_A_REGION), or it belongs to a heap (TAU_REGION_IN_HEAP).
// Cost: 340 instructions (281 with Zbb), 88 accesses, whatever the region's size.
enum tau_status tau_vspace_unmap_region(struct tau_vspace *space, struct tau_page start);

// Gives back every region, those of heaps too, which are no heaps from then on. Cost: one
// unmap_region a region.
void tau_vspace_close(struct tau_vspace *space);

// What the MMU does: TAU_OK and *FRAME if PAGE is mapped and allows ACCESS; else TAU_ACCESS_DENIED,
// or TAU_NOT_IN_REGION for every other fault. The region tree is not asked.
enum tau_status tau_vspace_translate(const struct tau_vspace *space, struct tau_page page,
                                     uint32_t access, struct tau_frame *frame);

// Constant-time self test. The full walk is core/tests/checks/check_vspace.c.
bool tau_vspace_invariants_hold(const struct tau_vspace *space);

#ifdef __cplusplus
}
#endif

#endif
