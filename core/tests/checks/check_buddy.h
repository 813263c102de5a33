// Full walk over a buddy allocator.
#ifndef TAU_CHECK_BUDDY_H
#define TAU_CHECK_BUDDY_H

#include "core/buddy.h"

// The number of the first broken invariant of docs/spec/buddy.md ("[BUD-n]"), 0 if all hold. Cost:
// a few steps per frame.
unsigned check_buddy(const struct tau_buddy *buddy);

#endif
