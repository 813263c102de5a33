// The plain page table: a word a page, in table 2. The TLB's unit reads the same one.
#ifndef TAU_MMU_PAGETABLE_H
#define TAU_MMU_PAGETABLE_H

#include "targets/tile/tile.h"

// 0: not mapped.
static inline void tau_mmu_pagetable_set(uint32_t page, uint32_t frame_and_rights) {
    TAU_TILE_TABLE2[page] = frame_and_rights;
}

#endif
