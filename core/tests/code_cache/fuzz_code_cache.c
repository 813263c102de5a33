// Goal: no program of calls makes the code cache unsound, or evicts what was loaded last.
// Method: random caches and calls, right ones and wrong ones; a full walk after each, and an
// account of the loads in order. A log, if TAU_FUZZ_LOG names a file, is repeated by the model,
// which says which frame each policy takes.
#include "core/code_cache.h"
#include "core/tests/checks/check_code_cache.h"
#include "core/tests/kit/fuzz_pages.h"

enum { PAGES_MAX = 3 * TAU_CODE_CACHE_FRAMES_MAX, CALLS_MAX = 600, LOADS_MAX = CALLS_MAX + 1 };

static uint8_t page_frames[PAGES_MAX];
static struct tau_code_cache cache;
static struct tau_code_cache_settings settings;
static uint32_t loads[LOADS_MAX];  // the frame of each
static uint32_t loads_count;

static void remember(bool compare) {
    image.used_bytes = 0;
    image_part(&cache, sizeof cache, compare);
    image_part(page_frames, settings.pages_count, compare);
}

static bool is_recent(uint32_t frame) {
    for (uint32_t ago = 1; ago < settings.frames_least && ago <= loads_count; ago++) {
        if (loads[loads_count - ago] == frame) {
            return true;
        }
    }
    return false;
}

static void expect_decided(uint32_t page, struct tau_code_cache_answer answer,
                           const struct tau_code_cache *before) {
    const uint32_t frame = answer.frame.number;
    REQUIRE(frame < settings.frames_count);
    EXPECT_EQUAL(page_frames[page], frame);
    EXPECT_EQUAL(cache.counts.faults, before->counts.faults + 1);
    EXPECT_EQUAL(cache.counts.loads, before->counts.loads + (answer.action != 0));
    EXPECT_EQUAL(cache.counts.evictions,
                 before->counts.evictions + (answer.action == TAU_CODE_CACHE_REPLACE));
    if (answer.action == TAU_CODE_CACHE_RETRY) {
        return;
    }
    EXPECT(!is_recent(frame));
    loads[loads_count++] = frame;
    if (answer.action == TAU_CODE_CACHE_REPLACE) {
        EXPECT_EQUAL(answer.evicted.number, before->frame_pages[frame]);
        EXPECT_EQUAL(page_frames[answer.evicted.number], 0xff);
    }
}

static void fault_random(uint32_t near) {
    const uint32_t page = choose(24) == 0 ? settings.pages_count + choose(3)
                          : choose(3) == 0
                              ? choose(settings.pages_count)
                              : (near + choose(settings.frames_count + 2)) % settings.pages_count;
    const struct tau_code_cache before = cache;
    struct tau_code_cache_answer answer = {TAU_CODE_CACHE_RETRY, {UINT32_MAX}, {UINT32_MAX}};
    const enum tau_status expected = page >= settings.pages_count ? TAU_PAGE_OUTSIDE
                                     : page_frames[page] == 0xfe  ? TAU_PAGE_PINNED
                                                                  : TAU_OK;
    remember(false);
    const enum tau_status status = tau_code_cache_fault(&cache, (struct tau_page){page}, &answer);
    EXPECT_EQUAL(status, expected);
    LOG("F %u %d %d %u %u\n", page, status, answer.action, answer.frame.number,
        answer.evicted.number);
    if (status != TAU_OK) {
        remember(true);
    } else {
        expect_decided(page, answer, &before);
    }
}

static void use_random(void) {
    struct tau_code_cache_flags flags;
    LOG("U");
    for (unsigned word = 0; word < TAU_CODE_CACHE_WORDS; word++) {
        flags.words[word] =
            choose(2) == 0 ? choose(UINT32_MAX) : choose(UINT32_MAX) & choose(UINT32_MAX);
        LOG(" %u", flags.words[word]);
    }
    LOG("\n");
    tau_code_cache_use(&cache, &flags);
}

static void drop_random(void) {
    const uint32_t frame = choose(settings.frames_count + 2);
    const bool holds =
        frame < settings.frames_count && (cache.occupied.words[frame / 32] >> frame % 32 & 1u) != 0;
    remember(false);
    const enum tau_status status = tau_code_cache_drop(&cache, (struct tau_frame){frame});
    EXPECT_EQUAL(status, frame >= settings.frames_count ? TAU_FRAME_OUTSIDE
                         : holds                        ? TAU_OK
                                                        : TAU_FRAME_FREE);
    LOG("D %u %d\n", frame, status);
    if (status != TAU_OK) {
        remember(true);
    }
}

static void pin_random(void) {
    const uint32_t page = choose(settings.pages_count + 2);
    const unsigned state = page < settings.pages_count ? page_frames[page] : 0;
    remember(false);
    const enum tau_status status = tau_code_cache_pin(&cache, (struct tau_page){page});
    EXPECT_EQUAL(status, page >= settings.pages_count ? TAU_PAGE_OUTSIDE
                         : state == 0xfe              ? TAU_PAGE_PINNED
                         : state == 0xff              ? TAU_OK
                                                      : TAU_PAGE_MAPPED);
    LOG("P %u %d\n", page, status);
    if (status != TAU_OK) {
        remember(true);
    }
}

static void open_random(void) {
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
    loads_count = 0;
    REQUIRE(tau_code_cache_init(&cache, &settings, page_frames) == TAU_OK);
    LOG("I %u %u %u %d %u\n", settings.pages_count, settings.frames_count, settings.frames_least,
        settings.policy, settings.seed);
}

static size_t run_program(void) {
    size_t calls = 0;
    uint32_t near = 0;
    log_open();
    open_random();
    for (; calls < CALLS_MAX && !fuzz_is_over() && test_failures_count == 0; calls++) {
        const uint32_t kind = choose(64);
        if (kind == 0) {
            pin_random();
        } else if (kind < 3) {
            drop_random();
        } else if (kind < 8) {
            LOG("A\n");
            tau_code_cache_age(&cache);
        } else if (kind < 16) {
            use_random();
        } else {
            near += choose(16) == 0 ? choose(settings.pages_count) : 0;
            fault_random(near);
        }
        EXPECT_EQUAL(check_code_cache(&cache), 0);
    }
    return calls;
}

FUZZ_MAIN(run_program)
