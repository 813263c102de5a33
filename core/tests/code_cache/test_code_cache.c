// Goal: each sentence of core/code_cache.h, by example; the full walk sees each broken invariant.
// Method: small caches whose frames can be told by hand.
#include "core/code_cache.h"
#include "core/tests/checks/check_code_cache.h"
#include "core/tests/kit/test.h"

enum { PAGES = 40 };

static uint8_t page_frames[PAGES + 1];
static struct tau_code_cache cache;

static void open_cache(uint32_t frames_count, uint32_t frames_least,
                       enum tau_code_cache_policy policy) {
    const struct tau_code_cache_settings settings = {PAGES, frames_count, frames_least, policy, 1};
    REQUIRE(tau_code_cache_init(&cache, &settings, page_frames) == TAU_OK);
}

// Faults at PAGE; expects the action, and the page that leaves if there is one.
static uint32_t fault(uint32_t page, enum tau_code_cache_action action, uint32_t evicted) {
    struct tau_code_cache_answer answer = {TAU_CODE_CACHE_RETRY, {UINT32_MAX}, {UINT32_MAX}};
    EXPECT_EQUAL(tau_code_cache_fault(&cache, (struct tau_page){page}, &answer), TAU_OK);
    EXPECT_EQUAL(answer.action, action);
    EXPECT_EQUAL(answer.evicted.number, evicted);
    EXPECT_EQUAL(check_code_cache(&cache), 0);
    return answer.frame.number;
}

static uint32_t load(uint32_t page) {
    return fault(page, TAU_CODE_CACHE_LOAD, UINT32_MAX);
}

static uint32_t replace(uint32_t page, uint32_t evicted) {
    return fault(page, TAU_CODE_CACHE_REPLACE, evicted);
}

static uint32_t retry(uint32_t page) {
    return fault(page, TAU_CODE_CACHE_RETRY, UINT32_MAX);
}

static void use(uint32_t frames) {
    const struct tau_code_cache_flags flags = {{frames}};
    tau_code_cache_use(&cache, &flags);
}

static enum tau_status drop(uint32_t frame) {
    return tau_code_cache_drop(&cache, (struct tau_frame){frame});
}

static enum tau_status pin(uint32_t page) {
    return tau_code_cache_pin(&cache, (struct tau_page){page});
}

// [P3-4] Thread 1 executes V1, thread 2 needs V2, which takes V1's frame; both go on.
TEST_CASE(figure_1) {
    open_cache(2, 2, TAU_CODE_CACHE_ROUND_ROBIN);
    EXPECT_EQUAL(load(1), 0);
    EXPECT_EQUAL(load(9), 1);
    EXPECT_EQUAL(replace(2, 1), 0);
    EXPECT_EQUAL(replace(1, 9), 1);
    EXPECT_EQUAL(retry(2), 0);
    EXPECT_EQUAL(retry(1), 1);
    EXPECT_EQUAL(cache.counts.faults, 6);
    EXPECT_EQUAL(cache.counts.loads, 4);
    EXPECT_EQUAL(cache.counts.evictions, 2);
}

