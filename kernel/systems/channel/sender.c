// Sends random bits to whom runs after it, by something that it may do.
//
// TAU_CHANNEL_ACT: 0, touch pages or none; 1, be interrupted or wait; 2, be interrupted in a
// division or not; 3, fail or stay, for a life. A life of any other act only waits.
#include "kernel/base/application.h"
#include "kernel/base/base.h"
#include <stdbool.h>

enum { PAGE_WORDS = 256, PAGES = 12 };
enum { TOUCHES, IS_BUSY, DIVIDES, FAILS, LIVES };

static volatile uint32_t memory[PAGES * PAGE_WORDS];

// The bit of the major frame that goes on, which the tool computes as well.
static uint32_t bit_of_now(void) {
    const uint32_t frame =
        ((uint32_t)tau_base_time() - TAU_CHANNEL_START_CYCLE) / TAU_CHANNEL_FRAME_CYCLES;
    const uint32_t mixed = (frame ^ TAU_CHANNEL_SEED) * 0x9E3779B1u;
    return (mixed ^ mixed >> 15) * 0x85EBCA6Bu >> 31;
}

static void wait(void) {
    __asm__ volatile("li a7, %0\n ecall" ::"i"(TAU_COMPOSE_CALL_WAIT) : "a7", "memory");
}

static void touch(void) {
    for (uint32_t i = 0; i < PAGES; i++) {  // bound: the pages
        memory[i * PAGE_WORDS]++;
    }
}

// Until another slot has begun.
static void work(bool divides) {
    const uint64_t begin = tau_base_time();
    volatile uint32_t value = 7;
    while (tau_base_time() - begin < TAU_CHANNEL_SLOT_CYCLES) {  // bound: the slot
        if (divides) {
            for (uint32_t i = 0; i < 8; i++) {  // bound: eight
                value = 0xFFFFFFFF / (value | 1);
            }
        }
    }
}

void sender(void) {
    for (;;) {  // bound: the life
        const uint32_t bit = bit_of_now();
        if (TAU_CHANNEL_ACT == TOUCHES && bit != 0) {
            touch();
        }
        if (TAU_CHANNEL_ACT == FAILS && bit != 0) {
            __asm__ volatile(".word 0");
        }
        if (TAU_CHANNEL_ACT == DIVIDES || (TAU_CHANNEL_ACT == IS_BUSY && bit != 0)) {
            work(bit != 0 && TAU_CHANNEL_ACT == DIVIDES);
            continue;  // its next slot has begun
        }
        do {
            wait();
        } while (TAU_CHANNEL_ACT >= FAILS);
    }
}

TAU_TASK(sender, 512);
TAU_APPLICATION(1, TAU_TASK_OF(sender));
