// The code cache. Only tau_code_cache_init loops over pages, and no other call has a loop.
#include "core/code_cache.h"

#include "core/private/bits.h"
#include "core/private/check.h"
#include "core/private/code/code_cache_flags.h"
#include "core/private/code/code_cache_policies.h"

// What a byte says of a page that is in no frame.
#define CODE_CACHE_ABSENT TAU_CODE_CACHE_PAGE_ABSENT
#define CODE_CACHE_PINNED 0xfeu

_Static_assert(TAU_CODE_CACHE_FRAMES_MAX <= CODE_CACHE_PINNED,
               "a byte says a frame, or why there is none");
_Static_assert(TAU_CODE_CACHE_PAGES_MAX <= UINT16_MAX, "a half word says a page");
_Static_assert(TAU_CODE_CACHE_FRAMES_LEAST(1, 0) == 4, "two pages of code, two of its operand");

static bool code_cache_are_settings(const struct tau_code_cache_settings *settings) {
    return settings->pages_count > 0 && settings->pages_count <= TAU_CODE_CACHE_PAGES_MAX &&
           settings->frames_count > 0 && settings->frames_count <= TAU_CODE_CACHE_FRAMES_MAX &&
           settings->frames_least > 0 && (unsigned)settings->policy <= TAU_CODE_CACHE_AGING;
}

// The frames of one word of flags that a cache of COUNT frames has.
static uint32_t code_cache_frames_in(uint32_t count, unsigned word) {
    return count >= 32 * (word + 1) ? UINT32_MAX
           : count > 32 * word      ? (UINT32_C(1) << (count - 32 * word)) - 1
                                    : 0;
}

static void code_cache_clear_flags(struct tau_code_cache *cache) {
    TAU_ASSERT(cache->frames_count > 0);
#pragma GCC unroll 7
    for (unsigned word = 0; word < TAU_CODE_CACHE_WORDS; word++) {
        cache->occupied.words[word] = 0;
        cache->used.words[word] = 0;
        cache->candidates.words[word] = code_cache_frames_in(cache->frames_count, word);
#pragma GCC unroll 8
        for (unsigned bit = 0; bit < TAU_CODE_CACHE_AGE_BITS; bit++) {
            cache->ages[bit].words[word] = 0;
        }
    }
    TAU_ASSERT(code_cache_count(&cache->candidates) == cache->frames_count);
}

enum tau_status tau_code_cache_init(struct tau_code_cache *cache,
                                    const struct tau_code_cache_settings *settings,
                                    uint8_t *page_frames) {
    if (page_frames == NULL || !code_cache_are_settings(settings)) {
        return TAU_BAD_ARGUMENT;
    }
    if (settings->frames_count < settings->frames_least) {
        return TAU_FRAMES_TOO_FEW;
    }
    cache->page_frames = page_frames;
    cache->pages_count = settings->pages_count;
    cache->frames_count = settings->frames_count;
    cache->recent_max = settings->frames_least - 1;
    cache->recent_count = 0;
    cache->recent_next = 0;
    cache->next_frame = 0;
    cache->random = settings->seed == 0 ? 1 : settings->seed;
    cache->policy = settings->policy;
    cache->counts = (struct tau_code_cache_counts){0, 0, 0, 0, 0};
    code_cache_clear_flags(cache);
    for (uint32_t page = 0; page < settings->pages_count; page++) {  // bound: the pages
        // Held, or compilers make this a call of memset.
        page_frames[tau_bits_hold(page)] = CODE_CACHE_ABSENT;
    }
    TAU_ASSERT(tau_code_cache_invariants_hold(cache));
    return TAU_OK;
}

// The frame that the next page is loaded into.
TAU_SHARED unsigned code_cache_victim_of(struct tau_code_cache *cache) {
    if (cache->policy == TAU_CODE_CACHE_ROUND_ROBIN) {
        return code_cache_victim_in_turn(cache);
    }
    struct tau_code_cache_flags left = cache->candidates;
    TAU_ASSERT(code_cache_count(&left) > 0);
    if (!code_cache_narrow(&left, &cache->occupied)) {
        if (cache->policy == TAU_CODE_CACHE_NRU) {
            code_cache_leave_unused(cache, &left);
        } else if (cache->policy == TAU_CODE_CACHE_AGING) {
            code_cache_leave_oldest(cache, &left);
        }
    }
    // Choosing one at random takes as long as finding the oldest, which few frames are.
    return cache->policy == TAU_CODE_CACHE_AGING ? code_cache_lowest(&left)
                                                 : code_cache_victim_at_random(cache, &left);
}

// Makes FRAME the latest of the recent frames; the oldest is a candidate again.
TAU_SHARED void code_cache_note_recent(struct tau_code_cache *cache, unsigned frame) {
    const uint32_t place = cache->recent_next;
    TAU_ASSERT(code_cache_has(&cache->candidates, frame));
    if (cache->recent_max == 0) {
        return;
    }
    TAU_ASSERT(place < cache->recent_max);
    if (cache->recent_count == cache->recent_max) {
        code_cache_set(&cache->candidates, cache->recent[place]);
    } else {
        cache->recent_count++;
    }
    cache->recent[place] = (uint8_t)frame;
    code_cache_clear(&cache->candidates, frame);
    cache->recent_next = place + 1 == cache->recent_max ? 0 : place + 1;
}

