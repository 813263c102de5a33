// The kernel of tasks: its state and its parts.
#ifndef TAU_TASKS_KERNEL_H
#define TAU_TASKS_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/context.h"
#include "kernel/tasks/system.h"

#define TAU_TASKS_TLBS 3u  // instructions, data, second level: as the unit counts them

// What a task's jobs have come to. Cycles are since reset: a run ends before 2^32.
struct tau_tasks_jobs {
    uint32_t period_cycles;
    uint32_t next_release_cycle;
    uint32_t release_cycle;           // release of the oldest unfinished job
    uint32_t waiting_count;           // jobs that are released and not finished
    uint32_t number;                  // number of the oldest; the warm-up is 0
    uint32_t cycles;                  // that this job has had
    uint32_t misses[TAU_TASKS_TLBS];  // its owner's, when the job before ended
    bool is_stopped;
};

// The state while tasks run. It lies in one page of the window, the stack in another; the linker
// places both. Only the code, and the words of entry.h, lie in the banks.
struct tau_tasks_state {
    struct tau_context contexts[TAU_TASKS_MAX];
    struct tau_tasks_jobs jobs[TAU_TASKS_MAX];
    uint32_t running;  // the task that was resumed last
    uint32_t resumed_cycle;
    uint32_t warmed_count;  // tasks whose warm-up is over
    uint32_t run_cycles;
    uint32_t end_cycle;
};

_Static_assert(sizeof(struct tau_tasks_state) <= 4096, "one page");

extern struct tau_tasks_state tau_tasks_state;

// ---- Memory: mapped and filled before any task runs, and never changed later -------------------

// Maps the system's pages to their owners and fills them, and makes the heaps. Stops the tile if a
// heap is refused. All other pages stay unmapped. Leaves some owner in the unit.
void tau_tasks_memory_begin(void);

// ---- Scheduler: of the tasks with a job, the one of the shortest period (rate monotonic) -------
//
// Equal periods have the order of the system. Before the first release each task runs until its
// first call of wait, one after the other: its warm-up, job 0. Each function returns the context to
// go on in.

// Sets the state of the system's TAU_TASKS_COUNT tasks, a number that the build gives. Stops the
// tile if their periods are 0 or do not ascend.
void tau_tasks_begin(void);

// The first task's warm-up.
struct tau_context *tau_tasks_first(void);

// The timer has interrupted a task: a release, or the end of the run.
// Cost: one step per task; while nobody has a job, the core sleeps until somebody does.
struct tau_context *tau_tasks_timer(void);

// A task has called, or done something wrong: this stops it for good, or only its job if it
// restarts. Stops the tile if the kernel raised the exception. Cost: as above.
struct tau_context *tau_tasks_exception(struct tau_context *context, uint32_t cause,
                                        uint32_t address);

// ---- Report: records of the mailbox, on the channels of facts/tile.toml ------------------------

// Job of TASK is over: its cycles and its response, the misses of its owner since the last call for
// this task, and the value that it gave.
void tau_tasks_report_job(uint32_t task, uint32_t response_cycles, uint32_t value);

// TASK has done something wrong, and it or its job is stopped.
void tau_tasks_report_fault(uint32_t task, uint32_t cause, uint32_t address, uint32_t pc);

// Reports, for each task that was not stopped, the oldest job that was released and is not
// finished, as a job whose response is the time from its release to the end of the run. Reports
// each counter of evictions that is not 0. Ends the simulation.
_Noreturn void tau_tasks_report_end(void);

#endif
