// Random replacement, and the end of the policies that leave several frames [P3-19].
#ifndef TAU_CODE_CACHE_RANDOM_H
#define TAU_CODE_CACHE_RANDOM_H

#include "core/private/code/code_cache_flags.h"

// One frame of LEFT, each as likely as any other up to 1 in 2^32.
TAU_INLINE unsigned code_cache_victim_at_random(struct tau_code_cache *cache,
                                                const struct tau_code_cache_flags *left) {
    const uint32_t count = code_cache_count(left);
    uint32_t random = cache->random;
    TAU_ASSERT(count > 0);
    random ^= random << 13;
    random ^= random >> 17;
    random ^= random << 5;
    TAU_ASSERT(random != 0);
    cache->random = random;
    return code_cache_select(left, (uint32_t)((uint64_t)random * count >> 32));
}

#endif
