// Not recently used: leaves the frames without a use since the last period, if there are any
// [P3-19].
#ifndef TAU_CODE_CACHE_NRU_H
#define TAU_CODE_CACHE_NRU_H

#include "core/private/code/code_cache_flags.h"

TAU_INLINE void code_cache_leave_unused(const struct tau_code_cache *cache,
                                        struct tau_code_cache_flags *left) {
    TAU_ASSERT(cache->policy == TAU_CODE_CACHE_NRU);
    const bool is_narrower = code_cache_narrow(left, &cache->used);
    TAU_ASSERT(is_narrower || code_cache_count(left) > 0);
    (void)is_narrower;
}

#endif
