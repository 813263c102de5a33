// The start of a task. Its globals begin with what the kernel fills in.
#include "kernel/tasks/task.h"

struct tau_task tau_task __attribute__((section(".task"), used));

// The kernel has set the stack. A task that returns ends.
__attribute__((naked, used, section(".text.start"))) void tau_task_start(void) {
    __asm__ volatile(".option push\n.option norelax\nla gp, __global_pointer$\n.option pop\n"
                     "la a0, tau_task\ncall tau_task_main\nli a7, %0\necall\n1: j 1b" ::"i"(
                         TAU_COMPOSE_CALL_EXIT));
}
