// The conventional address space: a plain page table, one word a page, linear unmap. Ours is
// compared with it [P0-12, P0-34, G-3], so it is written with the same care.
#ifndef TAU_PAGETABLE_H
#define TAU_PAGETABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/frames.h"
#include "core/page.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// How unmap finds what is mapped in a range.
enum tau_pagetable_walk {
    TAU_PAGETABLE_RESERVED,  // looks at every page of the range, as the paper's baseline does
    TAU_PAGETABLE_MAPPED,    // looks at a bit a page first, 32 at a time
};

struct tau_pagetable {
    uint32_t *entries;  // frame | rights; 0: not mapped
    uint32_t *mapped;   // a bit a page; NULL if all reserved pages are walked
    uint32_t pages_count;
    uint32_t mapped_pages;
    struct tau_frames *frames;
};

// Bytes of table memory; 0 if PAGES_LOG2 is out of range.
size_t tau_pagetable_size_bytes(unsigned pages_log2, enum tau_pagetable_walk walk);

// Makes a table of 2^PAGES_LOG2 pages in MEMORY, nothing mapped. Fails if and only if PAGES_LOG2 is
// out of range (TAU_SPACE_TOO_SMALL, TAU_SPACE_TOO_LARGE), or FRAMES is NULL, WALK is none of the
// above, or MEMORY is NULL, misaligned (4) or smaller than tau_pagetable_size_bytes
// (TAU_BAD_ARGUMENT). Cost: one store a page.
enum tau_status tau_pagetable_init(struct tau_pagetable *table, void *memory, size_t size_bytes,
                                   unsigned pages_log2, struct tau_frames *frames,
                                   enum tau_pagetable_walk walk);

// Maps a frame at PAGE with RIGHTS. Fails, with nothing changed, if and only if PAGE is 0 or beyond
// the table (TAU_PAGE_ZERO, TAU_PAGE_OUTSIDE), RIGHTS is 0 or holds anything but TAU_READ, _WRITE
// and _EXECUTE (TAU_BAD_ARGUMENT), PAGE is mapped (TAU_PAGE_MAPPED), or no frame is left
// (TAU_NO_FRAME). Constant time.
enum tau_status tau_pagetable_map_page(struct tau_pagetable *table, struct tau_page page,
                                       uint32_t rights);

// Unmaps every mapped page of the PAGES pages from START on. Fails, with nothing changed, if and
// only if START is 0 or beyond the table (TAU_PAGE_ZERO, TAU_PAGE_OUTSIDE), or the range ends
// beyond it (TAU_REGION_TOO_LARGE). Cost: linear in PAGES.
enum tau_status tau_pagetable_unmap(struct tau_pagetable *table, struct tau_page start,
                                    uint32_t pages);

// The same for the pages from FIRST to before END, inside a table with TAU_PAGETABLE_MAPPED; for
// pagetable_inline.h.
void tau_pagetable_unmap_mapped(struct tau_pagetable *table, uint32_t first, uint32_t end);

// What the MMU does: TAU_OK and *FRAME if PAGE is mapped and allows ACCESS; else TAU_ACCESS_DENIED,
// or TAU_NOT_IN_REGION if it is not mapped. One word is read.
enum tau_status tau_pagetable_translate(const struct tau_pagetable *table, struct tau_page page,
                                        uint32_t access, struct tau_frame *frame);

// Constant-time self test. The full walk is core/tests/checks/check_pagetable.c.
bool tau_pagetable_invariants_hold(const struct tau_pagetable *table);

#ifdef __cplusplus
}
#endif

#endif
