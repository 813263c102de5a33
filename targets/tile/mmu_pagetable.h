// The plain page table: one word per page, in table 2. The TLB's unit reads the same table.
#ifndef TAU_MMU_PAGETABLE_H
#define TAU_MMU_PAGETABLE_H

#include "targets/tile/tile.h"

// A word of 0 means not mapped.
static inline void tau_mmu_pagetable_set(uint32_t page, uint32_t frame_and_rights) {
    TAU_TILE_TABLE2[page] = frame_and_rights;
}

#endif
