// See mechanism.h.
#include "core/tests/kit/mechanism.h"

enum { IMAGE_BYTES_MAX = 1 << 18, ARGUMENTS_MAX = 6 };

FILE *mechanism_log;
static struct mechanism *first_mechanism;

void mechanism_enter(struct mechanism *entered) {
    entered->next = first_mechanism;
    first_mechanism = entered;
}

static const struct mechanism *find(const char *name) {
    const struct mechanism *found = first_mechanism;
    while (found != NULL && strcmp(found->name, name) != 0) {
        found = found->next;
    }
    if (found == NULL) {
        printf("no mechanism %s\n", name);
        exit(2);
    }
    return found;
}

// ---- The parts of a state ----------------------------------------------------------------------

static enum { PART_SAVE, PART_COMPARE, PART_RESTORE } part_task;
static unsigned char image[IMAGE_BYTES_MAX];
static size_t image_bytes;

void mechanism_part(void *memory, size_t size_bytes) {
    REQUIRE(image_bytes + size_bytes <= sizeof image);
    if (part_task == PART_SAVE) {
        memcpy(image + image_bytes, memory, size_bytes);
    } else if (part_task == PART_RESTORE) {
        memcpy(memory, image + image_bytes, size_bytes);
    } else {
        EXPECT(memcmp(image + image_bytes, memory, size_bytes) == 0);
    }
    image_bytes += size_bytes;
}

static void all_parts(const struct mechanism *mechanism, unsigned task) {
    image_bytes = 0;
    part_task = task;
    if (mechanism->parts != NULL) {
        mechanism->parts();
    }
}

// ---- Programs of random calls ------------------------------------------------------------------

static const struct operation *choose_operation(const struct mechanism *mechanism) {
    const struct operation *chosen = mechanism->operations;
    uint32_t sum = 0;
    for (const struct operation *each = chosen; each->weight != 0; each++) {
        sum += explores() ? 1 : each->weight;
    }
    for (uint32_t left = choose(sum); left >= (explores() ? 1 : chosen->weight); chosen++) {
        left -= explores() ? 1 : chosen->weight;
    }
    return chosen;
}

// One program. Returns its number of calls.
static size_t run_program(const struct mechanism *mechanism) {
    const size_t calls_max = 1 + fuzz_choose(mechanism->calls_max);
    size_t calls = 0;
    mechanism->open();
    for (; calls < calls_max && !fuzz_is_over() && test_failures_count == 0; calls++) {
        all_parts(mechanism, PART_SAVE);
        if (choose_operation(mechanism)->call() != TAU_OK) {
            all_parts(mechanism, PART_COMPARE);
        }
        if (calls % mechanism->check_every == 0) {
            mechanism->check();
        }
    }
    if (test_failures_count == 0) {
        mechanism->check();
    }
    if (mechanism->close != NULL) {
        mechanism->close();
    }
    return calls;
}

int mechanism_random(const char *name, uint64_t seed, size_t calls_max) {
    const struct mechanism *const mechanism = find(name);
    const char *const log = getenv("TAU_FUZZ_LOG");
    const uint64_t seed_first = seed;
    size_t calls = 0;
    if (log != NULL) {
        mechanism_log = fopen(log, "w");
        REQUIRE(mechanism_log != NULL);
    }
    for (; calls < calls_max && test_failures_count == 0; seed++) {
        test_random_state = seed;
        calls += run_program(mechanism);
        if (test_failures_count > 0) {
            printf("fails with seed %llu\n", (unsigned long long)seed);
        }
    }
    printf("seeds from %llu, %zu calls, %u failures\n", (unsigned long long)seed_first, calls,
           test_failures_count);
    return test_failures_count > 0;
}

#ifdef TAU_FUZZER
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *const name = getenv("TAU_FUZZ_MECHANISM");
    REQUIRE(name != NULL);
    if (size > 0) {
        fuzz_input = data;
        fuzz_input_left = size;
        (void)run_program(find(name));
    }
    if (test_failures_count > 0) {
        abort();
    }
    return 0;
}
#endif

// ---- Every state -------------------------------------------------------------------------------

static const uint32_t unlimited = UINT32_MAX - 1;  // a depth without limit

static uint32_t arguments[ARGUMENTS_MAX];

// States that were met, by fingerprint, with the depth to which they were explored, plus one.
static struct {
    uint64_t *fingerprints;
    uint32_t *depths;
    size_t mask;
    size_t count;
    size_t count_max;
} states;

// Images of states whose calls were not tried yet.
static struct {
    unsigned char *images;
    uint32_t *depths;
    size_t count;
    size_t count_max;
} pending;

static bool is_complete = true;

uint32_t mechanism_argument(unsigned number) {
    return arguments[number];
}

uint64_t mechanism_mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}

