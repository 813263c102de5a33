// The paper's budgeting over a reduced profile: Eq 4 at every instant, the greedy of Fig. 4, and
// the exhaustive search that the paper compares it with.
//
// All take the instants that tau_profile_reduce kept. Those that it dropped are nowhere above a
// kept one, and Eq 4 and M_i(t) of Eq 18 are monotone in every count, so the result is the same as
// over all instants.
#ifndef TAU_BUDGETING_H
#define TAU_BUDGETING_H

#include "tool/native/plan/profile.h"

// U^B(t) of Eq 4 [P1-12] into BYTES at every kept instant, for COUNTS (which may be fractional) of
// the classes; U(t) of Eq 2 when all are 0. Time: O(changes + instants). Exact for whole counts,
// since all sums are below 2^53.
TAU_TRACE_EXPORT void tau_budgeting_bytes(const struct tau_profile *profile, const double *counts,
                                          double *bytes);

// The paper's greedy [P1-16]: classes in falling size, N_i by Eq 17 with M_i(t) of Eq 18 and
// LIMIT_BYTES for U_max. COUNTS is the lower bound of each count on entry (0 in the paper) and the
// result on return; MOST is the upper bound (P_i,max in the paper). The lower bounds must hold Eq
// 5. Time: O(classes * instants). Fails if and only if memory is short.
TAU_TRACE_EXPORT enum tau_profile_status tau_budgeting_greedy(const struct tau_profile *profile,
                                                              uint64_t limit_bytes,
                                                              const uint64_t *most,
                                                              uint64_t *counts);

// Exhaustive search [P1-15]: COUNTS with the largest sum of Eq 7 among all products of 0 ... MOST
// that hold Eq 5, the first best in counting order (the last class counts fastest). Time:
// O(combinations * instants); a step redoes only the sums after the class that changed. Fails if
// and only if memory is short.
TAU_TRACE_EXPORT enum tau_profile_status tau_budgeting_exhaustive(const struct tau_profile *profile,
                                                                  uint64_t limit_bytes,
                                                                  const uint64_t *most,
                                                                  uint64_t *counts);

#endif
