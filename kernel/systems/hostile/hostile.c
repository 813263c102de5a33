// Applications that try to disturb others, one way each: TAU_HOSTILE names it. Eight tasks do it
// with what differs by their number, at the end of their slots: from well before the last cycle to
// after it, later or earlier in each turn.
#include "kernel/base/application.h"
#include "kernel/base/base.h"
#include "kernel/systems/hostile/ways.h"

#ifndef TAU_HOSTILE
#define TAU_HOSTILE illegal
#endif
#ifndef TAU_HOSTILE_SLOT_CYCLES
#define TAU_HOSTILE_SLOT_CYCLES 3000u
#endif

enum {
    LEAD_CYCLES = 270,  // the last phase is after the slot's end by then
    PHASES = 96,
    TASK_STEP = 9,
    TURN_STEP = 7,
    NOPS_MAX = 32,  // between two readings of the clock
};

static void wait_for_slot(void) {
    __asm__ volatile("li a7, 1\n ecall" ::: "a7", "memory");
}

static void nops(uint32_t count) {
    uint32_t place;
    __asm__ volatile("la %0, 1f\n sub %0, %0, %1\n sub %0, %0, %1\n jr %0\n"
                     ".rept 32\n c.nop\n .endr\n1:"
                     : "=&r"(place)
                     : "r"(count));
}

static void run(uint32_t task) {
    for (uint32_t turn = 0;; turn++) {
        wait_for_slot();
        const uint32_t start = (uint32_t)tau_base_time();
        const uint32_t phase = (TASK_STEP * task + TURN_STEP * turn) % PHASES;
        const uint32_t delay = TAU_HOSTILE_SLOT_CYCLES - LEAD_CYCLES + phase / NOPS_MAX * NOPS_MAX;
        while ((uint32_t)tau_base_time() - start < delay) {  // bound: the slot
        }
        nops(phase % NOPS_MAX);
        TAU_HOSTILE(task, turn);
    }
}

#define HOSTILE_TASK(number)                                                                       \
    void hostile##number(void) {                                                                   \
        run(number);                                                                               \
    }                                                                                              \
    TAU_TASK(hostile##number, 256)

HOSTILE_TASK(0);
HOSTILE_TASK(1);
HOSTILE_TASK(2);
HOSTILE_TASK(3);
HOSTILE_TASK(4);
HOSTILE_TASK(5);
HOSTILE_TASK(6);
HOSTILE_TASK(7);
TAU_APPLICATION(8, TAU_TASK_OF(hostile0), TAU_TASK_OF(hostile1), TAU_TASK_OF(hostile2),
                TAU_TASK_OF(hostile3), TAU_TASK_OF(hostile4), TAU_TASK_OF(hostile5),
                TAU_TASK_OF(hostile6), TAU_TASK_OF(hostile7));
