// The start of a task. Its globals begin with what the kernel fills in.
#include "kernel/tasks/task.h"

struct tau_task tau_task __attribute__((section(".task"), used));

// The kernel has set the stack. tp is where a library has its errno. A task that returns ends.
__attribute__((naked, used, section(".text.start"))) void tau_task_start(void) {
    __asm__ volatile(".option push\n.option norelax\nla gp, __global_pointer$\n.option pop\n"
                     "la tp, tau_task_tls\nla a0, tau_task\ncall tau_task_main\n"
                     "li a7, %0\necall\n1: j 1b" ::"i"(TAU_TASK_CALL_EXIT));
}
