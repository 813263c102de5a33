#include "kernel/stop.h"
#include "kernel/tasks/kernel.h"

// Stopwatches, as tool/tautochrone/tlb/tile/simulation.py reads them.
enum {
    CHANNEL_JOB,
    CHANNEL_MISSES,
    CHANNEL_VALUE,
    CHANNEL_FAULT,
    CHANNEL_EVICTIONS,
    CHANNEL_UNFINISHED
};
enum { OWNER_BITS = 4, OWNERS = 1 << OWNER_BITS };
enum { KIND_EVICTIONS = 1, MISSED = 1 };

static void record(uint32_t channel, uint32_t tag, uint32_t value, uint32_t sent) {
    tau_tile_start(channel, tag);
    tau_tile_done(channel, value);
    tau_tile_send(channel, sent);
}

static uint32_t counter(uint32_t tlb, uint32_t kind, uint32_t index) {
    TAU_TILE_UNIT[TAU_TILE_TLB_SELECT] = tlb << 9 | kind << 8 | index;
    return TAU_TILE_UNIT[TAU_TILE_TLB_COUNTER];
}

// Inlined, so that tau_tasks_report_job has one path, which tau_tasks_report_end is not part of.
__attribute__((always_inline)) static inline void
record_job(uint32_t channel, uint32_t task, uint32_t response_cycles, uint32_t value) {
    struct tau_tasks_jobs *jobs = &tau_tasks_state.jobs[task];
    uint32_t misses[TAU_TASKS_TLBS];
    TAU_KERNEL_ASSERT(task < TAU_TASKS_COUNT);
    _Pragma("GCC unroll 3") for (uint32_t tlb = 0; tlb < TAU_TASKS_TLBS; tlb++) {
        const uint32_t count = counter(tlb, 0, MISSED << OWNER_BITS | (task + 1));
        misses[tlb] = count - jobs->misses[tlb];
        jobs->misses[tlb] = count;
    }
    record(channel, task << 24 | jobs->number, jobs->cycles, response_cycles);
    record(CHANNEL_MISSES, misses[0], misses[1], misses[2]);
    record(CHANNEL_VALUE, value, 0, 0);
}

void tau_tasks_report_job(uint32_t task, uint32_t response_cycles, uint32_t value) {
    record_job(CHANNEL_JOB, task, response_cycles, value);
}

void tau_tasks_report_fault(uint32_t task, uint32_t cause, uint32_t address, uint32_t pc) {
    record(CHANNEL_FAULT, task << 24 | cause, address, pc);
}

// The oldest unfinished job of TASK, if it was released before the end. A release may not be served
// yet, and one that was served may be of the end itself.
static void report_unfinished(uint32_t task) {
    const struct tau_tasks_jobs *jobs = &tau_tasks_state.jobs[task];
    const uint32_t release_cycle =
        jobs->waiting_count != 0 ? jobs->release_cycle : jobs->next_release_cycle;
    if (!jobs->is_stopped && release_cycle < tau_tasks_state.end_cycle) {
        record_job(CHANNEL_UNFINISHED, task, tau_tasks_state.end_cycle - release_cycle, 0);
    }
}

_Noreturn void tau_tasks_report_end(void) {
    for (uint32_t task = 0; task < TAU_TASKS_COUNT; task++) {  // bound: the tasks
        report_unfinished(task);
    }
    for (uint32_t tlb = 0; tlb < TAU_TASKS_TLBS; tlb++) {
        for (uint32_t pair = 0; pair < OWNERS * OWNERS; pair++) {
            const uint32_t count = counter(tlb, KIND_EVICTIONS, pair);
            if (count != 0) {
                record(CHANNEL_EVICTIONS, tlb << 9 | KIND_EVICTIONS << 8 | pair, count, 0);
            }
        }
    }
    tau_tile_exit(0);
}
