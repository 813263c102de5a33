// Leaks that are built in on purpose, so that the check of composability can show that it finds
// them. A kernel that is used has none: TAU_LEAK is 0.
#ifndef TAU_KERNEL_LEAK_H
#define TAU_KERNEL_LEAK_H

#include <stdint.h>

#define TAU_LEAK_NONE 0
#define TAU_LEAK_TLB 1        // the table is not loaded, and the TLB not forgotten, if it is there
#define TAU_LEAK_GATE 2       // a slot begins when the kernel is ready
#define TAU_LEAK_LOAD_TIME 3  // behind the gate, time by the size of the last owner's table
#define TAU_LEAK_PAGE_MIX 4   // a page that is not there is replaced by smaller ones
#define TAU_LEAK_KERNEL_PATH 5  // behind the gate, time by what the last owner asked of the kernel
#define TAU_LEAK_ONE_TABLE 6    // all applications in one table

#ifndef TAU_LEAK
#define TAU_LEAK TAU_LEAK_NONE
#endif

// Of TAU_LEAK_ONE_TABLE: changes when the table does.
extern uint32_t tau_leak_generation;

#endif
