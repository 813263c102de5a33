// Goal: in every state of a small code cache, every call keeps the invariants and does what
// docs/spec/code_cache.md says.
// Method: breadth-first search from the empty cache through all calls, with each random number that
// makes a difference. Arguments: policy, pages, frames, frames_least.
//
// Not told apart are counts beyond the number of loaded pages, the random state, and ages below
// their two highest bits, which are cleared.
#include "core/code_cache.h"
#include "core/tests/checks/check_code_cache.h"
#include "core/tests/kit/test.h"

enum {
    PAGES_MAX = 6,
    FRAMES = 4,
    BINS = 12,  // of random numbers: tells the victims among 1, 2, 3 and 4 frames apart
    STATES_MAX = 1 << 20,
    SLOTS = 1 << 22,
};

struct state {
    struct tau_code_cache cache;
    uint8_t page_frames[PAGES_MAX];
};

static uint8_t page_frames[PAGES_MAX];
static struct tau_code_cache cache;
static struct tau_code_cache_settings settings;
static struct state *states;
static uint32_t states_count;
static uint32_t slots[SLOTS];  // number of a state, and 1
static uint32_t seeds[BINS];   // each leads to a random number of another twelfth
static size_t calls_count;

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

static bool has(const struct tau_code_cache_flags *flags, uint32_t frame) {
    return (flags->words[0] >> frame & 1u) != 0;
}

