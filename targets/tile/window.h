// Maps single pages of the window, for small programs, on every unit. Pages and frames have 4 KiB,
// also where a unit has smaller ones. Each page is a region of its own, so that the tables say the
// same. The core library does it properly.
#ifndef TAU_WINDOW_H
#define TAU_WINDOW_H

#include "targets/tile/mmu_composable.h"
#include "targets/tile/mmu_rtmmu.h"
#include "targets/tile/mmu_tlb.h"
#include "targets/tile/program.h"

#define TAU_WINDOW_ALL TAU_TILE_RIGHTS

enum { TAU_WINDOW_PAGE_LOG2 = 12 };

static inline uint32_t tau_window_pages(void) {
    const uint32_t config = tau_tile_read(TAU_TILE_REGISTER_CONFIG);
    const uint32_t bytes_log2 = (config & 255) + (config >> 24);
    return 1u << (bytes_log2 - TAU_WINDOW_PAGE_LOG2);
}

static inline uint32_t tau_window_page_of(uint32_t address) {
    return (address - TAU_TILE_ADDRESS_WINDOW) / TAU_TILE_SIZE_PAGE_BYTES;
}

static inline uint32_t tau_window_address(uint32_t page) {
    return TAU_TILE_ADDRESS_WINDOW + page * TAU_TILE_SIZE_PAGE_BYTES;
}

// Some units keep translations of their own and have to be told.
static inline void tau_window_tell_unit(uint32_t page, uint32_t unit) {
    if (unit == TAU_TILE_UNIT_RTMMU_TLB)
        tau_mmu_rtmmu_forget_region(page);
    if (unit == TAU_TILE_UNIT_TLB)
        tau_mmu_tlb_invalidate_page(page);
}

// Pages 64 apart share an entry here.
static inline void tau_window_set_composable(uint32_t page, uint32_t frame, uint32_t rights) {
    const uint32_t entry = page % TAU_MMU_COMPOSABLE_ENTRIES;
    const uint32_t frame_and_rights = rights == 0 ? 0 : 4 * frame | rights;
    tau_mmu_composable_set(0, entry, 4 * page, 1, frame_and_rights);
    tau_mmu_composable_load(0);
}

static inline uint32_t tau_window_unit(void) {
    return tau_tile_read(TAU_TILE_REGISTER_CONFIG) >> 16 & 255;
}

// Maps `page` to `frame` with TAU_TILE_READ and so on. `rights` must not be 0: a page table reads
// frame 0 without rights as "not mapped".
static inline void tau_window_map(uint32_t page, uint32_t frame, uint32_t rights) {
    uint32_t unit = tau_window_unit();
    if (unit == TAU_TILE_UNIT_COMPOSABLE) {
        tau_window_set_composable(page, frame, rights);
        return;
    }
    tau_mmu_rtmmu_map_alone(page, frame | rights);
    tau_window_tell_unit(page, unit);
}

static inline void tau_window_unmap(uint32_t page) {
    uint32_t unit = tau_window_unit();
    if (unit == TAU_TILE_UNIT_COMPOSABLE) {
        tau_window_set_composable(page, 0, 0);
        return;
    }
    tau_mmu_rtmmu_unmap_alone(page);
    tau_window_tell_unit(page, unit);
}

#endif
