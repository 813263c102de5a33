// Real-time virtual memory on a stock MMU with RISC-V Sv39 page tables. Every region hangs from one
// table entry. Unmapping a region is one store, two list splices and one flush, whatever its size.
//
// An Sv39 root table has 512 entries of 1 GiB. The lower half, 2^26 pages, is the address space.
// Each region occupies one *slot*:
// - a small slot is the 2 MiB that one level-1 entry covers, if the region lies within them
// - a large slot is the 1 GiB that one root entry covers, for every other region
//
// The tables below that entry belong to the region alone: one level-0 table for a small slot, or
// one level-1 table and level-0 tables on demand for a large slot. Regions in small slots share the
// level-1 table above them. An empty shared table stays and serves the next region in its GiB.
//
// Design: docs/design/sv39.md. Bits, invariants, and cost in tables and address space:
// docs/spec/sv39.md.
//
// Only close loops. Bounds are in instructions on RV64IMAC at -O2, with asserts off and flushes
// included. "With zeroing" is the bound if the pools have no zeroed frame. It excludes the zeroing
// itself, which is one page for each frame taken.
//
// The calls are not reentrant. The caller holds one lock per space and one per frame table. The
// port is for one hart. For several, see docs/design/sv39.md, "Several harts".
#ifndef TAU_SV39_H
#define TAU_SV39_H

#include <stdbool.h>
#include <stdint.h>

#include "core/frames.h"
#include "core/page.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TAU_SV39_PAGES_LOG2 26u  // a space is the lower half, 256 GiB
#define TAU_SV39_LARGE_LOG2 18u  // pages of a large slot: 1 GiB
#define TAU_SV39_SMALL_LOG2 9u   // pages of a small slot: 2 MiB
#define TAU_SV39_REGION_PAGES_MAX (1u << TAU_SV39_LARGE_LOG2)

// How a port flushes translations of address space ASID. FLUSH_SPACE flushes all of them.
// FLUSH_PAGE flushes the translations of one page, in leaf entries only.
#if !defined(TAU_SV39_FLUSH_SPACE) && defined(__riscv)
#define TAU_SV39_FLUSH_SPACE(asid)                                                                 \
    __asm__ volatile("sfence.vma zero, %0" : : "r"((uintptr_t)(asid)) : "memory")
#define TAU_SV39_FLUSH_PAGE(page, asid)                                                            \
    __asm__ volatile("sfence.vma %0, %1"                                                           \
                     :                                                                             \
                     : "r"((uintptr_t)(page) << 12), "r"((uintptr_t)(asid))                        \
                     : "memory")
#elif !defined(TAU_SV39_FLUSH_SPACE)
#define TAU_SV39_FLUSH_SPACE(asid) ((void)(asid))
#define TAU_SV39_FLUSH_PAGE(page, asid) ((void)(page), (void)(asid))
#endif

// State of a frame that is a root table, a shared table or the table that a region hangs from.
struct tau_sv39_table {
    uint32_t start;   // the region's first page
    uint32_t pages;   // its size; 0: a root or a shared table
    uint32_t flags;   // flags of its leaf entries
    uint32_t used;    // mapped pages; in a root or shared table: regions below it
    uint32_t newest;  // frames of the pages, linked newest to oldest, if any
    uint32_t oldest;
    uint32_t tables_newest;  // tables of the region, linked likewise; the oldest is this one
    uint32_t tables_count;
};

struct tau_sv39 {
    struct tau_frames *frames;
    struct tau_frames *tables;
    struct tau_sv39_table *records;  // by number of the table's frame
    uint64_t *root;
    uint64_t physical_first;  // physical page number of frame 0
    uint32_t asid;
    uint32_t mapped_pages;
};

