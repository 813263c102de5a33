// See check_code_cache.h. Written from docs/spec/code_cache.md: of the core only the structures are
// used.
#include "core/tests/checks/check_code_cache.h"

enum { PINNED = 0xfe, ABSENT = 0xff };

static bool has(const struct tau_code_cache_flags *flags, uint32_t frame) {
    return (flags->words[frame / 32] & UINT32_C(1) << frame % 32) != 0;
}

// [COLD-11], from the frames and from the pages; COUNT becomes the number of loaded pages.
static bool pages_and_frames_agree(const struct tau_code_cache *cache, uint32_t *count) {
    uint32_t loaded = 0;
    for (uint32_t frame = 0; frame < cache->frames_count; frame++) {
        if (has(&cache->occupied, frame)) {
            const uint32_t page = cache->frame_pages[frame];
            if (page >= cache->pages_count || cache->page_frames[page] != frame) {
                return false;
            }
            loaded++;
        }
    }
    *count = loaded;
    for (uint32_t page = 0; page < cache->pages_count; page++) {
        const unsigned frame = cache->page_frames[page];
        if (frame != PINNED && frame != ABSENT) {
            if (frame >= cache->frames_count || !has(&cache->occupied, frame)) {
                return false;
            }
            loaded--;
        }
    }
    return loaded == 0;
}

// [COLD-12]
static bool recent_is_sound(const struct tau_code_cache *cache) {
    bool is_recent[TAU_CODE_CACHE_FRAMES_MAX] = {false};
    if (cache->recent_count > cache->recent_max) {
        return false;
    }
    for (uint32_t place = 0; place < cache->recent_count; place++) {
        const unsigned frame = cache->recent[place];
        if (frame >= cache->frames_count || is_recent[frame]) {
            return false;
        }
        is_recent[frame] = true;
    }
    for (uint32_t frame = 0; frame < cache->frames_count; frame++) {
        if (is_recent[frame] == has(&cache->candidates, frame)) {
            return false;
        }
    }
    return true;
}

unsigned check_code_cache(const struct tau_code_cache *cache) {
    uint32_t loaded = 0;
    uint32_t pinned = 0;
    if (cache->frames_count > TAU_CODE_CACHE_FRAMES_MAX ||
        cache->recent_max >= cache->frames_count || cache->next_frame >= cache->frames_count ||
        cache->random == 0) {
        return 15;
    }
    if (!pages_and_frames_agree(cache, &loaded)) {
        return 11;
    }
    if (!recent_is_sound(cache)) {
        return 12;
    }
    for (uint32_t frame = cache->frames_count; frame < TAU_CODE_CACHE_FRAMES_MAX; frame++) {
        if (has(&cache->occupied, frame) || has(&cache->candidates, frame)) {
            return 13;
        }
    }
    for (uint32_t page = 0; page < cache->pages_count; page++) {
        pinned += cache->page_frames[page] == PINNED;
    }
    if (cache->counts.loads - cache->counts.evictions - cache->counts.drops != loaded ||
        cache->counts.pinned != pinned) {
        return 14;
    }
    if (cache->policy == TAU_CODE_CACHE_ROUND_ROBIN &&
        !has(&cache->candidates, cache->next_frame)) {
        return 15;
    }
    return tau_code_cache_invariants_hold(cache) ? 0 : 16;
}
