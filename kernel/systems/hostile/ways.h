// The ways of hostile.c. Each gets the number of the task, 0 to 7, and how often it was tried.
#ifndef TAU_HOSTILE_WAYS_H
#define TAU_HOSTILE_WAYS_H

#include <stdint.h>

#include "kernel/systems/hostile/reach.h"

static inline void illegal(uint32_t task, uint32_t turn) {
    (void)turn;
    switch (task) {
    case 0:
        __asm__ volatile(".word 0");
        break;
    case 1:
        __asm__ volatile(".word 0xffffffff");
        break;
    case 2:
        __asm__ volatile("mret");
        break;
    case 3:
        __asm__ volatile("csrw mstatus, %0" ::"r"(0x1888));
        break;
    case 4:
        __asm__ volatile("csrw mtvec, %0" ::"r"(hostile_pages));
        break;
    case 5:
        __asm__ volatile("csrw mie, zero");
        break;
    case 6:
        __asm__ volatile(".word 0x7b200073");  // dret
        break;
    default:
        __asm__ volatile("csrr t0, mscratch" ::: "t0");
    }
}

static inline void call_number(uint32_t number) {
    register uint32_t a7 __asm__("a7") = number;
    __asm__ volatile("ecall" ::"r"(a7) : "memory");
}

static inline void stop_itself(uint32_t task, uint32_t turn) {
    static const uint32_t NUMBERS[] = {0, 2, 77, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF};
    (void)turn;
    if (task == 6) {
        __asm__ volatile(".option push\n.option norvc\n ebreak\n .option pop");
    } else if (task == 7) {
        __asm__ volatile("c.ebreak");
    } else {
        call_number(NUMBERS[task]);
    }
}

// Every register but one points where the caller may not go.
static inline void call_with_bad_pointers(uint32_t task, uint32_t turn) {
    const uint32_t bad = turn % 2 != 0 ? MEMORY[task] : DEVICES[task];
    __asm__ volatile("mv s1, sp\n mv s2, gp\n mv s3, tp\n mv sp, %0\n mv gp, %0\n mv tp, %0\n"
                     "mv a0, %0\n mv a1, %0\n mv a2, %0\n mv a3, %0\n li a7, 1\n ecall\n"
                     "mv sp, s1\n mv gp, s2\n mv tp, s3"
                     :
                     : "r"(bad)
                     : "s1", "s2", "s3", "a0", "a1", "a2", "a3", "a7", "memory");
}

static inline void call_in_a_loop(uint32_t task, uint32_t turn) {
    for (uint32_t i = 0; i < task + turn % 3; i++) {
        call_number(TAU_COMPOSE_CALL_WAIT);
    }
}

static inline void sleep(uint32_t task, uint32_t turn) {
    (void)task;
    (void)turn;
    __asm__ volatile("wfi");
}

static inline void fence_instructions(uint32_t task, uint32_t turn) {
    (void)turn;
    for (uint32_t i = 0; i <= task; i++) {
        __asm__ volatile(".word 0x0000100f");
    }
}

static inline void divide(uint32_t task, uint32_t turn) {
    volatile uint32_t value = 0xFFFFFFFF - turn;
    for (uint32_t i = 0; i < 8; i++) {
        value = value / (task + 1) | 0x80000000;
    }
}

static inline void miss_data(uint32_t task, uint32_t turn) {
    for (uint32_t i = 0; i < 3 * HOSTILE_PAGES; i++) {
        hostile_pages[(i + task) % HOSTILE_PAGES * HOSTILE_PAGE_WORDS + turn % 8]++;
    }
}

// Stores over the border of two own pages: two translations, two accesses.
static inline void cross_own(uint32_t task, uint32_t turn) {
    for (uint32_t i = 1; i < HOSTILE_PAGES; i++) {
        const uintptr_t border = (uintptr_t)(hostile_pages + i * HOSTILE_PAGE_WORDS);
        *(volatile uint32_t *)(border - 1 - task % 3) = turn;
    }
}

#define HOSTILE_FAR(number)                                                                        \
    __attribute__((noinline, aligned(1024))) static void far##number(void) {                       \
        __asm__ volatile("nop");                                                                   \
    }
HOSTILE_FAR(0)
HOSTILE_FAR(1)
HOSTILE_FAR(2)
HOSTILE_FAR(3)
HOSTILE_FAR(4)
HOSTILE_FAR(5)

static inline void miss_fetch(uint32_t task, uint32_t turn) {
    for (uint32_t i = 0; i <= (task + turn) % 3; i++) {
        far0();
        far1();
        far2();
        far3();
        far4();
        far5();
    }
}

// Over a border of which only one side is allowed: code in front of data, and the end of memory.
extern uint8_t hostile_global_pointer[] __asm__("__global_pointer$");
uint8_t hostile_end[16] __attribute__((common));  // commons are last in memory

static inline uintptr_t half_allowed(uint32_t task) {
    const uintptr_t begin = ((uintptr_t)hostile_global_pointer - 0x800) / 1024 * 1024;
    const uintptr_t end = ((uintptr_t)hostile_end + sizeof hostile_end + 1023) / 1024 * 1024;
    return (task % 2 != 0 ? end : begin) - 1 - task / 2 % 3;
}

static inline void cross_store(uint32_t task, uint32_t turn) {
    if (task < 6) {
        *(volatile uint32_t *)half_allowed(task) = turn;
    } else {
        *(volatile uint16_t *)half_allowed(task - 6) = (uint16_t)turn;
    }
}

static inline void cross_load(uint32_t task, uint32_t turn) {
    if (task < 6) {
        hostile_pages[turn % 2] = *(volatile uint32_t *)half_allowed(task);
    } else {
        hostile_pages[turn % 2] = *(volatile uint16_t *)half_allowed(task - 6);
    }
}

// Into data, which nobody may execute, and after the last instruction.
static inline void jump_to_data(uint32_t task, uint32_t turn) {
    const uintptr_t place = (uintptr_t)hostile_pages + 1024 * (task / 2);
    hostile_pages[turn % 2] = 0x00008067;  // ret
    ((void (*)(void))(place - task % 2 * 2))();
}

static inline void use_system_page(uint32_t task, uint32_t turn) {
    for (uint32_t i = 0; i < 8; i++) {
        *(volatile uint8_t *)(TAU_COMPOSE_ADDRESS_SYSTEM + TAU_TILE_SYSTEM_PAGE_CONSOLE) =
            (uint8_t)(turn % 16 == 0 ? '\n' : 'a' + task);
        *(volatile uint32_t *)(TAU_COMPOSE_ADDRESS_SYSTEM + 4 * i + turn % 4) = i * turn;
    }
}

static inline void touch_pool(uint32_t task, uint32_t turn) {
    *(volatile uint32_t *)(uintptr_t)(HOSTILE_POOL + 1024 * (8 * (turn % 4) + task)) = turn;
}

#endif
