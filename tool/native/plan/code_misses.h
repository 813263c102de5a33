// How often each piece of code would be loaded if pieces were loaded alone: what the planner of
// cold code keeps in RAM is what is missed most often.
#ifndef TAU_CODE_MISSES_H
#define TAU_CODE_MISSES_H

#include "tool/native/plan/code_placement.h"

// Into MISSES, one number per piece: the touches at which a queue of pieces does not hold the
// piece. A missed piece joins the queue at its end; from its front, pieces leave until it has
// HELD_BYTES or less. Into MISSED, unless it is NULL: the missed pieces in the order of their
// touches. Answers how many these are; UINT64_MAX, and nothing else, if memory is short. One pass
// over all touches, each in constant time on average.
TAU_TRACE_EXPORT uint64_t tau_code_misses(const struct tau_code_sequence *sequence,
                                          uint64_t held_bytes, uint64_t *misses, uint32_t *missed);

#endif
