// Maps single pages of the window, for small programs: each page is a region of its own, so that
// the tables of every unit say the same. The core library does it properly.
#ifndef TAU_WINDOW_H
#define TAU_WINDOW_H

#include "tile.h"

#define TAU_WINDOW_ALL (TAU_TILE_READ | TAU_TILE_WRITE | TAU_TILE_EXECUTE)
#define TAU_WINDOW_OPEN (1u << 30)  // state of a region, in its `top` word

static inline uint32_t tau_window_pages(void) {
    return 1u << (tau_tile_read(TAU_TILE_REGISTER_CONFIG) & 255);
}

static inline uint32_t tau_window_page_of(uint32_t address) {
    return (address - TAU_TILE_ADDRESS_WINDOW) / TAU_TILE_SIZE_PAGE_BYTES;
}

static inline uint32_t tau_window_address(uint32_t page) {
    return TAU_TILE_ADDRESS_WINDOW + page * TAU_TILE_SIZE_PAGE_BYTES;
}

enum { TAU_WINDOW_COMPOSABLE_ENTRIES = 64 };

// Some units keep translations of their own and have to be told. The composable unit's table is in
// its registers; pages 64 apart share an entry here.
static inline void tau_window_tell_unit(uint32_t page, uint32_t frame_and_rights) {
    uint32_t unit = tau_tile_read(TAU_TILE_REGISTER_CONFIG) >> 16 & 255;
    if (unit == TAU_TILE_UNIT_RTMMU_TLB)
        TAU_TILE_UNIT[TAU_TILE_RTMMU_TLB_FORGET_REGION] = page;
    if (unit == TAU_TILE_UNIT_TLB)
        TAU_TILE_UNIT[TAU_TILE_TLB_INVALIDATE_PAGE] = page;
    if (unit == TAU_TILE_UNIT_COMPOSABLE) {
        uint32_t entry = TAU_TILE_COMPOSABLE_TABLE + 2 * (page % TAU_WINDOW_COMPOSABLE_ENTRIES);
        TAU_TILE_UNIT[entry + 1] = frame_and_rights;
        TAU_TILE_UNIT[entry] = frame_and_rights == 0 ? 0 : page | 1u << 31;
        TAU_TILE_UNIT[TAU_TILE_COMPOSABLE_INVALIDATE] = 0;
    }
}

// Maps `page` to `frame` with TAU_TILE_READ and so on. A page table takes frame 0 without rights
// for "not mapped", so give rights.
static inline void tau_window_map(uint32_t page, uint32_t frame, uint32_t rights) {
    TAU_TILE_TABLE0[2 * page] = page;
    TAU_TILE_TABLE0[2 * page + 1] = page | rights | TAU_WINDOW_OPEN;
    TAU_TILE_TABLE1[2 * page] = page;
    TAU_TILE_TABLE1[2 * page + 1] = page;
    TAU_TILE_TABLE2[page] = frame | rights;
    tau_window_tell_unit(page, frame | rights);
}

static inline void tau_window_unmap(uint32_t page) {
    TAU_TILE_TABLE0[2 * page + 1] = (page - 1) | TAU_WINDOW_OPEN;
    TAU_TILE_TABLE2[page] = 0;
    tau_window_tell_unit(page, 0);
}

#endif
