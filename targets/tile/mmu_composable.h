// The composable unit, which loads its table from table memory 0 (hw/composable/doc/composable.md).
#ifndef TAU_MMU_COMPOSABLE_H
#define TAU_MMU_COMPOSABLE_H

#include "targets/tile/tile.h"

#define TAU_MMU_COMPOSABLE_VALID (1u << 31)

enum {
    TAU_MMU_COMPOSABLE_ENTRIES = 64,
    TAU_MMU_COMPOSABLE_TABLE_WORDS = 2 * TAU_MMU_COMPOSABLE_ENTRIES,
    TAU_MMU_COMPOSABLE_ORDER_SHIFT = 26,
};

// Has ENTRY of TABLE translate PAGE, of 4^ORDER KiB, or nothing if FRAME_AND_RIGHTS is 0. Both are
// numbers of 1 KiB and multiples of the page's size. True from the next load on.
static inline void tau_mmu_composable_set(uint32_t table, uint32_t entry, uint32_t page,
                                          uint32_t order, uint32_t frame_and_rights) {
    volatile uint32_t *words =
        TAU_TILE_TABLE0 + table * TAU_MMU_COMPOSABLE_TABLE_WORDS + 2 * entry;
    words[0] = frame_and_rights == 0 ? 0
                                     : page | order << TAU_MMU_COMPOSABLE_ORDER_SHIFT |
                                           TAU_MMU_COMPOSABLE_VALID;
    words[1] = frame_and_rights;
}

// TABLE becomes the page table, and earlier translations are forgotten. Accesses to the window wait
// for its end, and another load would be refused until then.
static inline void tau_mmu_composable_load_begin(uint32_t table) {
    TAU_TILE_UNIT[TAU_TILE_COMPOSABLE_LOAD] = table;
}

// The same, and waits for its end.
static inline void tau_mmu_composable_load(uint32_t table) {
    tau_mmu_composable_load_begin(table);
    while (TAU_TILE_UNIT[TAU_TILE_COMPOSABLE_LOAD] != 0)
        continue;
}

#endif
