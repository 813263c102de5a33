// A switch that forgets all translations, as kernel/mmu_switch.h does (P2), on the unit that can
// also be colored: what a task finds does not depend on who ran before, and it loads all of it
// again.
#ifndef TAU_TASKS_MMU_SWITCH_H
#define TAU_TASKS_MMU_SWITCH_H

#include "kernel/tasks/entry.h"
#include "targets/tile/tile.h"

static inline void tau_mmu_switch(uint32_t owner) {
    TAU_TILE_UNIT[TAU_TILE_TLB_INVALIDATE] = 0;
    tau_tasks_entry.owner = owner;
}

#endif
