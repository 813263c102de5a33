// The composable unit, whose table is in its registers (hw/composable/doc/composable.md).
#ifndef TAU_MMU_COMPOSABLE_H
#define TAU_MMU_COMPOSABLE_H

#include "targets/tile/tile.h"

#define TAU_MMU_COMPOSABLE_VALID (1u << 31)

// Has ENTRY of the table translate PAGE, or nothing if FRAME_AND_RIGHTS is 0; earlier translations
// are forgotten.
static inline void tau_mmu_composable_set(uint32_t entry, uint32_t page,
                                          uint32_t frame_and_rights) {
    const uint32_t place = TAU_TILE_COMPOSABLE_TABLE + 2 * entry;
    TAU_TILE_UNIT[place + 1] = frame_and_rights;
    TAU_TILE_UNIT[place] = frame_and_rights == 0 ? 0 : page | TAU_MMU_COMPOSABLE_VALID;
    TAU_TILE_UNIT[TAU_TILE_COMPOSABLE_INVALIDATE] = 0;
}

#endif
