// What the host is told: records of the mailbox, on the channels of facts/tile.toml.
#ifndef TAU_TASKS_REPORT_H
#define TAU_TASKS_REPORT_H

#include <stdint.h>

// Job of TASK is over: its cycles and its response, the misses of its owner since the last call for
// this task, and the value that it has told.
void tau_tasks_report_job(uint32_t task, uint32_t response_cycles, uint32_t value);

// TASK has done something wrong and is stopped.
void tau_tasks_report_fault(uint32_t task, uint32_t cause, uint32_t address, uint32_t pc);

// Tells of each task that was not stopped the oldest job that was released and is not finished, as
// a job whose response is the time from its release to the end of the run, and each counter of
// evictions that is not 0. Ends the simulation.
_Noreturn void tau_tasks_report_end(void);

#endif
