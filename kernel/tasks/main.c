// The start of a tile of tasks: maps the memory, forgets what that left in the TLBs, and begins.
#include "kernel/tasks/entry.h"
#include "kernel/tasks/kernel.h"
#include "targets/tile/tile.h"

enum { TIMER_INTERRUPT = 1 << 7 };

void tau_tasks_vectors(void);
_Noreturn void tau_tasks_start(void);

struct tau_tasks_entry tau_tasks_entry;

int main(void) {
    tau_tasks_memory_begin();
    tau_tasks_begin();
    TAU_TILE_UNIT[TAU_TILE_TLB_OWNER] = TAU_TASKS_KERNEL;
    TAU_TILE_UNIT[TAU_TILE_TLB_SEED] = tau_tasks_system.seed;
    TAU_TILE_UNIT[TAU_TILE_TLB_INVALIDATE] = 0;
    TAU_TILE_UNIT[TAU_TILE_TLB_CLEAR] = 0;
    __asm__ volatile("csrw mtvec, %0" ::"r"(tau_tasks_vectors));
    __asm__ volatile("csrw mie, %0" ::"r"(TIMER_INTERRUPT));
    __asm__ volatile("csrw mstatus, %0" ::"r"(TAU_CONTEXT_STATUS_USER));
    tau_tasks_start();
}
