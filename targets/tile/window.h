// Maps single pages of the window, for small programs. Each page is a region of its own, so that
// the tables of every unit agree. A larger program uses the core library.
#ifndef TAU_WINDOW_H
#define TAU_WINDOW_H

#include "targets/tile/mmu_composable.h"
#include "targets/tile/mmu_rtmmu.h"
#include "targets/tile/mmu_tlb.h"
#include "targets/tile/tile.h"

#define TAU_WINDOW_ALL TAU_TILE_RIGHTS

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

// Some units cache translations and must be notified. In the composable unit's table, pages 64
// apart share an entry here.
static inline void tau_window_tell_unit(uint32_t page, uint32_t frame_and_rights) {
    uint32_t unit = tau_tile_read(TAU_TILE_REGISTER_CONFIG) >> 16 & 255;
    if (unit == TAU_TILE_UNIT_RTMMU_TLB)
        tau_mmu_rtmmu_forget_region(page);
    if (unit == TAU_TILE_UNIT_TLB)
        tau_mmu_tlb_invalidate_page(page);
    if (unit == TAU_TILE_UNIT_COMPOSABLE)
        tau_mmu_composable_set(page % TAU_WINDOW_COMPOSABLE_ENTRIES, page, frame_and_rights);
}

// Maps `page` to `frame` with TAU_TILE_READ and so on. `rights` must not be 0: a page table reads
// frame 0 without rights as "not mapped".
static inline void tau_window_map(uint32_t page, uint32_t frame, uint32_t rights) {
    tau_mmu_rtmmu_map_alone(page, frame | rights);
    tau_window_tell_unit(page, frame | rights);
}

static inline void tau_window_unmap(uint32_t page) {
    tau_mmu_rtmmu_unmap_alone(page);
    tau_window_tell_unit(page, 0);
}

#endif