enum tau_status tau_code_cache_fault(struct tau_code_cache *cache, struct tau_page page,
                                     struct tau_code_cache_answer *answer) {
    TAU_INVARIANT(tau_code_cache_invariants_hold(cache));
    if (page.number >= cache->pages_count) {
        return TAU_PAGE_OUTSIDE;
    }
    const unsigned found = cache->page_frames[page.number];
    if (found == CODE_CACHE_PINNED) {
        return TAU_PAGE_PINNED;
    }
    cache->counts.faults++;
    if (found != CODE_CACHE_ABSENT) {
        TAU_ASSERT(cache->frame_pages[found] == page.number);
        answer->action = TAU_CODE_CACHE_RETRY;
        answer->frame.number = found;
        return TAU_OK;
    }
    const unsigned frame = code_cache_victim_of(cache);
    TAU_ASSERT(frame < cache->frames_count);
    code_cache_note_recent(cache, frame);
    answer->action = TAU_CODE_CACHE_LOAD;
    if (TAU_ON_LONGEST_PATH(code_cache_has(&cache->occupied, frame))) {
        const unsigned evicted = cache->frame_pages[frame];
        TAU_ASSERT(cache->page_frames[evicted] == frame);
        cache->page_frames[evicted] = CODE_CACHE_ABSENT;
        cache->counts.evictions++;
        answer->action = TAU_CODE_CACHE_REPLACE;
        answer->evicted.number = evicted;
    }
    code_cache_set(&cache->occupied, frame);
    code_cache_set(&cache->used, frame);
    if (TAU_ON_LONGEST_PATH(cache->policy == TAU_CODE_CACHE_AGING)) {
        code_cache_forget_age(cache, frame);
    }
    cache->frame_pages[frame] = (uint16_t)page.number;
    cache->page_frames[page.number] = (uint8_t)frame;
    cache->counts.loads++;
    answer->frame.number = frame;
    TAU_INVARIANT(tau_code_cache_invariants_hold(cache));
    return TAU_OK;
}

void tau_code_cache_use(struct tau_code_cache *cache, const struct tau_code_cache_flags *flags) {
    TAU_INVARIANT(tau_code_cache_invariants_hold(cache));
#pragma GCC unroll 7
    for (unsigned word = 0; word < TAU_CODE_CACHE_WORDS; word++) {
        cache->used.words[word] |= flags->words[word];
    }
}

void tau_code_cache_age(struct tau_code_cache *cache) {
    TAU_INVARIANT(tau_code_cache_invariants_hold(cache));
    code_cache_shift_ages(cache);
    TAU_INVARIANT(tau_code_cache_invariants_hold(cache));
}

enum tau_status tau_code_cache_drop(struct tau_code_cache *cache, struct tau_frame frame) {
    TAU_INVARIANT(tau_code_cache_invariants_hold(cache));
    if (frame.number >= cache->frames_count) {
        return TAU_FRAME_OUTSIDE;
    }
    if (!code_cache_has(&cache->occupied, frame.number)) {
        return TAU_FRAME_FREE;
    }
    TAU_ASSERT(cache->page_frames[cache->frame_pages[frame.number]] == frame.number);
    cache->page_frames[cache->frame_pages[frame.number]] = CODE_CACHE_ABSENT;
    code_cache_clear(&cache->occupied, frame.number);
    cache->counts.drops++;
    TAU_INVARIANT(tau_code_cache_invariants_hold(cache));
    return TAU_OK;
}

enum tau_status tau_code_cache_pin(struct tau_code_cache *cache, struct tau_page page) {
    TAU_INVARIANT(tau_code_cache_invariants_hold(cache));
    if (page.number >= cache->pages_count) {
        return TAU_PAGE_OUTSIDE;
    }
    if (cache->page_frames[page.number] != CODE_CACHE_ABSENT) {
        return cache->page_frames[page.number] == CODE_CACHE_PINNED ? TAU_PAGE_PINNED
                                                                    : TAU_PAGE_MAPPED;
    }
    cache->page_frames[page.number] = CODE_CACHE_PINNED;
    cache->counts.pinned++;
    TAU_ASSERT(cache->counts.pinned <= cache->pages_count);
    return TAU_OK;
}

// Whether the page of FRAME, if it holds one, says that it is there.
TAU_SHARED bool code_cache_agrees(const struct tau_code_cache *cache, unsigned frame) {
    return !code_cache_has(&cache->occupied, frame) ||
           (cache->frame_pages[frame] < cache->pages_count &&
            cache->page_frames[cache->frame_pages[frame]] == frame);
}

bool tau_code_cache_invariants_hold(const struct tau_code_cache *cache) {
    const struct tau_code_cache_counts *const counts = &cache->counts;
    if (cache->page_frames == NULL || cache->frames_count > TAU_CODE_CACHE_FRAMES_MAX ||
        cache->recent_max >= cache->frames_count || cache->recent_count > cache->recent_max ||
        (cache->recent_max > 0 && cache->recent_next >= cache->recent_max) ||
        cache->next_frame >= cache->frames_count || cache->random == 0 ||
        (unsigned)cache->policy > TAU_CODE_CACHE_AGING) {
        return false;
    }
#pragma GCC unroll 7
    for (unsigned word = 0; word < TAU_CODE_CACHE_WORDS; word++) {
        const uint32_t flags = cache->occupied.words[word] | cache->candidates.words[word];
        if ((flags & ~code_cache_frames_in(cache->frames_count, word)) != 0) {
            return false;
        }
    }
    return code_cache_count(&cache->occupied) ==
               counts->loads - counts->evictions - counts->drops &&
           code_cache_count(&cache->candidates) == cache->frames_count - cache->recent_count &&
           code_cache_agrees(cache, cache->next_frame);
}
