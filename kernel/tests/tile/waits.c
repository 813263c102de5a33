// Does nothing but call the kernel, from its first instruction on.
#include "kernel/base/application.h"

void waits(void) {
    for (;;) {
        __asm__ volatile("li a7, 1\n ecall" ::: "a7", "memory");
    }
}

TAU_TASK(waits, 256);
TAU_APPLICATION(1, TAU_TASK_OF(waits));
