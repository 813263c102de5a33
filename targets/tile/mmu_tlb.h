// The TLB whose sets are colored: its invalidation (hw/tlb/doc/tlb.md).
#ifndef TAU_MMU_TLB_H
#define TAU_MMU_TLB_H

#include "targets/tile/tile.h"

static inline void tau_mmu_tlb_invalidate_page(uint32_t page) {
    TAU_TILE_UNIT[TAU_TILE_TLB_INVALIDATE_PAGE] = page;
}

#endif
