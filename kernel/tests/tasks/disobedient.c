// Does something that no task may: the argument says what.
#include "kernel/tasks/task.h"

enum { READ_KERNEL, READ_DEVICE, WRITE_CODE, READ_UNMAPPED, CALL_UNKNOWN, RETURN };

static uint32_t read_word(uintptr_t address) {
    return *(volatile uint32_t *)address;
}

void tau_task_main(struct tau_task *task) {
    tau_task_wait(0);
    switch (task->arguments[0]) {
    case READ_KERNEL:
        tau_task_wait(read_word(0x00180000));
        break;
    case READ_DEVICE:
        tau_task_wait(read_word(0x40000000));
        break;
    case WRITE_CODE:
        *(volatile uint8_t *)(uintptr_t)tau_task_main = 0;
        break;
    case READ_UNMAPPED:
        tau_task_wait(read_word(task->arguments[1]));
        break;
    case CALL_UNKNOWN:
        __asm__ volatile("li a7, 7\necall" ::: "a7", "memory");
        break;
    default:
        return;
    }
    tau_task_wait(1);
}