TEST_CASE(init_refuses_what_cannot_be) {
    const struct tau_code_cache_settings right = {PAGES, 4, 4, TAU_CODE_CACHE_NRU, 1};
    struct tau_code_cache untouched;
    memset(&cache, 0xa5, sizeof cache);
    memset(page_frames, 0xa5, sizeof page_frames);
    untouched = cache;
    struct tau_code_cache_settings wrong[] = {right, right, right, right, right, right};
    wrong[0].pages_count = 0;
    wrong[1].pages_count = TAU_CODE_CACHE_PAGES_MAX + 1;
    wrong[2].frames_count = 0;
    wrong[3].frames_count = TAU_CODE_CACHE_FRAMES_MAX + 1;
    wrong[4].frames_least = 0;
    wrong[5].policy = (enum tau_code_cache_policy)(TAU_CODE_CACHE_AGING + 1);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        EXPECT_EQUAL(tau_code_cache_init(&cache, &wrong[i], page_frames), TAU_BAD_ARGUMENT);
    }
    EXPECT_EQUAL(tau_code_cache_init(&cache, &right, NULL), TAU_BAD_ARGUMENT);
    struct tau_code_cache_settings few = right;
    few.frames_least = 5;
    EXPECT_EQUAL(tau_code_cache_init(&cache, &few, page_frames), TAU_FRAMES_TOO_FEW);
    EXPECT(memcmp(&untouched, &cache, sizeof cache) == 0);
    EXPECT_EQUAL(page_frames[0], 0xa5);
    EXPECT_EQUAL(tau_code_cache_init(&cache, &right, page_frames), TAU_OK);
    for (unsigned word = 0; word < TAU_CODE_CACHE_WORDS; word++) {
        EXPECT_EQUAL(cache.used.words[word], 0);
        for (unsigned bit = 0; bit < TAU_CODE_CACHE_AGE_BITS; bit++) {
            EXPECT_EQUAL(cache.ages[bit].words[word], 0);
        }
    }
    EXPECT_EQUAL(page_frames[PAGES - 1], 0xff);
    EXPECT_EQUAL(page_frames[PAGES], 0xa5);
    EXPECT_EQUAL(check_code_cache(&cache), 0);
    const struct tau_code_cache_settings limits = {
        PAGES, TAU_CODE_CACHE_FRAMES_MAX, TAU_CODE_CACHE_FRAMES_MAX, TAU_CODE_CACHE_AGING, 0};
    EXPECT_EQUAL(tau_code_cache_init(&cache, &limits, page_frames), TAU_OK);
    EXPECT_EQUAL(check_code_cache(&cache), 0);
}

TEST_CASE(the_least_frames_are_counted) {
    EXPECT_EQUAL(TAU_CODE_CACHE_FRAMES_LEAST(1, 0), 4);
    EXPECT_EQUAL(TAU_CODE_CACHE_FRAMES_LEAST(3, 5), 17);
}

TEST_CASE(round_robin_takes_frames_in_turn) {
    open_cache(5, 4, TAU_CODE_CACHE_ROUND_ROBIN);
    for (uint32_t page = 0; page < PAGES; page++) {
        EXPECT_EQUAL(page < 5 ? load(page) : replace(page, page - 5), page % 5);
    }
}

// Whatever is used, an instruction's four pages stay once they are loaded [COLD-9].
TEST_CASE(recent_loads_stay) {
    for (unsigned policy = 0; policy <= TAU_CODE_CACHE_AGING; policy++) {
        open_cache(4, 4, (enum tau_code_cache_policy)policy);
        struct tau_code_cache_answer answer;
        for (uint32_t page = 0; page < PAGES; page++) {
            REQUIRE(tau_code_cache_fault(&cache, (struct tau_page){page}, &answer) == TAU_OK);
            for (uint32_t other = page < 3 ? 0 : page - 3; other <= page; other++) {
                EXPECT(page_frames[other] < 4);
            }
            use(1u << page % 4);
        }
    }
}

TEST_CASE(empty_frames_come_first) {
    open_cache(6, 3, TAU_CODE_CACHE_NRU);
    for (uint32_t page = 0; page < 6; page++) {
        (void)load(page);
    }
    const uint32_t frame = page_frames[1];
    tau_code_cache_age(&cache);
    use(1u << frame);
    EXPECT_EQUAL(drop(frame), TAU_OK);
    EXPECT_EQUAL(page_frames[1], 0xff);
    EXPECT_EQUAL(drop(frame), TAU_FRAME_FREE);
    EXPECT_EQUAL(load(10), frame);
    EXPECT_EQUAL(drop(frame), TAU_OK);  // recent: not a candidate for two loads
    struct tau_code_cache_answer answer;
    for (uint32_t page = 11; page < 13; page++) {
        REQUIRE(tau_code_cache_fault(&cache, (struct tau_page){page}, &answer) == TAU_OK);
        EXPECT_EQUAL(answer.action, TAU_CODE_CACHE_REPLACE);
    }
    EXPECT_EQUAL(load(13), frame);
    EXPECT_EQUAL(cache.counts.drops, 2);
}

