// A neighbor that does what could disturb others, at random: divisions, misses, stores across
// pages, jumps over pages, kernel calls, sleep, and in the end an error of each kind.
//
// Two loads of it do different things: the seed has the time in it.
#include "kernel/base/application.h"
#include "kernel/base/base.h"

#ifndef TAU_NEIGHBOR_SEED
#define TAU_NEIGHBOR_SEED 1u
#endif

enum { PAGE_WORDS = 256, PAGES = 12, ACTIONS_LEAST = 100, ACTIONS_MORE = 4000 };

static volatile uint32_t memory[PAGES * PAGE_WORDS];

static uint32_t next(uint32_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static void divide(uint32_t chance) {
    volatile uint32_t value = chance | 1;
    for (uint32_t i = 0; i < 20; i++) {
        value = 0xFFFFFFFF / (value | 1);
    }
}

static void miss(uint32_t chance) {
    for (uint32_t i = 0; i < PAGES; i++) {
        memory[(i * 5 + chance) % PAGES * PAGE_WORDS] += i;
    }
}

static void cross(uint32_t chance) {
    const uintptr_t border = (uintptr_t)memory + 4 * PAGE_WORDS * (1 + chance % (PAGES - 1));
    *(volatile uint32_t *)(border - 2) = chance;
}

static void call(void) {
    __asm__ volatile("li a7, 1\n ecall" ::: "a7", "memory");
}

static void fail(uint32_t chance) {
    switch (chance % 6) {
    case 0:
        *(volatile uint32_t *)0x80000000 = chance;  // page 0
        break;
    case 1:
        *(volatile uint32_t *)0x40000004 = 0;  // a device
        break;
    case 2:
        __asm__ volatile(".word 0");
        break;
    case 3:
        __asm__ volatile("csrr t0, mcycle" ::: "t0");
        break;
    case 4:
        *(volatile uint32_t *)TAU_COMPOSE_ADDRESS_BASE = 0;  // base code
        break;
    default:
        __asm__ volatile("li a7, 77\n ecall" ::: "a7");
    }
}

void neighbor(void) {
    uint32_t state = TAU_NEIGHBOR_SEED ^ (uint32_t)tau_base_time() ^ 0x9E3779B9;
    const uint32_t actions = ACTIONS_LEAST + next(&state) % ACTIONS_MORE;
    for (uint32_t i = 0; i < actions; i++) {
        const uint32_t chance = next(&state);
        switch (chance % 8) {
        case 0:
        case 1:
            divide(chance >> 3);
            break;
        case 2:
        case 3:
            miss(chance >> 3);
            break;
        case 4:
            cross(chance >> 3);
            break;
        case 5:
            __asm__ volatile(".word 0x0000100f");  // fence.i
            break;
        case 6:
            if (chance >> 28 == 0) {
                call();
            }
            break;
        default:
            if (chance >> 29 == 0) {
                __asm__ volatile("wfi");
            }
        }
    }
    fail(next(&state));
}

TAU_TASK(neighbor, 512);
TAU_APPLICATION(1, TAU_TASK_OF(neighbor));
