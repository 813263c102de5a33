// Time for rows: the time-stamp counter where the kernel itself trusts it, else CLOCK_MONOTONIC.
//
// Order rule (SPEC [REC-3]): a new object's time is read after the allocator returned, a dying
// object's before it is given up. Then a place's next owner is always later than its last one,
// whichever threads they are. The counter may be read early by the processor, so the "after" side
// uses rdtscp, which waits for every earlier load; the "before" side needs no fence, since no later
// store can become visible before the counter was read.
#ifndef TAU_LINUX_RECORDER_CLOCK_H
#define TAU_LINUX_RECORDER_CLOCK_H

#include <stdint.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

static inline uint64_t tau_clock_nanoseconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t tau_clock_before(uint32_t uses_counter) {
#if defined(__x86_64__)
    if (__builtin_expect(uses_counter != 0, 1)) {
        return __rdtsc();
    }
#endif
    (void)uses_counter;
    return tau_clock_nanoseconds(CLOCK_MONOTONIC);
}

static inline uint64_t tau_clock_after(uint32_t uses_counter) {
#if defined(__x86_64__)
    if (__builtin_expect(uses_counter != 0, 1)) {
        unsigned int processor;
        return __rdtscp(&processor);
    }
#endif
    (void)uses_counter;
    return tau_clock_nanoseconds(CLOCK_MONOTONIC);
}

#endif
