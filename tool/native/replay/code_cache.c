#include "tool/native/replay/code_cache.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/ports/sv39_code.h"

#define WORD_BITS 32u
#define ABSENT UINT8_MAX
#define NEVER SIZE_MAX

struct replay {
    const struct tau_code_cache_calls *calls;
    struct tau_code_cache cache;
    struct tau_code_cache_flags accessed;  // the bits that the processor sets
    uint8_t *frame_of;                     // per page; ABSENT
    uint32_t next_visited;
    uint32_t visits_left;
};

static void access_frame(struct replay *replay, uint32_t frame) {
    assert(frame < TAU_CODE_CACHE_FRAMES_MAX);
    replay->accessed.words[frame / WORD_BITS] |= UINT32_C(1) << frame % WORD_BITS;
}

// As tau_sv39_code_visit.
static void visit(struct replay *replay) {
    struct tau_code_cache_flags used = {0};
    const uint32_t frames = replay->cache.frames_count;
    const uint32_t word = replay->next_visited / WORD_BITS;
    const uint32_t mask = ((UINT32_C(1) << TAU_SV39_CODE_VISITED) - 1)
                          << replay->next_visited % WORD_BITS;
    assert(replay->visits_left > 0);
    assert(replay->next_visited < frames);
    if (--replay->visits_left == 0) {
        replay->visits_left = frames;
        replay->calls->age(&replay->cache);
        return;
    }
    used.words[word] = replay->accessed.words[word] & mask;
    replay->accessed.words[word] &= ~mask;
    replay->calls->use(&replay->cache, &used);
    replay->next_visited += TAU_SV39_CODE_VISITED;
    if (replay->next_visited >= frames) {
        replay->next_visited = 0;
    }
}

static bool load(struct replay *replay, uint16_t page) {
    struct tau_code_cache_answer answer = {0};
    visit(replay);
    if (replay->calls->fault(&replay->cache, (struct tau_page){page}, &answer) != TAU_OK) {
        return false;
    }
    assert(answer.action != TAU_CODE_CACHE_RETRY);
    if (answer.action == TAU_CODE_CACHE_REPLACE) {
        assert(replay->frame_of[answer.evicted.number] == answer.frame.number);
        replay->frame_of[answer.evicted.number] = ABSENT;
    }
    replay->frame_of[page] = (uint8_t)answer.frame.number;
    access_frame(replay, (uint32_t)answer.frame.number);
    return true;
}

static bool replay_touches(struct replay *replay, const struct tau_code_touches *touches) {
    for (size_t i = 0; i < touches->count; i++) {  // bound: the touches
        const uint16_t page = touches->pages[i];
        if (replay->frame_of[page] != ABSENT) {
            access_frame(replay, replay->frame_of[page]);
        } else if (!load(replay, page)) {
            return false;
        }
    }
    return true;
}

bool tau_code_cache_replay(const struct tau_code_cache_calls *calls,
                           const struct tau_code_cache_settings *settings,
                           const struct tau_code_touches *touches,
                           struct tau_code_cache_counts *counts) {
    assert(calls != NULL && settings != NULL);
    assert(touches != NULL && counts != NULL);
    uint8_t *const page_frames = malloc((size_t)settings->pages_count + 1);
    struct replay *const replay = calloc(1, sizeof *replay);
    uint8_t *const frame_of = malloc(UINT16_MAX + 1u);
    bool is_done = page_frames != NULL && replay != NULL && frame_of != NULL;
    if (is_done) {
        replay->calls = calls;
        replay->frame_of = memset(frame_of, ABSENT, UINT16_MAX + 1u);
        replay->visits_left = settings->frames_count;
        is_done = calls->init(&replay->cache, settings, page_frames) == TAU_OK &&
                  replay_touches(replay, touches);
        *counts = replay->cache.counts;
    }
    free(frame_of);
    free(replay);
    free(page_frames);
    return is_done;
}

// NEXT[i] is when the page of touch i is touched again.
static void find_next(const struct tau_code_touches *touches, size_t *next, size_t *last,
                      uint32_t pages_count) {
    for (uint32_t page = 0; page < pages_count; page++) {
        last[page] = NEVER;
    }
    for (size_t i = touches->count; i-- > 0;) {  // bound: the touches
        assert(touches->pages[i] < pages_count);
        next[i] = last[touches->pages[i]];
        last[touches->pages[i]] = i;
    }
}

// The frame that is empty, or whose page is touched last again.
static uint32_t victim(const size_t *again, uint32_t held, uint32_t frames_count) {
    assert(held <= frames_count);
    uint32_t latest = 0;
    if (held < frames_count) {
        return held;
    }
    for (uint32_t frame = 1; frame < frames_count; frame++) {  // bound: the frames
        latest = again[frame] > again[latest] ? frame : latest;
    }
    return latest;
}

uint64_t tau_code_cache_fewest_loads(const struct tau_code_touches *touches, uint32_t pages_count,
                                     uint32_t frames_count) {
    assert(frames_count > 0);
    assert(pages_count <= UINT16_MAX);
    size_t *const next = malloc((touches->count + 1) * sizeof *next);
    size_t *const last = malloc((pages_count + (size_t)1) * sizeof *last);
    size_t *const again = malloc(frames_count * sizeof *again);
    uint32_t *const page_of = calloc(frames_count, sizeof *page_of);
    uint32_t *const frame_of = malloc((pages_count + (size_t)1) * sizeof *frame_of);
    uint64_t loads = UINT64_MAX;
    if (next != NULL && last != NULL && again != NULL && page_of != NULL && frame_of != NULL) {
        uint32_t held = 0;
        loads = 0;
        find_next(touches, next, last, pages_count);
        memset(frame_of, 0xFF, (pages_count + (size_t)1) * sizeof *frame_of);
        for (size_t i = 0; i < touches->count; i++) {  // bound: the touches
            uint32_t frame = frame_of[touches->pages[i]];
            if (frame == UINT32_MAX) {
                frame = victim(again, held, frames_count);
                if (frame == held) {
                    held++;
                } else {
                    frame_of[page_of[frame]] = UINT32_MAX;
                }
                page_of[frame] = touches->pages[i];
                frame_of[touches->pages[i]] = frame;
                loads++;
            }
            again[frame] = next[i];
        }
    }
    free(frame_of);
    free(page_of);
    free(again);
    free(last);
    free(next);
    return loads;
}