// Makes an empty space with identifier ASID.
// - Pages come from FRAMES and tables from TABLES. Both may be the same pool.
// - RECORDS has one record for each frame up to the highest of TABLES. All spaces share it. It may
//   hold anything.
// - Frame 0 has the physical page number PHYSICAL_FIRST.
// - The upper half of the root belongs to the caller.
//
// Fails, with nothing changed, if and only if:
// - ASID needs more than 16 bits (TAU_BAD_ARGUMENT)
// - the pools use different frame tables (TAU_BAD_ARGUMENT)
// - TABLES is a reserved pool or has no aligned memory, so its pages would not be zeroed
//   (TAU_BAD_ARGUMENT)
// - RECORDS is NULL, or PHYSICAL_FIRST is too large for Sv39 (TAU_BAD_ARGUMENT)
// - no table page is left (TAU_NO_TABLE)
enum tau_status tau_sv39_init(struct tau_sv39 *space, struct tau_frames *frames,
                              struct tau_frames *tables, struct tau_sv39_table *records,
                              uint64_t physical_first, uint32_t asid);

// Value of the register satp while SPACE is active.
uint64_t tau_sv39_satp(const struct tau_sv39 *space);

// Makes the PAGES pages from START on a region that allows RIGHTS. It takes one table page, or two
// if the region is the first small one in its GiB.
// Fails, with nothing changed, if and only if:
// - PAGES is 0 (TAU_BAD_ARGUMENT)
// - no entry can express RIGHTS: none, unknown bits, or write without read (TAU_BAD_ARGUMENT)
// - START is page 0 (TAU_PAGE_ZERO) or outside the space (TAU_PAGE_OUTSIDE)
// - the region does not lie within one large slot (TAU_REGION_TOO_LARGE)
// - its slot already holds a region (TAU_REGION_OVERLAPS)
// - no table page is left (TAU_NO_TABLE)
// At most 145 instructions, 219 with zeroing.
enum tau_status tau_sv39_map_region(struct tau_sv39 *space, struct tau_page start, uint32_t pages,
                                    uint32_t rights);

// The fault handler: maps a frame at PAGE for an ACCESS, which is one of the rights. It takes a
// table page too if PAGE is the first mapped page in its 2 MiB of a large region.
// Fails, with nothing changed, if and only if:
// - PAGE is 0 (TAU_PAGE_ZERO) or outside the space (TAU_PAGE_OUTSIDE)
// - PAGE is in no region (TAU_NOT_IN_REGION)
// - ACCESS is not among the region's rights (TAU_ACCESS_DENIED)
// - PAGE is already mapped (TAU_PAGE_MAPPED)
// - no frame is left (TAU_NO_FRAME), or no table page (TAU_NO_TABLE)
// At most 154 instructions, 233 with zeroing.
enum tau_status tau_sv39_map_page(struct tau_sv39 *space, struct tau_page page, uint32_t access);

// Unmaps the region that starts at START and releases all its frames and tables.
// Fails, with nothing changed, if and only if:
// - START is page 0 (TAU_PAGE_ZERO) or outside the space (TAU_PAGE_OUTSIDE)
// - no region starts at START (TAU_NOT_A_REGION)
// At most 85 instructions, of which 37 load or store.
enum tau_status tau_sv39_unmap_region(struct tau_sv39 *space, struct tau_page start);

// Does the MMU's translation.
// - TAU_OK, and *FRAME is set, if PAGE is mapped and allows ACCESS
// - TAU_ACCESS_DENIED if PAGE is mapped and does not allow ACCESS
// - TAU_NOT_IN_REGION for every other fault
// At most 46 instructions.
enum tau_status tau_sv39_translate(const struct tau_sv39 *space, struct tau_page page,
                                   uint32_t access, struct tau_frame *frame);

// Unmaps all regions and releases the shared tables and the root. SPACE must be active on no hart.
// Meant for the end of a process, not before a deadline.
// Cost: one step for each slot of the GiBs in use.
void tau_sv39_close(struct tau_sv39 *space);

// Constant-time self test. core/tests/ports/check_sv39.c checks the whole space.
bool tau_sv39_invariants_hold(const struct tau_sv39 *space);

#ifdef __cplusplus
}
#endif

#endif
