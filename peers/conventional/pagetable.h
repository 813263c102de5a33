// The conventional address space: a plain page table with one word per page and linear unmap. It is
// the baseline of our measurements [P0-12, P0-34, G-3], so it is optimized with the same care.
#ifndef TAU_PAGETABLE_H
#define TAU_PAGETABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/frames.h"
#include "core/page.h"
#include "core/region_tree.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// How unmap finds the mapped pages of a range.
enum tau_pagetable_walk {
    TAU_PAGETABLE_RESERVED,  // reads the entry of every page, as the paper's baseline does
    TAU_PAGETABLE_MAPPED,    // reads one bit per page first, 32 pages at a time
};

struct tau_pagetable {
    uint32_t *entries;  // frame | rights; 0: not mapped
    uint32_t *mapped;   // one bit per page; NULL with TAU_PAGETABLE_RESERVED
    uint32_t pages_count;
    uint32_t mapped_pages;
    struct tau_frames *frames;
};

// Bytes of table memory. 0 if PAGES_LOG2 is out of range.
size_t tau_pagetable_size_bytes(unsigned pages_log2, enum tau_pagetable_walk walk);

// Makes a table of 2^PAGES_LOG2 pages in MEMORY. No page is mapped.
// Fails if and only if:
// - PAGES_LOG2 is out of range (TAU_SPACE_TOO_SMALL, TAU_SPACE_TOO_LARGE)
// - FRAMES is NULL, or WALK is not one of the above (TAU_BAD_ARGUMENT)
// - MEMORY is NULL, misaligned (4) or smaller than tau_pagetable_size_bytes (TAU_BAD_ARGUMENT)
// Cost: one store per page.
enum tau_status tau_pagetable_init(struct tau_pagetable *table, void *memory, size_t size_bytes,
                                   unsigned pages_log2, struct tau_frames *frames,
                                   enum tau_pagetable_walk walk);

// Maps a frame at PAGE with RIGHTS.
// Fails, with nothing changed, if and only if:
// - PAGE is 0 (TAU_PAGE_ZERO) or outside the table (TAU_PAGE_OUTSIDE)
// - RIGHTS is 0, or has a bit other than TAU_READ, _WRITE and _EXECUTE (TAU_BAD_ARGUMENT)
// - PAGE is already mapped (TAU_PAGE_MAPPED)
// - no frame is left (TAU_NO_FRAME)
// Cost: constant time.
enum tau_status tau_pagetable_map_page(struct tau_pagetable *table, struct tau_page page,
                                       uint32_t rights);

// Unmaps every mapped page of the PAGES pages from START on.
// Fails, with nothing changed, if and only if:
// - START is 0 (TAU_PAGE_ZERO) or outside the table (TAU_PAGE_OUTSIDE)
// - the range ends outside the table (TAU_REGION_TOO_LARGE)
// Cost: linear in PAGES.
enum tau_status tau_pagetable_unmap(struct tau_pagetable *table, struct tau_page start,
                                    uint32_t pages);

// As tau_pagetable_unmap, for the pages from FIRST to END - 1. The range must lie inside the table,
// and its walk must be TAU_PAGETABLE_MAPPED. Only pagetable_inline.h calls this.
void tau_pagetable_unmap_mapped(struct tau_pagetable *table, uint32_t first, uint32_t end);

// Does the MMU's translation. It reads one word.
// - TAU_OK, and *FRAME is set, if PAGE is mapped and allows ACCESS
// - TAU_ACCESS_DENIED if PAGE is mapped and does not allow ACCESS
// - TAU_NOT_IN_REGION if PAGE is not mapped
enum tau_status tau_pagetable_translate(const struct tau_pagetable *table, struct tau_page page,
                                        uint32_t access, struct tau_frame *frame);

// Constant-time self test. core/tests/checks/check_pagetable.c checks the whole table.
bool tau_pagetable_invariants_hold(const struct tau_pagetable *table);

#ifdef __cplusplus
}
#endif

#endif
