// The state of the kernel of tasks while they run. It lies in one page of the window, its stack in
// another: the linker is told where. Only the code, and the words of entry.h, lie in the banks.
#ifndef TAU_TASKS_STATE_H
#define TAU_TASKS_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/context.h"
#include "kernel/tasks/system.h"

#define TAU_TASKS_TLBS 3u  // instructions, data, second level: as the unit counts them

// What a task's jobs have come to. Cycles are since reset: a run ends before 2^32.
struct tau_tasks_jobs {
    uint32_t period_cycles;
    uint32_t next_release_cycle;
    uint32_t release_cycle;           // of the oldest job that is not finished
    uint32_t waiting_count;           // jobs that are released and not finished
    uint32_t number;                  // of the oldest of them; the warm-up is 0
    uint32_t cycles;                  // that this job has had
    uint32_t misses[TAU_TASKS_TLBS];  // of its owner, when the job before ended
    bool is_stopped;
};

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

#endif
