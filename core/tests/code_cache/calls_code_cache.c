// Goal: no calls make the code cache unsound, or evict the page loaded last.
// Method: random caches and calls, right ones and wrong ones; a full walk after each, and an
// account of the last loads. Which frame each policy takes is compared with model/code_cache.py.
// Every state of a small cache, with each random number that makes a difference: the arguments are
// policy, pages, frames and frames_least.
#include "core/code_cache.h"
#include "core/tests/checks/check_code_cache.h"
#include "core/tests/kit/mechanism.h"

enum {
    PAGES_MAX = 3 * TAU_CODE_CACHE_FRAMES_MAX,
    PINNED = 0xfe,
    ABSENT = 0xff,
    BINS = 12,  // of random numbers: tells the victims among 1, 2, 3 and 4 frames apart
};

static uint8_t page_frames[PAGES_MAX];
static struct tau_code_cache cache;
static struct tau_code_cache_settings settings;
static uint32_t loads[TAU_CODE_CACHE_FRAMES_MAX];  // the frames loaded last, the newest first
static uint32_t near;                              // the page around which most faults are
static uint32_t seeds[BINS];                       // each leads to a random number of another bin

static bool has(const struct tau_code_cache_flags *flags, uint32_t frame) {
    return (flags->words[frame / 32] >> frame % 32 & 1u) != 0;
}

// The loads of an exploration are in the state, so that others are not needed.
static bool is_recent(uint32_t frame) {
    for (uint32_t ago = 0; ago + 1 < settings.frames_least; ago++) {
        if (loads[ago] == frame) {
            return true;
        }
    }
    return false;
}

static void expect_decided(uint32_t page, struct tau_code_cache_answer answer,
                           const struct tau_code_cache *before, unsigned page_before) {
    const uint32_t frame = answer.frame.number;
    REQUIRE(frame < settings.frames_count);
    const bool was_empty = !has(&before->occupied, frame);
    EXPECT_EQUAL(answer.action, page_before != ABSENT ? TAU_CODE_CACHE_RETRY
                                : was_empty           ? TAU_CODE_CACHE_LOAD
                                                      : TAU_CODE_CACHE_REPLACE);
    EXPECT_EQUAL(page_frames[page], frame);
    EXPECT_EQUAL(cache.counts.faults, before->counts.faults + 1);
    EXPECT_EQUAL(cache.counts.loads, before->counts.loads + (answer.action != 0));
    EXPECT_EQUAL(cache.counts.evictions,
                 before->counts.evictions + (answer.action == TAU_CODE_CACHE_REPLACE));
    if (answer.action == TAU_CODE_CACHE_RETRY) {
        EXPECT_EQUAL(frame, page_before);
        return;
    }
    EXPECT(!is_recent(frame));
    memmove(loads + 1, loads, sizeof loads - sizeof loads[0]);
    loads[0] = frame;
    if (answer.action == TAU_CODE_CACHE_REPLACE) {
        EXPECT_EQUAL(answer.evicted.number, before->frame_pages[frame]);
        EXPECT_EQUAL(page_frames[answer.evicted.number], ABSENT);
    }
}

static uint32_t some_page(void) {
    if (explores()) {
        return choose(settings.pages_count + 1);
    }
    if (choose(24) == 0) {
        return settings.pages_count + choose(3);
    }
    near += choose(16) == 0 ? choose(settings.pages_count) : 0;
    return choose(3) == 0 ? choose(settings.pages_count)
                          : (near + choose(settings.frames_count + 2)) % settings.pages_count;
}

static enum tau_status fault(void) {
    const uint32_t page = some_page();
    const unsigned page_before = page < settings.pages_count ? page_frames[page] : 0;
    struct tau_code_cache_answer answer = {TAU_CODE_CACHE_REPLACE, {UINT32_MAX}, {UINT32_MAX}};
    const enum tau_status expected = page >= settings.pages_count ? TAU_PAGE_OUTSIDE
                                     : page_before == PINNED      ? TAU_PAGE_PINNED
                                                                  : TAU_OK;
    if (explores() && expected == TAU_OK) {
        cache.random = seeds[page_before == ABSENT ? choose(BINS) : 0];
    }
    const struct tau_code_cache before = cache;
    const enum tau_status status = tau_code_cache_fault(&cache, (struct tau_page){page}, &answer);
    EXPECT_EQUAL(status, expected);
    LOG("F %u %d %d %u %u\n", page, status, answer.action, answer.frame.number,
        answer.evicted.number);
    if (status == TAU_OK) {
        expect_decided(page, answer, &before, page_before);
    }
    return status;
}

static enum tau_status use(void) {
    struct tau_code_cache_flags flags = {{0}};
    if (explores()) {
        flags.words[0] = UINT32_C(1) << choose(settings.frames_count);
    }
    LOG("U");
    for (unsigned word = 0; word < TAU_CODE_CACHE_WORDS && !explores(); word++) {
        flags.words[word] =
            choose(2) == 0 ? choose(UINT32_MAX) : choose(UINT32_MAX) & choose(UINT32_MAX);
        LOG(" %u", flags.words[word]);
    }
    LOG("\n");
    tau_code_cache_use(&cache, &flags);
    return TAU_OK;
}

