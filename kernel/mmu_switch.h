// What a switch of applications does to the MMU, and nothing else does: it loads the page table of
// the next application, which also forgets the TLBs, in constant time (P2, feature 3) [P2-4].
// Nothing waits for the load: between two of them, and between one and the next user instruction,
// the kernel saves or restores 31 registers, which takes longer.
//
// A kernel that colors the TLB instead of forgetting it replaces this file.
#ifndef TAU_KERNEL_MMU_SWITCH_H
#define TAU_KERNEL_MMU_SWITCH_H

#include "kernel/leak.h"
#include "targets/tile/mmu_composable.h"

// Who runs in no table of its own: idle slots and the loader reach no window.
#define TAU_MMU_SWITCH_EMPTY TAU_COMPOSE_LIMIT_APPLICATIONS
#define TAU_MMU_SWITCH_TABLES (TAU_MMU_SWITCH_EMPTY + 1)

static inline void tau_mmu_switch(uint32_t table) {
#if TAU_LEAK == TAU_LEAK_TLB
    static uint32_t loaded = TAU_MMU_SWITCH_EMPTY;
    if (table == loaded || table == TAU_MMU_SWITCH_EMPTY) {
        return;
    }
    loaded = table;
#elif TAU_LEAK == TAU_LEAK_ONE_TABLE
    if (table == TAU_MMU_SWITCH_EMPTY) {
        return;
    }
    table = 0;
    static uint32_t generation;
    if (generation == tau_leak_generation) {
        return;
    }
    generation = tau_leak_generation;
#endif
    tau_mmu_composable_load_begin(table);
}

#endif
