// Cold functions, one to a page. They call each other and resident code.
#include "core/tests/sv39_code/firmware.h"

#define COLD(place) __attribute__((noinline, noclone, aligned(4096), section(".cold." #place)))
#define WORK_DEPTH_MAX 6u

#define WORK(place, number, next, other)                                                           \
    COLD(place) uint64_t work_##number(uint64_t value, unsigned depth) {                           \
        value = (value ^ value >> 29) * 0xbf58476d1ce4e5b9 + (number);                             \
        if (depth > WORK_DEPTH_MAX) {                                                              \
            return value;                                                                          \
        }                                                                                          \
        if (value % 5 == 0) {                                                                      \
            value += cold_constants[value % COLD_CONSTANTS];                                       \
        }                                                                                          \
        if (value % 3 == 0) {                                                                      \
            return work_##next(value, depth + 1) + (number);                                       \
        }                                                                                          \
        return value % 3 == 1 ? work_##other(value, depth + 2) ^ (number) : value;                 \
    }
WORK(a00, 0, 1, 6)
WORK(a01, 1, 2, 7)
WORK(a02, 2, 0, 8)
WORK(a03, 3, 4, 9)
WORK(a04, 4, 5, 10)
WORK(a05, 5, 3, 11)
WORK(a06, 6, 7, 2)
WORK(a07, 7, 8, 4)
WORK(a08, 8, 9, 0)
WORK(a09, 9, 10, 1)
WORK(a10, 10, 11, 3)
WORK(a11, 11, 6, 5)

// The interrupt's handler, on two pages: INTERRUPT_PAGES.
COLD(b1) static void tick_second(struct ticks *ticks) {
    ticks->sum = ticks->sum * 31 + ticks->count;
}

COLD(b0) void tick_first(struct ticks *ticks) {
    ticks->count++;
    tick_second(ticks);
}

// Whoever touches memory that is mapped on demand needs these two pages within the trap.
COLD(b3) static void fill(uint64_t *page, uint64_t value) {
    for (unsigned i = 0; i < 512; i++) {
        page[i] = value + i;
    }
}

COLD(b2) void map_on_demand(volatile uint64_t *entry, uint64_t *frame, uintptr_t address) {
    fill(frame, address);
    *entry = (uint64_t)(uintptr_t)frame >> 12 << 10 | 0xc7;  // V, R, W, A, D
    __asm__ volatile("sfence.vma" : : : "memory");
}

COLD(b4) uint64_t use_demand(volatile uint64_t *word, uint64_t value) {
    *word += value;
    return *word;
}
