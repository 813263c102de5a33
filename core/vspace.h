// An address space of regions. A page is mapped on its first access. Any region is unmapped as a
// whole, in constant time.
//
// Source: the paper's section IV [P0-5 … P0-12]. mapVRH, mapPage and unmapRegion are
// tau_vspace_map_region, _map_page and _unmap_region. Design: docs/design/vspace.md. States,
// invariants and bounds: docs/spec/vspace.md.
//
// Only init and close loop. No cost depends on the size or use of a region, only on the number of
// pages of the space [P0-27]. The costs below are longest paths on RV32IMC at -O2, in spaces of up
// to 2^20 pages, with a frame ready.
//
// The calls are not reentrant. The caller holds one lock per space and one per frame table.
//
// A port (core/port.h) may define TAU_PORT_FORGET_REGION(space, start). It is called after a store
// that leaves the region that starts at page START with fewer mapped pages. An MMU that caches
// translations by region (hw/rtmmu, the TLB of regions) must then forget this region's.
// - It is never called for a region that gains pages. An MMU that caches no faults need not know of
//   them.
// - No operation changes the rights of mapped pages.
// - The hook's store must be ordered after all earlier stores, both by the compiler and by the
//   processor.
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
    TAU_VSPACE_COMMIT,      // no fault fails for want of a frame: the space admits at most as many
                            // pages as its pool has frames; the pool must be the space's own
};

struct tau_vspace {
    struct tau_validity validity;
    struct tau_region_tree tree;
    struct tau_frames *frames;
    uint32_t mapped_pages;
    uint32_t committed_pages;  // pages of all regions
    uint32_t commit_max_pages;
};

// Bytes of table memory for 2^PAGES_LOG2 pages. 0 if PAGES_LOG2 is out of range.
size_t tau_vspace_size_bytes(unsigned pages_log2);

// Makes a space of 2^PAGES_LOG2 pages with its tables in MEMORY, which may hold anything. Page 0 is
// reserved.
// Fails if and only if:
// - PAGES_LOG2 is out of range (TAU_SPACE_TOO_SMALL, TAU_SPACE_TOO_LARGE)
// - FRAMES is NULL, or POLICY is TAU_VSPACE_COMMIT and FRAMES is not a reserved pool
//   (TAU_BAD_ARGUMENT)
// - MEMORY is NULL, misaligned (4) or smaller than tau_vspace_size_bytes, or its end wraps around
//   (TAU_BAD_ARGUMENT)
// Cost: one store per page and one per word of the tree.
enum tau_status tau_vspace_init(struct tau_vspace *space, void *memory, size_t size_bytes,
                                unsigned pages_log2, struct tau_frames *frames,
                                enum tau_vspace_policy policy);

// Addresses of a space's tables if an MMU reads them there: the three memories of the validity
// array, one element per page, and TREE_BYTES for the region tree.
struct tau_vspace_tables {
    struct tau_validity_region *regions;
    struct tau_validity_stack *stacks;
    uint32_t *data;
    void *tree;
    size_t tree_bytes;
};

// As tau_vspace_init with TAU_VSPACE_OVERCOMMIT, with the tables at TABLES. SPACE must be all zeros
// before, as a static variable is. It is inlined, so that addresses known at compile time become
// constants.
// Fails if and only if tau_region_tree_init fails.
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

// Makes the PAGES pages from START on a region that allows RIGHTS. No page is mapped yet.
// Fails, with nothing changed, if and only if:
// - PAGES is 0, or RIGHTS has a bit other than TAU_READ, _WRITE and _EXECUTE (TAU_BAD_ARGUMENT)
// - START is page 0 (TAU_PAGE_ZERO) or outside the space (TAU_PAGE_OUTSIDE)
// - the region ends outside the space (TAU_REGION_TOO_LARGE)
// - a page already belongs to a region (TAU_REGION_OVERLAPS)
// - the space commits and has too few frames for the region (TAU_NOT_ADMITTED)
// Cost: 325 instructions (264 with Zbb), 74 accesses.
enum tau_status tau_vspace_map_region(struct tau_vspace *space, struct tau_page start,
                                      uint32_t pages, uint32_t rights);

// As map_region, but commits COMMIT_PAGES, at most PAGES, instead of all pages. Meant for a heap,
// which itself stays within that number.
enum tau_status tau_vspace_claim(struct tau_vspace *space, struct tau_page start, uint32_t pages,
                                 uint32_t rights, uint32_t commit_pages);

// The fault handler: maps a frame at PAGE for an ACCESS. ACCESS is a set of rights; 0 asks for
// none.
// Fails, with nothing changed, if and only if:
// - PAGE is 0 (TAU_PAGE_ZERO) or outside the space (TAU_PAGE_OUTSIDE)
// - PAGE is in no region, or in free memory of a heap (TAU_NOT_IN_REGION)
// - ACCESS is not among the region's rights (TAU_ACCESS_DENIED)
// - PAGE is already mapped (TAU_PAGE_MAPPED)
// - no frame is left (TAU_NO_FRAME)
// Cost: 177 instructions (148 with Zbb), 53 accesses.
enum tau_status tau_vspace_map_page(struct tau_vspace *space, struct tau_page page,
                                    uint32_t access);

// Unmaps the region that starts at START and releases all its frames.
// Fails, with nothing changed, if and only if:
// - START is page 0 (TAU_PAGE_ZERO) or outside the space (TAU_PAGE_OUTSIDE)
// - no region starts at START (TAU_NOT_A_REGION)
// - the region belongs to a heap (TAU_REGION_IN_HEAP)
// Cost: 342 instructions (281 with Zbb), 88 accesses, whatever the region's size.
enum tau_status tau_vspace_unmap_region(struct tau_vspace *space, struct tau_page start);

// Unmaps every region, including the regions of heaps. Such a heap must not be used afterwards.
// Cost: one unmap_region per region.
void tau_vspace_close(struct tau_vspace *space);

// Does the MMU's translation. It does not read the region tree.
// - TAU_OK, and *FRAME is set, if PAGE is mapped and allows ACCESS
// - TAU_ACCESS_DENIED if PAGE is mapped and does not allow ACCESS
// - TAU_NOT_IN_REGION for every other fault
enum tau_status tau_vspace_translate(const struct tau_vspace *space, struct tau_page page,
                                     uint32_t access, struct tau_frame *frame);

// Constant-time self test. core/tests/checks/check_vspace.c checks the whole space.
bool tau_vspace_invariants_hold(const struct tau_vspace *space);

#ifdef __cplusplus
}
#endif

#endif
