// Pages that are walked over in random order, each access after the one before. What bench programs
// of the TLB share.
#ifndef BENCH_RUNTIME_CELLS_H
#define BENCH_RUNTIME_CELLS_H

#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#define PAGE_BYTES 4096u
#define LINES 64u
#define LINE_BYTES 64u
#define OBJECT_BYTES 1500u

static unsigned lines_used[LINES];

static inline uint64_t now(void) {
#if defined(__x86_64__)
    unsigned core;
    return __rdtscp(&core);
#else
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
#endif
}

static inline uintptr_t page_of(uintptr_t address) {
    return address & -(uintptr_t)PAGE_BYTES;
}

// The line in the page of OBJECT, from OBJECT to END bytes into the page, that is used
// least in other pages: so the data cache has room for all of them.
static inline void **cell_of(uintptr_t object, unsigned end) {
    const uintptr_t page = page_of(object);
    unsigned line = (unsigned)(object - page + LINE_BYTES - 1) / LINE_BYTES;
    unsigned best = line;
    for (; (line + 1) * LINE_BYTES <= end; line++) {
        best = lines_used[line] < lines_used[best] ? line : best;
    }
    lines_used[best]++;
    return (void **)(page + best * LINE_BYTES);
}

// Links COUNT cells into a ring in a random order.
static inline void link_cells(void ***cells, unsigned count) {
    for (unsigned last = count - 1; last > 0; last--) {
        const unsigned other = (unsigned)rand() % (last + 1);
        void **const kept = cells[last];
        cells[last] = cells[other];
        cells[other] = kept;
    }
    for (unsigned number = 0; number < count; number++) {
        *cells[number] = cells[(number + 1) % count];
    }
}

static inline void **walk(void **cell, unsigned accesses) {
    for (unsigned access = 0; access < accesses; access++) {
        cell = *(void **volatile *)cell;
    }
    return cell;
}

static inline int by_value(const void *one, const void *other) {
    const double difference = *(const double *)one - *(const double *)other;
    return (difference > 0) - (difference < 0);
}

#endif
