// What a system of tasks consists of. The tool writes one as C (tool/tautochrone/tlb/tile/).
#ifndef TAU_TASKS_SYSTEM_H
#define TAU_TASKS_SYSTEM_H

#include <stdint.h>

#include "kernel/tasks/task.h"

#define TAU_TASKS_MAX 15u  // owners of the unit, less the kernel
#define TAU_TASKS_KERNEL 0u

struct tau_tasks_description {
    uint32_t period_cycles;
    uint32_t phase_cycles;
    uint32_t entry;
    uint32_t stack_end;
    struct tau_task *memory;
    uint32_t arguments[TAU_TASK_ARGUMENTS];
    const struct tau_tlb_color_partition *partition;
    uint32_t principal;  // itself
    uint32_t restarts;   // 1: at its entry, with its next job, when it was stopped in a job
};

// A page of the window outside all heaps, and the words at its start; the others are 0.
struct tau_tasks_page {
    uint32_t page;
    uint32_t owner;  // 0: the kernel, else the task's place in the order of priorities, from 1 on
    uint32_t rights;
    const uint32_t *words;
    uint32_t words_count;
};

struct tau_tasks_system {
    const struct tau_tasks_description *tasks;  // the highest priority first
    uint32_t tasks_count;
    const struct tau_tasks_page *pages;
    uint32_t pages_count;
    uint32_t run_cycles;  // from the start of releases to the end
    uint32_t seed;        // for random replacement
};

extern const struct tau_tasks_system tau_tasks_system;

#endif