TEST_CASE(nru_takes_the_unused) {
    open_cache(8, 1, TAU_CODE_CACHE_NRU);
    for (uint32_t page = 0; page < 8; page++) {
        (void)load(page);
    }
    const uint32_t unused = page_frames[3];
    tau_code_cache_age(&cache);
    use(0xffu & ~(1u << unused));
    EXPECT_EQUAL(replace(8, 3), unused);
    uint32_t seen = 0;  // all are used now: any can go
    for (uint32_t i = 0; i < 10 * PAGES; i++) {
        struct tau_code_cache_answer answer;
        REQUIRE(tau_code_cache_fault(&cache, (struct tau_page){i % PAGES}, &answer) == TAU_OK);
        seen |= answer.action == TAU_CODE_CACHE_REPLACE ? 1u << answer.frame.number : 0;
    }
    EXPECT_EQUAL(seen, 0xff);
}

// A use before the last period counts less than one in it, and less than one now.
TEST_CASE(aging_takes_the_longest_unused) {
    open_cache(4, 1, TAU_CODE_CACHE_AGING);
    for (uint32_t page = 0; page < 4; page++) {
        (void)load(page);
    }
    const uint32_t old = page_frames[2];
    const uint32_t older = page_frames[0];
    tau_code_cache_age(&cache);
    use(0xfu & ~(1u << older));
    tau_code_cache_age(&cache);
    use(0xfu & ~(1u << older) & ~(1u << old));
    tau_code_cache_age(&cache);
    EXPECT_EQUAL(replace(20, 0), older);
    EXPECT_EQUAL(replace(21, 2), old);
    for (unsigned period = 0; period < TAU_CODE_CACHE_AGE_BITS; period++) {
        tau_code_cache_age(&cache);
    }
    use(0xfu & ~(1u << older));
    EXPECT_EQUAL(replace(22, 20), older);  // uses older than an age are forgotten
}

TEST_CASE(pinned_pages_are_never_loaded) {
    struct tau_code_cache_answer answer = {TAU_CODE_CACHE_LOAD, {77}, {78}};
    open_cache(4, 4, TAU_CODE_CACHE_RANDOM);
    (void)load(5);
    EXPECT_EQUAL(pin(PAGES), TAU_PAGE_OUTSIDE);
    EXPECT_EQUAL(pin(5), TAU_PAGE_MAPPED);
    EXPECT_EQUAL(pin(6), TAU_OK);
    EXPECT_EQUAL(pin(6), TAU_PAGE_PINNED);
    const struct tau_code_cache before = cache;
    EXPECT_EQUAL(tau_code_cache_fault(&cache, (struct tau_page){6}, &answer), TAU_PAGE_PINNED);
    EXPECT_EQUAL(tau_code_cache_fault(&cache, (struct tau_page){PAGES}, &answer), TAU_PAGE_OUTSIDE);
    EXPECT_EQUAL(tau_code_cache_fault(&cache, (struct tau_page){UINT32_MAX}, &answer),
                 TAU_PAGE_OUTSIDE);
    EXPECT_EQUAL(drop(4), TAU_FRAME_OUTSIDE);
    EXPECT_EQUAL(drop(UINT32_MAX), TAU_FRAME_OUTSIDE);
    EXPECT(memcmp(&before, &cache, sizeof cache) == 0);
    EXPECT_EQUAL(answer.frame.number, 77);
    EXPECT_EQUAL(cache.counts.pinned, 1);
    EXPECT_EQUAL(check_code_cache(&cache), 0);
}

TEST_CASE(flags_beyond_the_frames_are_ignored) {
    const struct tau_code_cache_flags all = {{UINT32_MAX, UINT32_MAX}};
    open_cache(33, 4, TAU_CODE_CACHE_AGING);
    tau_code_cache_use(&cache, &all);
    tau_code_cache_age(&cache);
    for (uint32_t page = 0; page < PAGES; page++) {
        struct tau_code_cache_answer answer;
        EXPECT_EQUAL(tau_code_cache_fault(&cache, (struct tau_page){page}, &answer), TAU_OK);
        EXPECT(answer.frame.number < 33);
        EXPECT_EQUAL(check_code_cache(&cache), 0);
    }
}