static uint64_t hash_of_image(void) {
    uint64_t hash = 1;
    memset(image + image_bytes, 0, sizeof hash);
    for (size_t at = 0; at < image_bytes; at += sizeof hash) {
        uint64_t word = 0;
        memcpy(&word, image + at, sizeof word);
        hash = mechanism_mix(hash, word);
    }
    return hash;
}

// Whether the state is new, or known but not explored to DEPTH_LEFT; remembers it if so.
static bool is_worth_exploring(uint64_t fingerprint, uint32_t depth_left) {
    size_t slot = (size_t)(fingerprint >> 20) & states.mask;
    fingerprint |= 1;
    while (states.depths[slot] != 0 && states.fingerprints[slot] != fingerprint) {
        slot = (slot + 1) & states.mask;  // bound: the table is never full
    }
    if (states.depths[slot] > depth_left) {
        return false;
    }
    if (states.depths[slot] == 0 && states.count++ == states.count_max) {
        states.count--;
        is_complete = false;
        return false;
    }
    states.fingerprints[slot] = fingerprint;
    states.depths[slot] = depth_left + 1;
    return true;
}

// Checks the state that is there, if it is new, and remembers to try its calls.
static void visit(const struct mechanism *mechanism, uint32_t depth_left) {
    if (mechanism->normalize != NULL) {
        mechanism->normalize();
    }
    all_parts(mechanism, PART_SAVE);
    const uint64_t fingerprint =
        mechanism->fingerprint != NULL ? mechanism->fingerprint() : hash_of_image();
    if (!is_worth_exploring(fingerprint, depth_left)) {
        return;
    }
    mechanism->check();
    if (depth_left == 0) {
        return;
    }
    if (pending.count == pending.count_max) {
        pending.count_max = 2 * pending.count_max + 1024;
        pending.images = realloc(pending.images, pending.count_max * image_bytes);
        pending.depths = realloc(pending.depths, pending.count_max * sizeof *pending.depths);
        REQUIRE(pending.images != NULL && pending.depths != NULL);
    }
    memcpy(pending.images + pending.count * image_bytes, image, image_bytes);
    pending.depths[pending.count++] = depth_left;
}

// Makes every call in the state that was remembered last. Returns their number.
static size_t explore_last(const struct mechanism *mechanism) {
    static unsigned char own_image[IMAGE_BYTES_MAX];
    struct choices row = {.count = 0};
    const uint32_t depth_left = pending.depths[--pending.count];
    const size_t bytes = image_bytes;
    size_t calls = 0;
    memcpy(own_image, pending.images + pending.count * bytes, bytes);
    memcpy(image, own_image, bytes);
    all_parts(mechanism, PART_RESTORE);
    choices_row = &row;
    do {
        calls++;
        if (choose_operation(mechanism)->call() != TAU_OK) {
            all_parts(mechanism, PART_COMPARE);
        } else {
            visit(mechanism, depth_left == unlimited ? unlimited : depth_left - 1);
            memcpy(image, own_image, bytes);
            all_parts(mechanism, PART_RESTORE);
        }
    } while (choices_next(&row) && test_failures_count == 0);
    return calls;
}

static void open_states(size_t count_max) {
    states.count_max = count_max;
    for (states.mask = 1; states.mask < 2 * count_max; states.mask = 2 * states.mask + 1) {
    }
    states.fingerprints = calloc(states.mask + 1, sizeof *states.fingerprints);
    states.depths = calloc(states.mask + 1, sizeof *states.depths);
    REQUIRE(states.fingerprints != NULL && states.depths != NULL);
}

int mechanism_explore(const char *name, const char *const *sizes, size_t sizes_count) {
    const struct mechanism *const mechanism = find(name);
    struct choices row = {.count = 0};
    size_t calls = 0;
    REQUIRE(sizes_count >= 2 && sizes_count <= 2 + ARGUMENTS_MAX);
    const uint32_t depth = (uint32_t)strtoul(sizes[0], NULL, 0);
    open_states(strtoul(sizes[1], NULL, 0));
    for (size_t i = 2; i < sizes_count; i++) {
        arguments[i - 2] = (uint32_t)strtoul(sizes[i], NULL, 0);
    }
    do {
        choices_row = &row;
        mechanism->open();
        visit(mechanism, depth == 0 ? unlimited : depth);
        while (pending.count > 0 && test_failures_count == 0) {
            calls += explore_last(mechanism);
        }
        if (mechanism->close != NULL) {
            mechanism->close();
        }
    } while (choices_next(&row) && test_failures_count == 0);
    printf("%zu states, %zu calls, %s, %u failures\n", states.count, calls,
           is_complete ? "complete" : "stopped at the limit of states", test_failures_count);
    return test_failures_count > 0;
}
