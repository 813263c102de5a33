// Full walk over a budgeted heap: every bucket, every table entry, and the shared TLSF.
#ifndef TAU_CHECK_BUDGET_H
#define TAU_CHECK_BUDGET_H

#include "core/budget.h"

// The number of the first broken invariant of docs/spec/budget.md ("[BUDGET-n]"), 0 if all hold.
// [BUDGET-3] and [BUDGET-2] are looked at first, as the walk over the buckets depends on them.
// Cost: a few steps a bucket and a table entry.
unsigned check_budget(const struct tau_budget *heap);

#endif
