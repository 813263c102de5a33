// What a task and the kernel of tasks share: the start of the task's globals, and its calls.
//
// A task's code, globals, stack and heap lie in pages of the window. Its program defines
// tau_task_main, does its warm-up, and then ends each job with tau_task_wait.
#ifndef TAU_TASKS_TASK_H
#define TAU_TASKS_TASK_H

#include <stdint.h>

#include "core/tlb_color.h"

enum {
    TAU_TASK_ARGUMENTS = 16,
    TAU_TASK_HEAP_PAGES_MAX = 2048,  // pages of its window
    TAU_TASK_CALL_EXIT = 0,          // the kernel stops a task that makes any call but wait
    TAU_TASK_CALL_WAIT = 1,
};

// The kernel fills it in before the task starts.
struct tau_task {
    struct tau_tlb_color *heap;
    uint32_t arguments[TAU_TASK_ARGUMENTS];
    uint32_t seed;  // the run's seed
    struct tau_tlb_color own_heap;
    uint32_t heap_pages[TAU_TLB_COLOR_WORDS(TAU_TASK_HEAP_PAGES_MAX)];
};

void tau_task_main(struct tau_task *task);

// Ends the job and sleeps until the next one is released. VALUE goes into the job's record.
static inline void tau_task_wait(uint32_t value) {
    register uint32_t result __asm__("a0") = value;
    register uint32_t number __asm__("a7") = TAU_TASK_CALL_WAIT;
    __asm__ volatile("ecall" : : "r"(result), "r"(number) : "memory");
}

#endif
