// Its code takes three pages, and each job executes all of them.
#include "kernel/tasks/task.h"

// More than half of a page, so that a run of one page has room for one of them.
#define LONG_FUNCTION(name, step)                                                                  \
    __attribute__((noinline)) static uint32_t name(uint32_t value) {                               \
        __asm__ volatile(".option push\n.option norvc\n.rept 700\naddi %0, %0, " #step "\n.endr\n" \
                         ".option pop\n"                                                           \
                         : "+r"(value));                                                           \
        return value;                                                                              \
    }

LONG_FUNCTION(first, 1)
LONG_FUNCTION(second, 2)
LONG_FUNCTION(third, 3)

void tau_task_main(struct tau_task *task) {
    uint32_t *const object = tau_tlb_color_malloc(task->heap, 64);
    for (;;) {  // bound: the run
        *object = third(second(first(*object)));
        tau_task_wait(*object);
    }
}
