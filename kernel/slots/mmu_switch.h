// What a switch of applications does to the MMU, and nothing else does: it loads the page table of
// the next application, which also forgets the TLBs, in constant time (P2, feature 3) [P2-4].
// Nothing waits for the load: between two of them, and between one and the next user instruction,
// the kernel saves or restores 31 registers, which takes longer.
//
// A kernel that colors the TLB instead of forgetting it replaces this file.
#ifndef TAU_SLOTS_MMU_SWITCH_H
#define TAU_SLOTS_MMU_SWITCH_H

#include "targets/tile/mmu_composable.h"

// Who runs in no table of its own: idle slots and the loader reach no window.
#define TAU_MMU_SWITCH_EMPTY TAU_COMPOSE_LIMIT_APPLICATIONS
#define TAU_MMU_SWITCH_TABLES (TAU_MMU_SWITCH_EMPTY + 1)

static inline void tau_mmu_switch(uint32_t table) {
    tau_mmu_composable_load_begin(table);
}

#endif
