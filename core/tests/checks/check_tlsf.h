// Full walk over a TLSF heap: every block, every list, every statistic.
#ifndef TAU_CHECK_TLSF_H
#define TAU_CHECK_TLSF_H

#include "core/tlsf.h"

// The number of the first broken invariant of docs/spec/tlsf.md ("[TLSF-n]"), 0 if all hold.
// [TLSF-11] is looked at first, as the walk depends on it; the others follow in their order.
// Touches nothing outside the pools, whatever their bytes are, as long as the control block is
// sound. Cost: a few steps a block, times the logarithm of their number.
unsigned check_tlsf(const struct tau_tlsf *heap);

#endif
