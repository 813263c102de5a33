// The RTMMU: its tables, and the TLB of regions that it may have in front (hw/rtmmu/doc/rtmmu.md).
#ifndef TAU_MMU_RTMMU_H
#define TAU_MMU_RTMMU_H

#include "targets/tile/mmu_pagetable.h"
#include "targets/tile/tile.h"

#define TAU_MMU_RTMMU_OPEN (1u << 30)  // state of a region, in its `top` word

// The TLB forgets the region that starts at START. The core stores in program order; the compiler
// must not move the tables' stores behind this one.
static inline void tau_mmu_rtmmu_forget_region(uint32_t start) {
    __asm__ volatile("" ::: "memory");
    TAU_TILE_UNIT[TAU_TILE_RTMMU_TLB_FORGET_REGION] = start;
}

static inline void tau_mmu_rtmmu_forget_all(void) {
    TAU_TILE_UNIT[TAU_TILE_RTMMU_TLB_FORGET_ALL] = 0;
}

// Makes PAGE a region of its own, mapped.
static inline void tau_mmu_rtmmu_map_alone(uint32_t page, uint32_t frame_and_rights) {
    TAU_TILE_TABLE0[2 * page] = page;
    TAU_TILE_TABLE0[2 * page + 1] =
        page | (frame_and_rights & TAU_TILE_RIGHTS) | TAU_MMU_RTMMU_OPEN;
    TAU_TILE_TABLE1[2 * page] = page;
    TAU_TILE_TABLE1[2 * page + 1] = page;
    tau_mmu_pagetable_set(page, frame_and_rights);
}

// Unmaps a page that is a region of its own.
static inline void tau_mmu_rtmmu_unmap_alone(uint32_t page) {
    TAU_TILE_TABLE0[2 * page + 1] = (page - 1) | TAU_MMU_RTMMU_OPEN;
    tau_mmu_pagetable_set(page, 0);
}

#endif
