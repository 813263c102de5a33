// Real-time virtual memory on a stock MMU: RISC-V Sv39 page tables in which every region hangs from
// one entry, so that unmapping it is one store, two splices and one flush, whatever its size.
//
// An Sv39 root table has 512 entries of 1 GiB; the lower half, 2^26 pages, is the address space.
// A region takes a *slot*: the 2 MiB that one level-1 entry covers if it lies within them, else the
// 1 GiB that one root entry covers. What is below that entry is the region's alone: a level-0
// table, or a level-1 table with level-0 tables as they are needed. Level-1 tables of 2 MiB slots
// are shared; one stays when it is empty and serves the next region in its GiB. Design:
// docs/design/sv39.md; bits, invariants, cost in tables and address space: docs/spec/sv39.md.
//
// No operation but close loops. Bounds are instructions on RV64IMAC at -O2, asserts off, flushes
// included; "with zeroing" is when the pools have no frame zeroed beforehand, and leaves out the
// bytes: one page for each frame taken. Not reentrant: one lock a space and one a frame table, by
// the caller. One hart; for several, see docs/design/sv39.md, "Several harts".
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

#define TAU_SV39_PAGES_LOG2 26u  // of a space: the lower half, 256 GiB
#define TAU_SV39_LARGE_LOG2 18u  // pages of a large slot: 1 GiB
#define TAU_SV39_SMALL_LOG2 9u   // pages of a small slot: 2 MiB
#define TAU_SV39_REGION_PAGES_MAX (1u << TAU_SV39_LARGE_LOG2)

// Where a port flushes translations of address space ASID: all of them, or those of one page, which
// covers leaf entries only.
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

// What is known of a frame that is a root, a shared table or the table that a region hangs from.
struct tau_sv39_table {
    uint32_t start;   // the region's first page
    uint32_t pages;   // its size; 0: a root or a shared table
    uint32_t flags;   // of its leaf entries
    uint32_t used;    // pages mapped; of a root or a shared table, regions that hang in it
    uint32_t newest;  // the pages' frames, linked newest to oldest; if any
    uint32_t oldest;
    uint32_t tables_newest;  // the region's tables, linked likewise; the oldest is this one
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

// Makes an empty space with identifier ASID. Pages come from FRAMES, tables from TABLES, which may
// be the same pool; RECORDS has one record for each frame up to the highest of TABLES, shared by
// all spaces, and may hold anything; frame 0 has the physical page number PHYSICAL_FIRST. Fails,
// with nothing changed, if and only if ASID is above 16 bits, the pools are over different links,
// TABLES is a reserved pool or has no aligned memory (its pages would not be zero), RECORDS is NULL
// or PHYSICAL_FIRST is too large for Sv39 (TAU_BAD_ARGUMENT), or no table page is left
// (TAU_NO_TABLE). The upper half of the root is the caller's.
enum tau_status tau_sv39_init(struct tau_sv39 *space, struct tau_frames *frames,
                              struct tau_frames *tables, struct tau_sv39_table *records,
                              uint64_t physical_first, uint32_t asid);

// What the register satp holds while SPACE is in force.
uint64_t tau_sv39_satp(const struct tau_sv39 *space);

// Makes PAGES pages from START on a region that allows RIGHTS. It takes one table page, or two if
// it is the first small one in its GiB. Fails, with nothing changed, if and only if PAGES is 0 or
// no entry can express RIGHTS (none, others, or writing without reading; TAU_BAD_ARGUMENT), START
// is page 0 (TAU_PAGE_ZERO) or beyond the space (TAU_PAGE_OUTSIDE), the region does not lie within
// one large slot (TAU_REGION_TOO_LARGE), its slot holds a region (TAU_REGION_OVERLAPS) or no table
// page is left (TAU_NO_TABLE). At most 145 instructions, 219 with zeroing.
enum tau_status tau_sv39_map_region(struct tau_sv39 *space, struct tau_page start, uint32_t pages,
                                    uint32_t rights);

// The fault handler: maps a frame at PAGE for an ACCESS (one of the rights). It takes a table page
// too if this is the first page in its 2 MiB of a large region. Fails, with nothing changed, if and
// only if PAGE is 0 or beyond the space (TAU_PAGE_ZERO, TAU_PAGE_OUTSIDE), in no region
// (TAU_NOT_IN_REGION), ACCESS is not among the region's rights (TAU_ACCESS_DENIED), the page is
// mapped (TAU_PAGE_MAPPED), no frame is left (TAU_NO_FRAME) or no table page (TAU_NO_TABLE). At
// most 154 instructions, 233 with zeroing.
enum tau_status tau_sv39_map_page(struct tau_sv39 *space, struct tau_page page, uint32_t access);

// Gives the region that starts at START back, with all its frames and tables. Fails, with nothing
// changed, if and only if START is page 0 or beyond the space (TAU_PAGE_ZERO, TAU_PAGE_OUTSIDE) or
// no region starts there (TAU_NOT_A_REGION). At most 85 instructions, of which 37 load or store.
enum tau_status tau_sv39_unmap_region(struct tau_sv39 *space, struct tau_page start);

// What the MMU does: TAU_OK and *FRAME if PAGE is mapped and allows ACCESS; else TAU_ACCESS_DENIED,
// or TAU_NOT_IN_REGION for every other fault. At most 46 instructions.
enum tau_status tau_sv39_translate(const struct tau_sv39 *space, struct tau_page page,
                                   uint32_t access, struct tau_frame *frame);

// Gives back all regions, the shared tables and the root; SPACE must be in force on no hart. Cost:
// one step a slot of the GiBs in use; meant for the end of a process, not for a deadline.
void tau_sv39_close(struct tau_sv39 *space);

// Constant-time self test. The full walk is core/tests/ports/check_sv39.c.
bool tau_sv39_invariants_hold(const struct tau_sv39 *space);

#ifdef __cplusplus
}
#endif

#endif
