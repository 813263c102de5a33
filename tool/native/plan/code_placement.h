// The parts of the planner of cold code that look at every touch: affinity, the search for a better
// placement, a bound of all placements, and the misses of single pieces.
//
// A piece is a number below pieces_count, with a size; a placement says the page of each piece.
// Faults are counted for round robin, which is a queue. docs/spec/code_plan.md defines each;
// tool/tests/coldcode has naive ones. One thread per call.
#ifndef TAU_CODE_PLACEMENT_H
#define TAU_CODE_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/native/trace/trace.h"

struct tau_code_sequence {
    const uint32_t *touches;  // pieces in the order of their touches
    const uint32_t *sizes_bytes;
    size_t count;
    uint32_t pieces_count;
    uint32_t page_bytes;
};

struct tau_code_search {
    uint64_t steps;  // placements that are tried
    uint64_t seed;
    uint32_t frames_count;
    uint32_t pages_count;  // pages that pieces may be moved to
};

// Counts how often each pair of pieces was among the last WINDOW pieces touched, at each touch of
// one of them. Adds to COUNTS[lower piece * pieces_count + the other].
TAU_TRACE_EXPORT void tau_code_affinity(const struct tau_code_sequence *sequence, uint32_t window,
                                        uint32_t *counts);

// Moves and exchanges pieces between PAGES, as long as the faults of round robin fall: the sum of
// five replays, four of them with disturbances. Answers it; UINT64_MAX if memory is short. Equal
// input gives equal output.
TAU_TRACE_EXPORT uint64_t tau_code_improve(const struct tau_code_sequence *sequence,
                                           const struct tau_code_search *search, uint16_t *pages);

// A lower bound of the loads in HELD_BYTES for these pieces, by pages, for any placement and
// policy. IS_EMPTY: nothing is loaded at the first touch. UINT64_MAX if memory is short.
TAU_TRACE_EXPORT uint64_t tau_code_faults_bound(const struct tau_code_sequence *sequence,
                                                uint64_t held_bytes, bool is_empty);

// The touches at which a queue of pieces does not hold the piece, into MISSED: the pieces in the
// order of their touches. A missed piece joins the queue at its end; from its front, pieces leave
// until it has HELD_BYTES or less. Returns their number; UINT64_MAX if memory is short. Cost: one
// pass over all touches, each in constant time on average.
TAU_TRACE_EXPORT uint64_t tau_code_misses(const struct tau_code_sequence *sequence,
                                          uint64_t held_bytes, uint32_t *missed);

#endif
