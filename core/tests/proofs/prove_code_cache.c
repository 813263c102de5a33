// Proofs of the code cache, for CBMC: the shipped functions, on a cache of any content.
//
// Pages, frames, flags, ages, recent loads, counts and policy are arbitrary, within the sizes
// below; only the invariants of docs/spec/code_cache.md are assumed. Each proof runs one call with
// any arguments and shows that they hold again. A fault is also shown to do what the port relies
// on: the page is in the answered frame, the reported page is absent, no other page moved, and no
// recent frame was taken [COLD-1]. The proof prove_init shows that the invariants hold at the
// start. So they hold after any history.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAU_ASSERT_LEVEL 1
#define TAU_ASSERT_FAILED(text) __CPROVER_assert(0, "assert of the core: " text)
#include "core/code_cache.c"
#include "core/tests/proofs/any.h"

enum { PAGES = PROOF_PAGES, FRAMES = PROOF_FRAMES };

static struct tau_code_cache cache;
static uint8_t page_frames[PAGES];

static bool has(const struct tau_code_cache_flags *flags, uint32_t frame) {
    return (flags->words[0] >> frame & 1u) != 0;
}

static bool is_recent(uint32_t frame) {
    bool found = false;
    for (uint32_t place = 0; place < FRAMES; place++) {
        found = found || (place < cache.recent_count && cache.recent[place] == frame);
    }
    return found;
}

// [COLD-11] ... [COLD-13] of one frame.
static bool holds_at_frame(uint32_t frame) {
    if (frame >= cache.frames_count) {
        return !has(&cache.occupied, frame) && !has(&cache.candidates, frame);
    }
    if (has(&cache.candidates, frame) == is_recent(frame)) {
        return false;
    }
    return !has(&cache.occupied, frame) || (cache.frame_pages[frame] < cache.pages_count &&
                                            page_frames[cache.frame_pages[frame]] == frame);
}

// [COLD-11] of one page.
static bool holds_at_page(uint32_t page) {
    const unsigned frame = page_frames[page];
    return frame == CODE_CACHE_ABSENT || frame == CODE_CACHE_PINNED ||
           (frame < cache.frames_count && has(&cache.occupied, frame) &&
            cache.frame_pages[frame] == page);
}

// The list of recent frames has no frame twice, and ends where it should [COLD-12].
static bool holds_at_place(uint32_t place) {
    bool result = place >= cache.recent_count || cache.recent[place] < cache.frames_count;
    for (uint32_t other = 0; other < place; other++) {
        result =
            result && (place >= cache.recent_count || cache.recent[place] != cache.recent[other]);
    }
    return result;
}

// Round robin: the next frames that are not recent come first [COLD-15]. The recent frames are
// those just before the next one.
static bool holds_in_turn(void) {
    bool result = true;
    for (uint32_t ago = 1; ago < FRAMES; ago++) {
        const uint32_t frame = cache.next_frame >= ago
                                   ? cache.next_frame - ago
                                   : cache.next_frame + cache.frames_count - ago;
        const uint32_t place = cache.recent_next >= ago
                                   ? cache.recent_next - ago
                                   : cache.recent_next + cache.recent_max - ago;
        result = result && (ago > cache.recent_count || cache.recent[place] == frame);
    }
    return result;
}

static bool holds(void) {
    bool result =
        tau_code_cache_invariants_hold(&cache) && cache.page_frames == page_frames &&
        cache.frames_count <= FRAMES &&
        (cache.recent_count == cache.recent_max || cache.recent_next == cache.recent_count) &&
        (cache.policy != TAU_CODE_CACHE_ROUND_ROBIN || holds_in_turn());
    for (uint32_t i = 0; i < FRAMES; i++) {
        result = result && holds_at_frame(i) && holds_at_place(i);
    }
    uint32_t pinned = 0;
    for (uint32_t page = 0; page < PAGES; page++) {
        result = result && holds_at_page(page);
        pinned += page_frames[page] == CODE_CACHE_PINNED;
    }
    return result && pinned == cache.counts.pinned;
}

static void any_state(void) {
    __CPROVER_havoc_object(&cache);
    __CPROVER_havoc_object(page_frames);
    cache.page_frames = page_frames;
    cache.pages_count = PAGES;
    __CPROVER_assume(cache.frames_count <= FRAMES && cache.recent_max < cache.frames_count &&
                     cache.recent_count <= cache.recent_max &&
                     cache.next_frame < cache.frames_count && cache.recent_next < FRAMES);
    __CPROVER_assume(holds());
}

void prove_init(void) {
    const struct tau_code_cache_settings settings = {PAGES, nondet_number(), nondet_number(),
                                                     (enum tau_code_cache_policy)nondet_number(),
                                                     nondet_number()};
    __CPROVER_havoc_object(&cache);
    __CPROVER_assume(settings.frames_count <= FRAMES);
    const enum tau_status status = tau_code_cache_init(&cache, &settings, page_frames);
    __CPROVER_assert(status != TAU_OK || holds(), "the invariants hold at the start");
    __CPROVER_assert((status == TAU_FRAMES_TOO_FEW) ==
                         (settings.frames_count < settings.frames_least &&
                          settings.frames_count > 0 &&
                          (unsigned)settings.policy <= TAU_CODE_CACHE_AGING),
                     "too few frames are refused");
    reached();
}

void prove_fault(void) {
    const uint32_t page = nondet_number();
    const uint32_t other = nondet_number();
    struct tau_code_cache_answer answer;
    any_state();
    __CPROVER_assume(other < PAGES && other != page);
    const unsigned before = page < PAGES ? page_frames[page] : CODE_CACHE_PINNED;
    const unsigned others = page_frames[other];
    const struct tau_code_cache old = cache;
    const enum tau_status status = tau_code_cache_fault(&cache, (struct tau_page){page}, &answer);
    __CPROVER_assert(holds(), "the invariants are kept");
    __CPROVER_assert((status == TAU_OK) == (before != CODE_CACHE_PINNED), "what is refused");
    if (status == TAU_OK) {
        const uint32_t frame = answer.frame.number;
        __CPROVER_assert(page_frames[page] == frame, "the page is in the frame");
        if (before != CODE_CACHE_ABSENT) {
            __CPROVER_assert(answer.action == TAU_CODE_CACHE_RETRY, "a loaded page is retried");
        } else {
            __CPROVER_assert(has(&old.candidates, frame), "no recent frame is taken");
            __CPROVER_assert((answer.action == TAU_CODE_CACHE_REPLACE) == has(&old.occupied, frame),
                             "a page leaves if there is one");
        }
        const bool leaves =
            answer.action == TAU_CODE_CACHE_REPLACE && answer.evicted.number == other;
        __CPROVER_assert(page_frames[other] == (leaves ? CODE_CACHE_ABSENT : others),
                         "no other page moves");
    }
    reached();
}

void prove_others(void) {
    const struct tau_code_cache_flags flags = {{nondet_number()}};
    const uint32_t number = nondet_number();
    any_state();
    switch (nondet_number() % 4) {
    case 0:
        tau_code_cache_use(&cache, &flags);
        break;
    case 1:
        tau_code_cache_age(&cache);
        break;
    case 2:
        (void)tau_code_cache_drop(&cache, (struct tau_frame){number});
        break;
    default:
        (void)tau_code_cache_pin(&cache, (struct tau_page){number});
    }
    __CPROVER_assert(holds(), "the invariants are kept");
    reached();
}
