// Walks lists of pages on this machine and says how long that took.
//
// Each page holds the address of the next one, so that no access begins before the one before
// it has ended. docs/spec/discover.md says how the numbers are used. One thread at a time.
#ifndef TAU_TLB_WALKER_H
#define TAU_TLB_WALKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/native/trace/trace.h"

// A walk over pages: SHUFFLES orders, with BURSTS timed bursts of `passes` passes in each.
struct tau_walker_walk {
    const uint64_t *pages;  // addresses, all mapped by tau_walker_map
    size_t count;           // how many, > 0
    uint32_t shuffles;
    uint32_t settling;  // passes before the first burst of each order
    uint32_t bursts;
    uint32_t passes;  // per burst, > 0
    uint64_t seed;    // chooses the orders
};

// The clock, in ticks; 0 forever if there is none.
TAU_TRACE_EXPORT uint64_t tau_walker_now(void);
// "tsc", "cntvct", or "monotonic" with ticks of one nanosecond.
TAU_TRACE_EXPORT const char *tau_walker_clock(void);

// Maps BYTES at ADDRESS, in base pages. Returns 0, or the errno of why not; then nothing changed.
TAU_TRACE_EXPORT int tau_walker_map(uint64_t address, size_t bytes);
TAU_TRACE_EXPORT void tau_walker_unmap(uint64_t address, size_t bytes);

// Writes the ticks of each burst, shuffles * bursts numbers. Fails (false) if and only if memory
// is short.
TAU_TRACE_EXPORT bool tau_walker_run(const struct tau_walker_walk *walk, uint64_t *ticks);
// Walks once over the COUNT addresses BEFORE and then, timed, once over PAGES, both in order.
// PAGES is not empty, and neither has an address twice. No address is in both.
TAU_TRACE_EXPORT uint64_t tau_walker_after(const uint64_t *before, size_t before_count,
                                           const uint64_t *pages, size_t pages_count);
// Ticks of PASSES passes over COUNT lines in the pages from ADDRESS on, LINES per page, after one
// that is not timed: what the data cache takes of a walk over COUNT pages. The pages are mapped.
// Returns 0 if memory is short.
TAU_TRACE_EXPORT uint64_t tau_walker_lines(uint64_t address, size_t count, uint32_t lines,
                                           uint32_t passes, uint64_t seed);

// A counter of events of this thread in user mode, as perf_event_open describes them. Returns a
// file descriptor, or −errno if the machine has or allows none.
TAU_TRACE_EXPORT int tau_walker_counter_open(uint32_t type, uint64_t config);
// Events so far; 0 if it cannot be read.
TAU_TRACE_EXPORT uint64_t tau_walker_counter_read(int counter);

#endif