// Clears what is not told apart.
static void normalize(void) {
    uint32_t loaded = 0;
    for (uint32_t frame = 0; frame < TAU_CODE_CACHE_FRAMES_MAX; frame++) {
        if (frame >= settings.frames_count || !has(&cache.occupied, frame)) {
            cache.frame_pages[frame] = 0;
        } else {
            loaded++;
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

static void restore(const struct state *state) {
    cache = state->cache;
    memcpy(page_frames, state->page_frames, sizeof page_frames);
}

static uint64_t hash(const struct state *state) {
    const unsigned char *const bytes = (const unsigned char *)state;
    uint64_t sum = 14695981039346656037u;
    for (size_t i = 0; i < sizeof *state; i++) {
        sum = (sum ^ bytes[i]) * 1099511628211u;
    }
    return sum;
}

static void visit(void) {
    EXPECT_EQUAL(check_code_cache(&cache), 0);
    normalize();
    REQUIRE(states_count < STATES_MAX);
    struct state *const state = &states[states_count];
    memset(state, 0, sizeof *state);
    memcpy(&state->cache, &cache, sizeof cache);
    memcpy(state->page_frames, page_frames, sizeof page_frames);
    for (uint64_t slot = hash(state);; slot++) {
        uint32_t *const place = &slots[slot % SLOTS];
        if (*place == 0) {
            *place = ++states_count;
            return;
        }
        if (memcmp(&states[*place - 1], state, sizeof *state) == 0) {
            return;
        }
    }
}

// The number that aging compares.
static unsigned age_of(uint32_t frame) {
    unsigned age = has(&cache.used, frame);
    for (unsigned bit = TAU_CODE_CACHE_AGE_BITS; bit-- > 0;) {
        age = 2 * age + has(&cache.ages[bit], frame);
    }
    return age;
}

static bool is_recent(uint32_t frame) {
    for (uint32_t place = 0; place < cache.recent_count; place++) {
        if (cache.recent[place] == frame) {
            return true;
        }
    }
    return false;
}

// Whether policies prefer FRAME to OTHER, both not recent [COLD-3].
static bool is_better(uint32_t frame, uint32_t other) {
    const bool is_empty = !has(&cache.occupied, frame);
    if (is_empty != !has(&cache.occupied, other)) {
        return is_empty;
    }
    if (is_empty || settings.policy == TAU_CODE_CACHE_RANDOM) {
        return false;
    }
    return settings.policy == TAU_CODE_CACHE_NRU ? has(&cache.used, frame) < has(&cache.used, other)
                                                 : age_of(frame) < age_of(other);
}

// Bit f: frame f may be the victim.
static uint32_t victims(void) {
    uint32_t found = 0;
    if (settings.policy == TAU_CODE_CACHE_ROUND_ROBIN) {
        return 1u << cache.next_frame;
    }
    for (uint32_t frame = 0; frame < settings.frames_count; frame++) {
        bool is_victim = !is_recent(frame);
        for (uint32_t other = 0; other < settings.frames_count; other++) {
            is_victim = is_victim && (is_recent(other) || !is_better(other, frame));
        }
        found |= is_victim ? 1u << frame : 0;
    }
    // Of several, aging takes the lowest frame.
    return settings.policy == TAU_CODE_CACHE_AGING ? found & -found : found;
}

static void try_fault(const struct state *state, uint32_t page) {
    struct tau_code_cache_answer answer;
    restore(state);
    const unsigned before = page < settings.pages_count ? page_frames[page] : 0;
    const uint32_t expected = victims();
    uint32_t seen = 0;
    for (unsigned bin = 0; bin < BINS; bin++) {
        restore(state);
        cache.random = seeds[bin];
        const uint32_t faults = cache.counts.faults;
        const enum tau_status status =
            tau_code_cache_fault(&cache, (struct tau_page){page}, &answer);
        calls_count++;
        if (page >= settings.pages_count || before == 0xfe) {
            EXPECT_EQUAL(status, before == 0xfe ? TAU_PAGE_PINNED : TAU_PAGE_OUTSIDE);
            return;
        }
        EXPECT_EQUAL(status, TAU_OK);
        EXPECT_EQUAL(cache.counts.faults, faults + 1);
        EXPECT_EQUAL(page_frames[page], answer.frame.number);
        if (before != 0xff) {
            EXPECT_EQUAL(answer.action, TAU_CODE_CACHE_RETRY);
            EXPECT_EQUAL(answer.frame.number, before);
            return;
        }
        const bool was_empty = !has(&state->cache.occupied, answer.frame.number);
        EXPECT_EQUAL(answer.action, was_empty ? TAU_CODE_CACHE_LOAD : TAU_CODE_CACHE_REPLACE);
        EXPECT(was_empty || answer.evicted.number == state->cache.frame_pages[answer.frame.number]);
        seen |= 1u << answer.frame.number;
        visit();
    }
    EXPECT_EQUAL(seen, expected);
}

static void try_calls(const struct state *state) {
    for (uint32_t page = 0; page <= settings.pages_count; page++) {
        try_fault(state, page);
        restore(state);
        (void)tau_code_cache_pin(&cache, (struct tau_page){page});
        visit();
    }
    for (uint32_t frame = 0; frame <= settings.frames_count; frame++) {
        const struct tau_code_cache_flags one = {{1u << frame % settings.frames_count}};
        restore(state);
        (void)tau_code_cache_drop(&cache, (struct tau_frame){frame});
        visit();
        restore(state);
        tau_code_cache_use(&cache, &one);
        visit();
    }
    restore(state);
    tau_code_cache_age(&cache);
    visit();
    calls_count += settings.pages_count + 2 * settings.frames_count + 4;
}

int main(int argc, char **argv) {
    REQUIRE(argc == 5);
    settings.policy = (enum tau_code_cache_policy)atoi(argv[1]);
    settings.pages_count = (uint32_t)atoi(argv[2]);
    settings.frames_count = (uint32_t)atoi(argv[3]);
    settings.frames_least = (uint32_t)atoi(argv[4]);
    REQUIRE(settings.pages_count <= PAGES_MAX && settings.frames_count <= FRAMES);
    states = calloc(STATES_MAX, sizeof *states);
    REQUIRE(states != NULL);
    find_seeds();
    REQUIRE(tau_code_cache_init(&cache, &settings, page_frames) == TAU_OK);
    visit();
    for (uint32_t i = 0; i < states_count && test_failures_count == 0; i++) {
        const struct state state = states[i];
        try_calls(&state);
    }
    printf("%u states, %zu calls, %s\n", states_count, calls_count,
           test_failures_count == 0 ? "complete" : "failed");
    free(states);
    return test_failures_count > 0;
}
