// Who runs: of the tasks with a job, the one of the shortest period (rate monotonic). Equal periods
// have the order of the system.
//
// Before the first release each task runs until its first call of wait, one after the other: its
// warm-up, job 0. Each function returns the context to go on in.
#ifndef TAU_TASKS_SCHEDULER_H
#define TAU_TASKS_SCHEDULER_H

#include "kernel/context.h"

// Sets the state of the system's TAU_TASKS_COUNT tasks, a number that the build gives. Stops the
// tile if their periods are 0 or do not ascend.
void tau_tasks_begin(void);

// The first task's warm-up.
struct tau_context *tau_tasks_first(void);

// The timer has interrupted a task: a release, or the end of the run.
// Cost: one step per task; while nobody has a job, the core sleeps until somebody does.
struct tau_context *tau_tasks_timer(void);

// A task has called, or done something wrong, which stops it for good. The tile is stopped if it
// was the kernel. Cost: as above.
struct tau_context *tau_tasks_exception(struct tau_context *context, uint32_t cause,
                                        uint32_t address);

#endif
