// A switch of tasks that own TLB sets: the unit is told who runs, and nothing else (P4). What the
// last task left in the TLB stays there, in sets that the next one does not use.
#ifndef TAU_TASKS_MMU_SWITCH_H
#define TAU_TASKS_MMU_SWITCH_H

#include "kernel/tasks/entry.h"

static inline void tau_mmu_switch(uint32_t owner) {
    tau_tasks_entry.owner = owner;
}

#endif