static enum tau_status age(void) {
    LOG("A\n");
    tau_code_cache_age(&cache);
    return TAU_OK;
}

static enum tau_status drop(void) {
    const uint32_t frame = choose(settings.frames_count + (explores() ? 1 : 2));
    const bool is_inside = frame < settings.frames_count;
    const enum tau_status expected = !is_inside                    ? TAU_FRAME_OUTSIDE
                                     : has(&cache.occupied, frame) ? TAU_OK
                                                                   : TAU_FRAME_FREE;
    const enum tau_status status = tau_code_cache_drop(&cache, (struct tau_frame){frame});
    EXPECT_EQUAL(status, expected);
    LOG("D %u %d\n", frame, status);
    return status;
}

static enum tau_status pin(void) {
    const uint32_t page = choose(settings.pages_count + (explores() ? 1 : 2));
    const unsigned state = page < settings.pages_count ? page_frames[page] : 0;
    const enum tau_status status = tau_code_cache_pin(&cache, (struct tau_page){page});
    EXPECT_EQUAL(status, page >= settings.pages_count ? TAU_PAGE_OUTSIDE
                         : state == PINNED            ? TAU_PAGE_PINNED
                         : state == ABSENT            ? TAU_OK
                                                      : TAU_PAGE_MAPPED);
    LOG("P %u %d\n", page, status);
    return status;
}

// ---- Caches ------------------------------------------------------------------------------------

static uint32_t next_random(uint32_t x) {
    x ^= x << 13;
    x ^= x >> 17;
    return x ^ x << 5;
}

static void find_seeds(void) {
    unsigned found = 0;
    for (uint32_t seed = 1; found < BINS; seed++) {
        uint32_t *const place = &seeds[(uint64_t)next_random(seed) * BINS >> 32];
        found += *place == 0;
        *place = seed;
    }
}

static void choose_settings(void) {
    const uint32_t frames_max = choose(2) == 0 ? 8 : TAU_CODE_CACHE_FRAMES_MAX;
    memset(&cache, (int)choose(256), sizeof cache);
    memset(page_frames, (int)choose(256), sizeof page_frames);
    settings.frames_count = 1 + choose(frames_max);
    settings.frames_least = 1 + choose(settings.frames_count < 8 ? settings.frames_count
                                       : choose(4) == 0          ? settings.frames_count
                                                                 : 8);
    settings.pages_count = 1 + choose(settings.frames_count * 3);
    settings.policy = (enum tau_code_cache_policy)choose(TAU_CODE_CACHE_AGING + 1);
    settings.seed = choose(4) == 0 ? 0 : choose(UINT32_MAX);
}

static void open_cache(void) {
    if (explores()) {
        settings = (struct tau_code_cache_settings){
            mechanism_argument(1), mechanism_argument(2), mechanism_argument(3),
            (enum tau_code_cache_policy)mechanism_argument(0), 1};
        find_seeds();
    } else {
        choose_settings();
    }
    near = 0;
    memset(loads, 0xff, sizeof loads);
    REQUIRE(tau_code_cache_init(&cache, &settings, page_frames) == TAU_OK);
    LOG("I %u %u %u %d %u\n", settings.pages_count, settings.frames_count, settings.frames_least,
        settings.policy, settings.seed);
}

static void check(void) {
    EXPECT_EQUAL(check_code_cache(&cache), 0);
}

static void parts(void) {
    mechanism_part(&cache, sizeof cache);
    mechanism_part(page_frames, settings.pages_count);
    mechanism_part(loads, (settings.frames_least - 1) * sizeof loads[0]);
}

// Not told apart are counts beyond the number of loaded pages, the random state, and ages below
// their two highest bits.
static void normalize(void) {
    uint32_t loaded = 0;
    for (uint32_t frame = 0; frame < TAU_CODE_CACHE_FRAMES_MAX; frame++) {
        if (frame < settings.frames_count && has(&cache.occupied, frame)) {
            loaded++;
        } else {
            cache.frame_pages[frame] = 0;
        }
    }
    memset(cache.recent + cache.recent_count, 0, sizeof cache.recent - cache.recent_count);
    cache.random = 1;
    cache.counts = (struct tau_code_cache_counts){0, loaded, 0, 0, cache.counts.pinned};
    const unsigned known = settings.policy == TAU_CODE_CACHE_AGING ? 2 : 0;
    for (unsigned bit = 0; bit < TAU_CODE_CACHE_AGE_BITS - known; bit++) {
        cache.ages[bit].words[0] = 0;
    }
    if (settings.policy < TAU_CODE_CACHE_NRU) {
        cache.used.words[0] = 0;
    }
}

static const struct operation operations[] = {
    {48, fault}, {8, use}, {5, age}, {2, drop}, {1, pin}, {0, NULL},
};

static struct mechanism calls_of_code_cache = {
    .name = "code_cache",
    .operations = operations,
    .calls_max = 600,
    .check_every = 1,
    .open = open_cache,
    .check = check,
    .parts = parts,
    .normalize = normalize,
};

MECHANISM(calls_of_code_cache)
