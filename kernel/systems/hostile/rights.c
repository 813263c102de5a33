// Applications that try each way to reach what is not theirs, one way a task. The build names a
// file of ways (RIGHTS_WAYS), which kernel/tests/tile/test_rights.py writes, and the number of the
// first application (RIGHTS_FIRST). A task marks that it begins, and marks again if nothing stopped
// it.
#include "kernel/base/application.h"
#include "kernel/base/base.h"

enum { TASKS = 8 };

struct rights_way {
    void (*access)(uintptr_t address);
    uintptr_t address;
};

extern const struct rights_way rights_ways[];
extern const uint32_t rights_ways_count;

uint8_t rights_data[1024] __attribute__((aligned(1024)));

#define RIGHTS_ACCESS(name, instruction)                                                           \
    static void name(uintptr_t address) {                                                          \
        __asm__ volatile(instruction " t0, 0(%0)" ::"r"(address) : "t0", "memory");                \
    }

RIGHTS_ACCESS(load, "lw")
RIGHTS_ACCESS(load_half, "lhu")
RIGHTS_ACCESS(load_byte, "lbu")
RIGHTS_ACCESS(store, "sw")
RIGHTS_ACCESS(store_half, "sh")
RIGHTS_ACCESS(store_byte, "sb")

static void jump(uintptr_t address) {
    ((void (*)(void))address)();
}

static void wait_for_slot(void) {
    __asm__ volatile("li a7, 1\n ecall" ::: "a7", "memory");
}

static void try_way(uint32_t task) {
    const uint32_t application = *tau_system_page_word(TAU_TILE_SYSTEM_PAGE_APPLICATION);
    const uint32_t way = TASKS * (application - RIGHTS_FIRST) + task;
    if (way < rights_ways_count) {
        tau_system_page_mark(task, way, 0);
        rights_ways[way].access(rights_ways[way].address);
        tau_system_page_mark(task, way, 1);
    }
    for (;;) {
        wait_for_slot();
    }
}

#define RIGHTS_TASK(number)                                                                        \
    void task##number(void) {                                                                      \
        try_way(number);                                                                           \
    }                                                                                              \
    TAU_TASK(task##number, 256)

RIGHTS_TASK(0);
RIGHTS_TASK(1);
RIGHTS_TASK(2);
RIGHTS_TASK(3);
RIGHTS_TASK(4);
RIGHTS_TASK(5);
RIGHTS_TASK(6);
RIGHTS_TASK(7);
TAU_APPLICATION(8, TAU_TASK_OF(task0), TAU_TASK_OF(task1), TAU_TASK_OF(task2), TAU_TASK_OF(task3),
                TAU_TASK_OF(task4), TAU_TASK_OF(task5), TAU_TASK_OF(task6), TAU_TASK_OF(task7));

#include RIGHTS_WAYS
