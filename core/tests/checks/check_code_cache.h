// Full walk over a code cache.
#ifndef TAU_CHECK_CODE_CACHE_H
#define TAU_CHECK_CODE_CACHE_H

#include "core/code_cache.h"

// The number of the first broken invariant of docs/spec/code_cache.md ("[COLD-n]"), 0 if all hold.
// Cost: a few steps per page and frame.
unsigned check_code_cache(const struct tau_code_cache *cache);

#endif
