// The RTMMU: its tables, and its optional TLB of regions (hw/rtmmu/doc/rtmmu.md).
#ifndef TAU_MMU_RTMMU_H
#define TAU_MMU_RTMMU_H

#include "targets/tile/mmu_pagetable.h"
#include "targets/tile/tile.h"

#define TAU_MMU_RTMMU_OPEN (1u << 30)  // state of a region, in its `top` word

// Makes the TLB forget the region that starts at START. The core stores in program order. The
// compiler must not move stores to the tables after this one.
static inline void tau_mmu_rtmmu_forget_region(uint32_t start) {
    __asm__ volatile("" ::: "memory");
    TAU_TILE_UNIT[TAU_TILE_RTMMU_TLB_FORGET_REGION] = start;
}

static inline void tau_mmu_rtmmu_forget_all(void) {
    TAU_TILE_UNIT[TAU_TILE_RTMMU_TLB_FORGET_ALL] = 0;
}

// Makes PAGE a region of one page and maps it.
static inline void tau_mmu_rtmmu_map_alone(uint32_t page, uint32_t frame_and_rights) {
    TAU_TILE_TABLE0[2 * page] = page;
    TAU_TILE_TABLE0[2 * page + 1] =
        page | (frame_and_rights & TAU_TILE_RIGHTS) | TAU_MMU_RTMMU_OPEN;
    TAU_TILE_TABLE1[2 * page] = page;
    TAU_TILE_TABLE1[2 * page + 1] = page;
    tau_mmu_pagetable_set(page, frame_and_rights);
}

// Unmaps a page that is a region of one page.
static inline void tau_mmu_rtmmu_unmap_alone(uint32_t page) {
    TAU_TILE_TABLE0[2 * page + 1] = (page - 1) | TAU_MMU_RTMMU_OPEN;
    tau_mmu_pagetable_set(page, 0);
}

#endif
