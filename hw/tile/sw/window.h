// Maps single pages of the window, for small programs: each page is a region of its own, so that
// the tables of the page table and of the RTMMU say the same. The core library does it properly.
#ifndef TAU_WINDOW_H
#define TAU_WINDOW_H

#include "tile.h"

#define TAU_WINDOW_ALL (TAU_TILE_READ | TAU_TILE_WRITE | TAU_TILE_EXECUTE)
#define TAU_WINDOW_OPEN (1u << 30)  // state of a region, in its `top` word

static inline uint32_t tau_window_pages(void) {
    return 1u << (tau_tile_read(TAU_TILE_CONFIG) & 255);
}

static inline uint32_t tau_window_page_of(uint32_t address) {
    return (address - TAU_TILE_WINDOW) / TAU_TILE_PAGE_BYTES;
}

static inline uint32_t tau_window_address(uint32_t page) {
    return TAU_TILE_WINDOW + page * TAU_TILE_PAGE_BYTES;
}

// A TLB of regions has to be told that a region lost pages or rights.
static inline void tau_window_forget(uint32_t page) {
    if ((tau_tile_read(TAU_TILE_CONFIG) >> 16 & 255) == TAU_TILE_UNIT_RTMMU_TLB) {
        TAU_TILE_UNIT[0] = page;
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
    tau_window_forget(page);
}

static inline void tau_window_unmap(uint32_t page) {
    TAU_TILE_TABLE0[2 * page + 1] = (page - 1) | TAU_WINDOW_OPEN;
    TAU_TILE_TABLE2[page] = 0;
    tau_window_forget(page);
}

#endif
