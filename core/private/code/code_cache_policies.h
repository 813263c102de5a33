// The replacement policies: which of the frames left a victim may be [P3-19]. Only
// core/code_cache.c includes this.
#ifndef TAU_CODE_CACHE_POLICIES_H
#define TAU_CODE_CACHE_POLICIES_H

#include "core/private/code/code_cache_flags.h"

// ---- Round robin: frames in the order of their numbers, so that the oldest load goes -----------

TAU_SHARED unsigned code_cache_victim_in_turn(struct tau_code_cache *cache) {
    const uint32_t frame = cache->next_frame;
    TAU_ASSERT(frame < cache->frames_count);
    TAU_ASSERT(code_cache_has(&cache->candidates, frame));
    cache->next_frame = frame + 1 == cache->frames_count ? 0 : frame + 1;
    return frame;
}

// ---- Random, and the end of the policies that leave several frames -----------------------------

// One frame of LEFT, each as likely as any other up to 1 in 2^32.
TAU_SHARED unsigned code_cache_victim_at_random(struct tau_code_cache *cache,
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

// ---- Not recently used: leaves the frames without a use since the last period, if any ----------

TAU_SHARED void code_cache_leave_unused(const struct tau_code_cache *cache,
                                        struct tau_code_cache_flags *left) {
    TAU_ASSERT(cache->policy == TAU_CODE_CACHE_NRU);
    (void)code_cache_narrow(left, &cache->used);
    TAU_ASSERT(code_cache_count(left) > 0);
}

// ---- Aging: leaves the frames whose last use is longest ago, as far as the ages say ------------

// The least number of used flag and age, its highest bit first.
TAU_SHARED void code_cache_leave_oldest(const struct tau_code_cache *cache,
                                        struct tau_code_cache_flags *left) {
    TAU_ASSERT(cache->policy == TAU_CODE_CACHE_AGING);
    (void)code_cache_narrow(left, &cache->used);
#pragma GCC unroll 8
    for (unsigned bit = TAU_CODE_CACHE_AGE_BITS; bit-- > 0;) {
        (void)code_cache_narrow(left, &cache->ages[bit]);
    }
    TAU_ASSERT(code_cache_count(left) > 0);
}

// Halves each age, with the used flag on top.
TAU_SHARED void code_cache_shift_ages(struct tau_code_cache *cache) {
    TAU_ASSERT(cache->frames_count <= TAU_CODE_CACHE_FRAMES_MAX);
#pragma GCC unroll 7
    for (unsigned word = 0; word < TAU_CODE_CACHE_WORDS; word++) {
#pragma GCC unroll 8
        for (unsigned bit = 1; bit < TAU_CODE_CACHE_AGE_BITS; bit++) {
            cache->ages[bit - 1].words[word] = cache->ages[bit].words[word];
        }
        cache->ages[TAU_CODE_CACHE_AGE_BITS - 1].words[word] = cache->used.words[word];
        cache->used.words[word] = 0;
    }
    TAU_ASSERT(cache->used.words[0] == 0);
}

// A page that was just loaded was not used before.
TAU_SHARED void code_cache_forget_age(struct tau_code_cache *cache, unsigned frame) {
    TAU_ASSERT(frame < cache->frames_count);
#pragma GCC unroll 8
    for (unsigned bit = 0; bit < TAU_CODE_CACHE_AGE_BITS; bit++) {
        code_cache_clear(&cache->ages[bit], frame);
    }
    TAU_ASSERT(!code_cache_has(&cache->ages[0], frame));
}

#endif
