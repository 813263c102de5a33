#include "kernel/stop.h"
#include "kernel/tasks/entry.h"
#include "kernel/tasks/kernel.h"

enum { CAUSE_USER_CALL = 8, STATUS_PREVIOUS_MODE = 3 << 11, START_DELAY_CYCLES = 2000 };

_Static_assert(TAU_TASKS_COUNT <= TAU_TASKS_MAX, "the unit has an owner for each");

// Loops over the tasks have no branch back, so that the longest path through the kernel can be
// computed.
#define EACH_TASK(task)                                                                            \
    _Pragma("GCC unroll 16") for (uint32_t task = 0; task < TAU_TASKS_COUNT; task++)

void tau_tasks_unexpected(void);

static uint32_t now(void) {
    return tau_tile_read(TAU_TILE_REGISTER_CYCLE);
}

static void set_timer(uint32_t cycle) {
    // The compare value is never below both numbers meanwhile.
    tau_tile_write(TAU_TILE_REGISTER_TIMER_COMPARE, UINT32_MAX);
    tau_tile_write(TAU_TILE_REGISTER_TIMER_COMPARE + 4, 0);
    tau_tile_write(TAU_TILE_REGISTER_TIMER_COMPARE, cycle);
}

// Releases the jobs whose time has come. The highest priority is last: of two jobs with the same
// release, the lower one is never seen without the other. Returns the cycle of the next release, or
// the end.
static uint32_t release(struct tau_tasks_state *state) {
    uint32_t next_cycle = state->end_cycle;
    TAU_KERNEL_ASSERT(state->warmed_count == TAU_TASKS_COUNT);
    EACH_TASK(done) {
        struct tau_tasks_jobs *jobs = &state->jobs[TAU_TASKS_COUNT - 1 - done];
        if (jobs->next_release_cycle <= now()) {
            if (jobs->waiting_count == 0) {
                jobs->release_cycle = jobs->next_release_cycle;
            }
            jobs->waiting_count++;
            jobs->next_release_cycle += jobs->period_cycles;
        }
        if (jobs->next_release_cycle < next_cycle) {
            next_cycle = jobs->next_release_cycle;
        }
    }
    return next_cycle;
}

static struct tau_context *resume(struct tau_tasks_state *state, uint32_t task,
                                  uint32_t next_cycle) {
    TAU_KERNEL_ASSERT(task < TAU_TASKS_COUNT);
    if (task != state->running) {
        // The tasks own TLB sets, so the unit is only told who runs: what the last task left in
        // the TLB stays there, in sets that the next one does not use (P4).
        tau_tasks_entry.owner = task + 1;
        state->running = task;
    }
    set_timer(next_cycle);
    tau_tile_write(TAU_TILE_REGISTER_OWNER, task);
    state->resumed_cycle = now();
    return &state->contexts[task];
}

static struct tau_context *dispatch(struct tau_tasks_state *state) {
    if (state->warmed_count < TAU_TASKS_COUNT) {
        return resume(state, state->warmed_count, UINT32_MAX);
    }
    for (;;) {  // bound: the releases until the end of the run
        const uint32_t next_cycle = release(state);
        if (now() >= state->end_cycle) {
            tau_tasks_report_end();
        }
        EACH_TASK(task) {
            if (state->jobs[task].waiting_count != 0 && !state->jobs[task].is_stopped) {
                return resume(state, task, next_cycle);
            }
        }
        set_timer(next_cycle);
        __asm__ volatile("wfi" ::: "memory");
    }
}

// The releases begin, once all are warm.
static void begin_releases(struct tau_tasks_state *state) {
    const uint32_t start_cycle = now() + START_DELAY_CYCLES;
    EACH_TASK(task) {
        state->jobs[task].next_release_cycle += start_cycle;
    }
    state->end_cycle = start_cycle + state->run_cycles;
    TAU_KERNEL_ASSERT(state->end_cycle > start_cycle);
}

static void end_warm_up(struct tau_tasks_state *state) {
    state->warmed_count++;
    if (state->warmed_count == TAU_TASKS_COUNT) {
        begin_releases(state);
    }
}

// The oldest job is no longer waiting.
static void close_job(struct tau_tasks_jobs *jobs) {
    TAU_KERNEL_ASSERT(jobs->waiting_count > 0);
    jobs->waiting_count--;
    jobs->release_cycle += jobs->period_cycles;
}

