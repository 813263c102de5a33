// The parts of the planner of cold code that look at every touch: affinity, faults of a placement,
// the search for a better one, and the bound of any.
//
// A piece is a number below pieces_count, with a size; a placement says the page of each piece. The
// faults that are counted here are those of round robin, which is a queue. docs/spec/code_plan.md
// defines each; tool/tests/plan/code/ has the naive ones. One thread per call.
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

// How often each pair of pieces was among the last WINDOW pieces touched, at each touch of one of
// them, into PAIRS (lower piece * pieces_count + the other) and COUNTS, of at most PAIRS_MAX, in no
// order. Answers the number of pairs, UINT64_MAX if memory is short or there are more.
TAU_TRACE_EXPORT uint64_t tau_code_affinity(const struct tau_code_sequence *sequence,
                                            uint32_t window, uint64_t *pairs, uint64_t *counts,
                                            uint64_t pairs_max);

// Faults with round robin. UINT64_MAX if memory is short.
TAU_TRACE_EXPORT uint64_t tau_code_faults(const struct tau_code_sequence *sequence,
                                          const uint16_t *pages, uint32_t pages_count,
                                          uint32_t frames_count);

// Moves and exchanges pieces between PAGES, as long as the faults of round robin fall: the sum of
// five replays, four of them with disturbances. Answers it; UINT64_MAX if memory is short. Equal
// input gives equal output.
TAU_TRACE_EXPORT uint64_t tau_code_improve(const struct tau_code_sequence *sequence,
                                           const struct tau_code_search *search, uint16_t *pages);

// A number of loads below which nobody comes who has HELD_BYTES for these pieces and loads them by
// pages, whatever the placement and policy. IS_EMPTY: nothing is loaded at the first touch.
// UINT64_MAX if memory is short.
TAU_TRACE_EXPORT uint64_t tau_code_faults_bound(const struct tau_code_sequence *sequence,
                                                uint64_t held_bytes, bool is_empty);

#endif
