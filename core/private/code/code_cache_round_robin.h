// Round robin: frames in the order of their numbers, so that the oldest load goes [P3-19].
#ifndef TAU_CODE_CACHE_ROUND_ROBIN_H
#define TAU_CODE_CACHE_ROUND_ROBIN_H

#include "core/private/code/code_cache_flags.h"

TAU_INLINE unsigned code_cache_victim_in_turn(struct tau_code_cache *cache) {
    const uint32_t frame = cache->next_frame;
    TAU_ASSERT(frame < cache->frames_count);
    TAU_ASSERT(code_cache_has(&cache->candidates, frame));
    cache->next_frame = frame + 1 == cache->frames_count ? 0 : frame + 1;
    return frame;
}

#endif
