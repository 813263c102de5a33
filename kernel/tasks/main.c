// The start of a tile of tasks: maps the memory, forgets what that left in the TLBs, protects the
// kernel's code, and begins.
#include "kernel/tasks/entry.h"
#include "kernel/tasks/kernel.h"
#include "targets/tile/tile.h"

enum { TIMER_INTERRUPT = 1 << 7, STATUS_TRAP_WAIT = 1 << 21 };  // `wfi` of a task is illegal

void tau_tasks_vectors(void);
_Noreturn void tau_tasks_start(void);

struct tau_tasks_entry tau_tasks_entry;

int main(void) {
    tau_tasks_memory_begin();
    TAU_TILE_UNIT[TAU_TILE_TLB_OWNER] = TAU_TASKS_KERNEL;
    tau_tasks_begin();
    TAU_TILE_UNIT[TAU_TILE_TLB_SEED] = tau_tasks_system.seed;
    TAU_TILE_UNIT[TAU_TILE_TLB_INVALIDATE] = 0;
    TAU_TILE_UNIT[TAU_TILE_TLB_CLEAR] = 0;
    tau_tile_write(TAU_TILE_REGISTER_LOCK, 0);
    __asm__ volatile("csrw mtvec, %0" ::"r"(tau_tasks_vectors));
    __asm__ volatile("csrw mie, %0" ::"r"(TIMER_INTERRUPT));
    __asm__ volatile("csrw mstatus, %0" ::"r"(TAU_CONTEXT_STATUS_USER | STATUS_TRAP_WAIT));
    tau_tasks_start();
}
