// Goal: no program of calls makes the buddy allocator unsound or answer wrongly.
// Method: random tables, ranges and calls, right ones and wrong ones, compared with the naive
// account; a full walk after each. A log, if TAU_FUZZ_LOG names a file, is repeated by the model.
#include "core/tests/buddy/oracle_buddy.h"
#include "core/tests/checks/check_buddy.h"
#include "core/tests/kit/fuzz_pages.h"

enum {
    FRAMES_MAX = 70000,  // more than four blocks of the largest order
    SMALL_MAX = 300,
    MIDDLE_MAX = 5000,
    RANGES_MAX = 4,
    CALLS_MAX = 400,
    LARGE_CALLS_MAX = 30,
    BYTES_MAX = TAU_BUDDY_SIZE_BYTES(FRAMES_MAX),
};

static union {
    uint32_t words[BYTES_MAX / 4 + 1];
    unsigned char bytes[BYTES_MAX];
} memory;
static uint8_t frames[FRAMES_MAX];
static uint8_t starts[FRAMES_MAX];
static uint8_t scratch_frames[FRAMES_MAX];
static struct tau_frame mix_frames[FRAMES_MAX];
static struct tau_buddy buddy;
static struct oracle_buddy oracle;

static bool is_large(void) {
    return oracle.frames_count > MIDDLE_MAX;
}

static uint32_t choose_order(void) {
    return choose(24) == 0 ? choose(2) * 1000 + TAU_BUDDY_ORDERS
                           : choose(choose(2) == 0 ? 3 : TAU_BUDDY_ORDERS);
}

// Calls are refused without a change: of the state, what could be compared is remembered.
static void remember(bool compare) {
    image.used_bytes = 0;
    image_part(&buddy, sizeof buddy, compare);
    if (!is_large()) {
        image_part(memory.bytes, TAU_BUDDY_SIZE_BYTES(oracle.frames_count), compare);
    }
}

static void add_random(void) {
    const uint32_t room = oracle.frames_count - oracle.frames_end;
    uint32_t first = oracle.frames_end + (choose(2) == 0 || room == 0 ? 0 : choose(room));
    uint32_t count = choose(3) == 0 ? room : choose(room + 1);
    if (choose(6) == 0) {
        first = choose(oracle.frames_count + 2);
        count = choose(oracle.frames_count + 2);
    }
    remember(false);
    const enum tau_status expected = oracle_add(&oracle, first, count);
    const enum tau_status status = tau_buddy_add(&buddy, (struct tau_frame){first}, count);
    EXPECT_EQUAL(status, expected);
    LOG("A %u %u %d\n", first, count, status);
    if (status != TAU_OK) {
        remember(true);
    }
}

static void take_random(void) {
    const uint32_t order = choose_order();
    struct tau_frame frame = {UINT32_MAX};
    remember(false);
    const enum tau_status status = tau_buddy_take(&buddy, order, &frame);
    oracle_take(&oracle, order, status, frame.number);
    LOG("T %u %d %u\n", order, status, frame.number);
    if (status != TAU_OK) {
        EXPECT_EQUAL(frame.number, UINT32_MAX);
        remember(true);
    }
}

static void give_random(void) {
    uint32_t frame = choose(oracle.frames_count + 2);
    uint32_t order = choose_order();
    if (choose(8) != 0) {  // the next taken block from there on, if there is one
        for (; frame < oracle.frames_count && starts[frame] == 0; frame++) {
        }
        order = frame < oracle.frames_count ? frames[frame] : order;
    }
    remember(false);
    const enum tau_status expected = oracle_give(&oracle, frame, order);
    const enum tau_status status = tau_buddy_give(&buddy, (struct tau_frame){frame}, order);
    EXPECT_EQUAL(status, expected);
    LOG("G %u %u %d\n", frame, order, status);
    if (status != TAU_OK) {
        remember(true);
    }
}

static void take_random_mix(void) {
    uint32_t counts[TAU_BUDDY_ORDERS] = {0};
    for (unsigned kinds = choose(4); kinds > 0; kinds--) {
        const uint32_t order = choose(TAU_BUDDY_ORDERS);
        counts[order] = choose((oracle.frames_count >> 2 * order) + 2) / (1 + choose(4));
    }
    struct oracle_buddy scratch = oracle;
    scratch.frames = scratch_frames;
    memcpy(scratch_frames, frames, oracle.frames_count);
    remember(false);
    const bool expected = oracle_has_mix(&scratch, counts);
    const enum tau_status status = tau_buddy_take_mix(&buddy, counts, mix_frames);
    EXPECT_EQUAL(status, expected ? TAU_OK : TAU_NO_FRAME);
    LOG("M %d", status);
    size_t taken = 0;
    for (unsigned order = TAU_BUDDY_ORDERS; order-- > 0;) {
        LOG(" %u", counts[order]);
        for (uint32_t i = 0; status == TAU_OK && i < counts[order]; i++) {
            oracle_take(&oracle, order, TAU_OK, mix_frames[taken++].number);
        }
    }
    for (size_t i = 0; i < taken; i++) {
        LOG(" %u", mix_frames[i].number);
    }
    LOG("\n");
    if (status != TAU_OK) {
        remember(true);
    }
}

static void open_random(void) {
    const uint32_t kind = choose(64);
    const uint32_t limit = kind == 0 ? FRAMES_MAX : kind < 4 ? MIDDLE_MAX : SMALL_MAX;
    const uint32_t frames_count = 1 + choose(limit);
    oracle = (struct oracle_buddy){.frames = frames, .starts = starts};
    oracle.frames_count = frames_count;
    memset(frames, ORACLE_ABSENT, frames_count);
    memset(starts, 0, frames_count);
    memset(&memory, (int)choose(256), sizeof memory);
    REQUIRE(tau_buddy_init(&buddy, &memory, TAU_BUDDY_SIZE_BYTES(frames_count), frames_count) ==
            TAU_OK);
    LOG("I %u\n", frames_count);
    for (uint32_t ranges = 1 + choose(RANGES_MAX); ranges > 0; ranges--) {
        add_random();
    }
}

static size_t run_program(void) {
    log_open();
    open_random();
    const size_t calls_max = is_large() ? LARGE_CALLS_MAX : CALLS_MAX;
    const uint32_t takes = 1 + choose(8);  // of nine calls that take or give
    size_t calls = 0;
    for (; calls < calls_max && !fuzz_is_over() && test_failures_count == 0; calls++) {
        const uint32_t kind = choose(64);
        if (kind == 0) {
            add_random();
        } else if (kind == 1 && !is_large()) {
            take_random_mix();
        } else if (choose(9) < takes) {
            take_random();
        } else {
            give_random();
        }
        oracle_expect(&oracle, &buddy);
        EXPECT_EQUAL(check_buddy(&buddy), 0);
    }
    return calls;
}

FUZZ_MAIN(run_program)
