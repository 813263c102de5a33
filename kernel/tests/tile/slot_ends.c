// Tasks whose slots end in what takes the core or the kernel longest. A task has one slot in each
// major frame. In that one it waits for a cycle near the slot's end, a cycle later each time, and
// then does its thing: a division, the first touch of a page of the pool, a store across a border
// of two such pages, a kernel call, sleep.
//
// The build names START, USER, PERIOD (a user slot and an OS slot), SLOTS (of a major frame) and
// FIRST_PLACE (the first task's, there).
#include "kernel/base/application.h"
#include "kernel/base/base.h"

enum { TURNS = 16, NEAR_CYCLES = 400, FORGOTTEN_PAGES = 5 };
enum { PAGE_BYTES = TAU_COMPOSE_SIZE_PAGE_BYTES_MIN };
enum { TOUCHED = 0x80200000, CROSSED = TOUCHED + TURNS * PAGE_BYTES };

typedef void (*at_cycle)(uint32_t cycle, uint32_t first, uint32_t second, uint32_t third,
                         uint32_t a4, uint32_t a5, uint32_t a6, uint32_t call);
void divide_at(uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t);
void store_at(uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t);
void cross_at(uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t);
void call_at(uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t);
void sleep_at(uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t);

// More pages than the TLB has entries: older entries are gone.
static volatile uint8_t forgotten[FORGOTTEN_PAGES * PAGE_BYTES];

// The end of the next slot of PLACE that is not too near.
static uint32_t next_end(uint32_t place) {
    uint32_t now;
    uint32_t end;
    do {  // bound: a major frame
        now = (uint32_t)tau_base_time();
        end = START + (now - START) / (SLOTS * PERIOD) * (SLOTS * PERIOD) + place * PERIOD + USER;
    } while ((int32_t)(end - now) < NEAR_CYCLES);
    return end;
}

static void turns(uint32_t place, at_cycle act, uint32_t first, uint32_t second, uint32_t step) {
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        const uint32_t end = next_end(place);
        for (uint32_t i = 0; i < FORGOTTEN_PAGES; i++) {
            (void)forgotten[i * PAGE_BYTES];
        }
        act(end + turn, first + turn * step, second, 0, 0, 0, 0, TAU_COMPOSE_CALL_WAIT);
    }
}

void divide(void) {
    turns(FIRST_PLACE, divide_at, UINT32_MAX, 1, 0);
}

void touch(void) {
    turns(FIRST_PLACE + 1, store_at, TOUCHED, 1, PAGE_BYTES);
}

void cross(void) {
    *(volatile uint32_t *)CROSSED = 1;
    turns(FIRST_PLACE + 2, cross_at, CROSSED + PAGE_BYTES - 2, 1, PAGE_BYTES);
}

void call(void) {
    turns(FIRST_PLACE + 3, call_at, 0, 0, 0);
}

void sleep(void) {
    turns(FIRST_PLACE + 4, sleep_at, 0, 0, 0);
}

TAU_TASK(divide, 512);
TAU_TASK(touch, 512);
TAU_TASK(cross, 512);
TAU_TASK(call, 512);
TAU_TASK(sleep, 512);
TAU_APPLICATION(5, TAU_TASK_OF(divide), TAU_TASK_OF(touch), TAU_TASK_OF(cross), TAU_TASK_OF(call),
                TAU_TASK_OF(sleep));