static void end_job(struct tau_tasks_state *state, uint32_t value) {
    struct tau_tasks_jobs *jobs = &state->jobs[state->running];
    const bool is_warm_up = state->warmed_count < TAU_TASKS_COUNT;
    tau_tasks_report_job(state->running, is_warm_up ? jobs->cycles : now() - jobs->release_cycle,
                         value);
    jobs->number++;
    jobs->cycles = 0;
    if (is_warm_up) {
        end_warm_up(state);
        return;
    }
    close_job(jobs);
}

// The task begins again in its next job. Its start sets all other registers.
static void restart(struct tau_tasks_state *state, const struct tau_tasks_description *task) {
    struct tau_tasks_jobs *jobs = &state->jobs[state->running];
    uint32_t *const words = state->contexts[state->running].words;
    words[TAU_CONTEXT_PC] = task->entry;
    words[TAU_CONTEXT_SP] = task->stack_end;
    jobs->number++;
    jobs->cycles = 0;
    close_job(jobs);
}

static void stop_task(struct tau_tasks_state *state, uint32_t cause, uint32_t address,
                      uint32_t pc) {
    const struct tau_tasks_description *task = &tau_tasks_system.tasks[state->running];
    const bool is_warm_up = state->warmed_count < TAU_TASKS_COUNT;
    tau_tasks_report_fault(state->running, cause, address, pc);
    if (task->restarts && !is_warm_up) {
        restart(state, task);
        return;
    }
    state->jobs[state->running].is_stopped = true;
    if (is_warm_up) {
        end_warm_up(state);
    }
}

// The task that ran has been interrupted.
static void suspend(struct tau_tasks_state *state) {
    const uint32_t cycles = now() - state->resumed_cycle;
    TAU_KERNEL_ASSERT(state->running < TAU_TASKS_COUNT);
    state->jobs[state->running].cycles += cycles;
}

void tau_tasks_begin(void) {
    const struct tau_tasks_system *system = &tau_tasks_system;
    struct tau_tasks_state *state = &tau_tasks_state;
    TAU_KERNEL_ASSERT(system->tasks_count == TAU_TASKS_COUNT);
    uint32_t least_cycles = 1;
    for (uint32_t task = 0; task < TAU_TASKS_COUNT; task++) {  // bound: the tasks
        const struct tau_tasks_description *each = &system->tasks[task];
        if (each->period_cycles < least_cycles) {
            tau_stop("the tasks are not in the order of their periods");
        }
        least_cycles = each->period_cycles;
        state->jobs[task] = (struct tau_tasks_jobs){
            .period_cycles = each->period_cycles,
            .next_release_cycle = each->phase_cycles,
        };
        tau_context_begin(&state->contexts[task], each->entry, each->stack_end,
                          TAU_CONTEXT_STATUS_USER);
    }
    state->running = TAU_TASKS_MAX;
    state->warmed_count = 0;
    state->run_cycles = system->run_cycles;
}

struct tau_context *tau_tasks_first(void) {
    return dispatch(&tau_tasks_state);
}

struct tau_context *tau_tasks_timer(void) {
    suspend(&tau_tasks_state);
    return dispatch(&tau_tasks_state);
}

struct tau_context *tau_tasks_exception(struct tau_context *context, uint32_t cause,
                                        uint32_t address) {
    struct tau_tasks_state *state = &tau_tasks_state;
    uint32_t status;
    __asm__ volatile("csrr %0, mstatus" : "=r"(status));
    if ((status & STATUS_PREVIOUS_MODE) != 0) {
        tau_stop("the kernel raised an exception");
    }
    suspend(state);
    if (cause == CAUSE_USER_CALL && context->words[TAU_CONTEXT_A7] == TAU_TASK_CALL_WAIT) {
        context->words[TAU_CONTEXT_PC] += 4;  // ecall has no short form
        end_job(state, context->words[TAU_CONTEXT_A0]);
    } else {
        stop_task(state, cause, address, context->words[TAU_CONTEXT_PC]);
    }
    return dispatch(state);
}

void tau_tasks_unexpected(void) {
    tau_stop("an interrupt that nobody enabled");
}
