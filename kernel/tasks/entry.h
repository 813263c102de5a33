// Four words in the data bank with which trap.S gets from a task into the window and back. They
// need no translation, so the unit knows who runs before the first access.
#ifndef TAU_TASKS_ENTRY_H
#define TAU_TASKS_ENTRY_H

#define TAU_TASKS_ENTRY_T0 0
#define TAU_TASKS_ENTRY_T1 4
#define TAU_TASKS_ENTRY_CONTEXT 8
#define TAU_TASKS_ENTRY_OWNER 12

#ifndef __ASSEMBLER__
#include <stdint.h>

struct tau_tasks_entry {
    uint32_t t0;
    uint32_t t1;
    uint32_t context;
    uint32_t owner;  // who runs once the kernel is left
};

extern struct tau_tasks_entry tau_tasks_entry;
#endif

#endif