#define BREAKS(statement, number)                                                                  \
    do {                                                                                           \
        const struct tau_code_cache sound = cache;                                                 \
        uint8_t sound_pages[PAGES + 1];                                                            \
        memcpy(sound_pages, page_frames, sizeof page_frames);                                      \
        statement;                                                                                 \
        EXPECT_EQUAL(check_code_cache(&cache), number);                                            \
        cache = sound;                                                                             \
        memcpy(page_frames, sound_pages, sizeof page_frames);                                      \
        EXPECT_EQUAL(check_code_cache(&cache), 0);                                                 \
    } while (0)

TEST_CASE(the_walk_sees_each_broken_invariant) {
    open_cache(6, 3, TAU_CODE_CACHE_ROUND_ROBIN);
    for (uint32_t page = 0; page < 5; page++) {
        (void)load(page);
    }
    EXPECT_EQUAL(pin(30), TAU_OK);
    BREAKS(page_frames[2] = 0xff, 11);
    BREAKS(page_frames[7] = 1, 11);
    BREAKS(cache.frame_pages[1] = 7, 11);
    BREAKS(cache.frame_pages[1] = PAGES, 11);
    BREAKS(cache.occupied.words[0] ^= 1u << 2, 11);
    BREAKS(cache.recent[0] = cache.recent[1], 12);
    BREAKS(cache.recent[0] = 6, 12);
    BREAKS(cache.candidates.words[0] ^= 1u << 1, 12);
    BREAKS(cache.candidates.words[0] ^= 1u << 6, 13);
    BREAKS(cache.candidates.words[1] ^= 1u << 31, 13);
    BREAKS(cache.occupied.words[1] ^= 1u, 13);
    BREAKS(cache.counts.loads++, 14);
    BREAKS(cache.counts.pinned = 0, 14);
    BREAKS(page_frames[31] = 0xfe, 14);
    BREAKS(cache.random = 0, 15);
    BREAKS(cache.next_frame = 6, 15);
    BREAKS(cache.next_frame = 4, 15);
    BREAKS(cache.recent_max = 6, 15);
    BREAKS(cache.policy = (enum tau_code_cache_policy)9, 16);
    BREAKS(cache.recent_next = 2, 16);
}

// Without the walk: the bounded self test alone.
TEST_CASE(the_self_test_sees_what_is_near) {
    open_cache(6, 3, TAU_CODE_CACHE_ROUND_ROBIN);
    for (uint32_t page = 0; page < 8; page++) {
        struct tau_code_cache_answer answer;
        REQUIRE(tau_code_cache_fault(&cache, (struct tau_page){page}, &answer) == TAU_OK);
    }
    const struct tau_code_cache sound = cache;
    EXPECT(tau_code_cache_invariants_hold(&cache));
    cache.counts.drops++;
    EXPECT(!tau_code_cache_invariants_hold(&cache));
    cache = sound;
    cache.candidates.words[0] ^= 1u << 3;
    EXPECT(!tau_code_cache_invariants_hold(&cache));
    cache = sound;
    cache.occupied.words[0] ^= 1u << 3;  // the counts agree
    cache.occupied.words[1] = 2u;
    EXPECT(!tau_code_cache_invariants_hold(&cache));
    cache = sound;
    cache.frame_pages[cache.next_frame] ^= 1u;
    EXPECT(!tau_code_cache_invariants_hold(&cache));
    cache = sound;
    cache.recent_count = cache.recent_max + 1;
    cache.candidates.words[0] ^= 1u << 3;
    EXPECT(!tau_code_cache_invariants_hold(&cache));
    cache = sound;
    cache.page_frames = NULL;
    EXPECT(!tau_code_cache_invariants_hold(&cache));
}
