// Time for rows: the time-stamp counter if the kernel trusts it, else CLOCK_MONOTONIC.
//
// Order rule (SPEC [REC-3]): a new object's time is read after the allocator returned it, a dying
// object's before it is given up. So the owners of an address do not overlap in time, in whichever
// threads they are, provided that the processor reads the counter in program order:
//
//   thread A   p = malloc()   read   publish p
//   thread B                                     take p   read   free(p)
//
// The processor may read the counter before an earlier load is done, so B's time could come before
// A's (seen: 20 ns, some ten times in a million hand-overs). rdtscp waits for all earlier loads.
// Later stores need no fence: none can be seen before the counter was read. While the process has
// one thread, nothing can be out of order, and the plain counter is 8 ns cheaper.
#ifndef TAU_LINUX_RECORDER_CLOCK_H
#define TAU_LINUX_RECORDER_CLOCK_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "linux/interpose/machine.h"

// musl has no such variable: there the process counts as one with several threads.
extern char __libc_single_threaded __attribute__((weak));

static inline uint64_t tau_clock_nanoseconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

enum tau_clock {
    TAU_CLOCK_MONOTONIC = 0,
    TAU_CLOCK_COUNTER = 1,   // the time-stamp counter
    TAU_CLOCK_SEQUENCE = 2,  // neither may be read any more: events are counted
};

// The latest tick of TAU_CLOCK_SEQUENCE, in the unit of the clock before it.
extern _Atomic uint64_t tau_clock_sequence;

// The time in ticks of CLOCK.
static inline uint64_t tau_clock_now(enum tau_clock clock) {
    if (TAU_MACHINE_HAS_COUNTER && __builtin_expect(clock == TAU_CLOCK_COUNTER, 1)) {
        return tau_machine_counter(&__libc_single_threaded != NULL && __libc_single_threaded != 0);
    }
    return clock == TAU_CLOCK_SEQUENCE ? atomic_fetch_add(&tau_clock_sequence, 1)
                                       : tau_clock_nanoseconds(CLOCK_MONOTONIC);
}

#endif
