// Goal: no calls make the buddy allocator unsound.
// Method: random tables, ranges and calls, right ones and wrong ones, with a full walk after each.
// An account of taken blocks says what must be refused, and that no frame is handed out twice;
// which block is taken is compared with model/buddy.py. Every state of a small table: the arguments
// are its frames, the first that is handed in, how many are, and whether mixes are taken.
#include "core/buddy.h"
#include "core/tests/checks/check_buddy.h"
#include "core/tests/kit/mechanism.h"

enum {
    FRAMES_MAX = 70000,  // more than four blocks of the largest order
    LARGE = 5000,        // calls on more frames take long
    SMALL = 300,
    FREE = 254,
    ABSENT = 255,
    NEXT = 0,
    PREVIOUS = 1,
    BYTES_MAX = TAU_BUDDY_SIZE_BYTES(FRAMES_MAX),
};

static union {
    uint32_t words[BYTES_MAX / 4 + 1];
    unsigned char bytes[BYTES_MAX];
} memory;
static struct tau_buddy buddy;
// The account: each frame is FREE, ABSENT, or has the order of its taken block.
static uint8_t frames[FRAMES_MAX];
static uint8_t starts[FRAMES_MAX];  // whether a taken block starts there
static uint32_t frames_end;
static uint32_t takes;  // so many of nine calls take; the others give

static uint32_t some_order(void) {
    if (explores()) {
        static const uint32_t orders[] = {0, 1, 2, 3, TAU_BUDDY_ORDERS};
        return orders[choose(5)];
    }
    return once_in(24) ? choose(2) * 1000 + TAU_BUDDY_ORDERS
                       : choose(once_in(2) ? 3 : TAU_BUDDY_ORDERS);
}

static enum tau_status add(void) {
    const uint32_t room = buddy.frames_count - frames_end;
    uint32_t first = frames_end + (once_in(2) || room == 0 ? 0 : choose(room));
    uint32_t count = once_in(3) ? room : choose(room + 1);
    if (once_in(6)) {
        first = choose(explores() ? 1 : buddy.frames_count + 2);
        count = choose(explores() ? 2 : buddy.frames_count + 2);
    }
    const enum tau_status status = tau_buddy_add(&buddy, (struct tau_frame){first}, count);
    LOG("A %u %u %d\n", first, count, status);
    if (status == TAU_OK) {
        REQUIRE(first >= frames_end && count <= buddy.frames_count - first);
        memset(frames + first, FREE, count);
        frames_end = first + count;
    }
    return status;
}

// Every frame of the block was free, and is not any more.
static void enter_taken(uint32_t frame, uint32_t order) {
    const uint32_t count = UINT32_C(1) << 2 * order;
    REQUIRE(frame % count == 0 && frame + count <= buddy.frames_count);
    for (uint32_t i = frame; i < frame + count; i++) {
        EXPECT_EQUAL(frames[i], FREE);
    }
    memset(frames + frame, (int)order, count);
    starts[frame] = 1;
}

static enum tau_status take(void) {
    const uint32_t order = some_order();
    struct tau_frame frame = {UINT32_MAX};
    bool is_there = false;
    for (uint32_t larger = order; larger < TAU_BUDDY_ORDERS; larger++) {
        is_there |= tau_buddy_free_count(&buddy, larger) != 0;
    }
    const enum tau_status status = tau_buddy_take(&buddy, order, &frame);
    LOG("T %u %d %u\n", order, status, frame.number);
    EXPECT_EQUAL(status, order >= TAU_BUDDY_ORDERS ? TAU_BAD_ARGUMENT
                         : is_there                ? TAU_OK
                                                   : TAU_NO_FRAME);
    if (status == TAU_OK) {
        enter_taken(frame.number, order);
    } else {
        EXPECT_EQUAL(frame.number, UINT32_MAX);
    }
    return status;
}

static enum tau_status expected_give(uint32_t frame, uint32_t order) {
    if (order >= TAU_BUDDY_ORDERS) {
        return TAU_BAD_ARGUMENT;
    }
    if (frame >= buddy.frames_count || frames[frame] == ABSENT) {
        return TAU_FRAME_OUTSIDE;
    }
    if (frames[frame] == FREE) {
        return TAU_FRAME_FREE;
    }
    return starts[frame] != 0 && frames[frame] == order ? TAU_OK : TAU_FRAME_ORDER;
}

static enum tau_status give(void) {
    uint32_t frame = choose(buddy.frames_count + (explores() ? 1 : 2));
    uint32_t order = some_order();
    if (!explores() && !once_in(8)) {  // the next taken block from there on, if there is one
        while (frame < buddy.frames_count && starts[frame] == 0) {
            frame++;
        }
        order = frame < buddy.frames_count ? frames[frame] : order;
    }
    const enum tau_status expected = expected_give(frame, order);
    const enum tau_status status = tau_buddy_give(&buddy, (struct tau_frame){frame}, order);
    EXPECT_EQUAL(status, expected);
    LOG("G %u %u %d\n", frame, order, status);
    if (status == TAU_OK) {
        memset(frames + frame, FREE, (size_t)1 << 2 * order);
        starts[frame] = 0;
    }
    return status;
}

static enum tau_status take_or_give(void) {
    return choose(explores() ? 2 : 9) < (explores() ? 1 : takes) ? take() : give();
}

static enum tau_status take_mix(void) {
    static struct tau_frame taken[FRAMES_MAX];
    uint32_t counts[TAU_BUDDY_ORDERS] = {0};
    if (explores() ? mechanism_argument(3) == 0 : buddy.frames_count > LARGE) {
        return TAU_OK;
    }
    for (unsigned kinds = explores() ? 2 : choose(4); kinds > 0; kinds--) {
        const uint32_t order = choose(explores() ? 3 : TAU_BUDDY_ORDERS);
        const uint32_t most = (buddy.frames_count >> 2 * order) + 2;
        counts[order] =
            choose(explores() && most > 3 ? 3 : most) / (explores() ? 1 : 1 + choose(4));
    }
    const enum tau_status status = tau_buddy_take_mix(&buddy, counts, taken);
    EXPECT(status == TAU_OK || status == TAU_NO_FRAME);
    LOG("M %d", status);
    size_t taken_count = 0;
    for (uint32_t order = TAU_BUDDY_ORDERS; order-- > 0;) {
        LOG(" %u", counts[order]);
        for (uint32_t i = 0; status == TAU_OK && i < counts[order]; i++) {
            enter_taken(taken[taken_count++].number, order);
        }
    }
    for (size_t i = 0; i < taken_count; i++) {
        LOG(" %u", taken[i].number);
    }
    LOG("\n");
    return status;
}

static void open_table(void) {
    const uint32_t kind = explores() ? 0 : choose(128);
    const uint32_t limit = kind == 0 ? FRAMES_MAX : kind < 8 ? LARGE : SMALL;
    const uint32_t frames_count = explores() ? mechanism_argument(0) : 1 + choose(limit);
    takes = explores() ? 0 : 1 + choose(8);
    frames_end = 0;
    memset(frames, ABSENT, frames_count);
    memset(starts, 0, frames_count);
    memset(&memory, explores() ? 0 : (int)choose(256), sizeof memory);
    REQUIRE(tau_buddy_init(&buddy, &memory, TAU_BUDDY_SIZE_BYTES(frames_count), frames_count) ==
            TAU_OK);
    LOG("I %u\n", frames_count);
    if (explores()) {
        const uint32_t first = mechanism_argument(1);
        const uint32_t count = mechanism_argument(2);
        REQUIRE(tau_buddy_add(&buddy, (struct tau_frame){first}, count) == TAU_OK);
        memset(frames + first, FREE, count);
        frames_end = frames_count;
        return;
    }
    for (uint32_t ranges = 1 + choose(4); ranges > 0; ranges--) {
        (void)add();
    }
}

static void check(void) {
    uint32_t free_count = 0;
    unsigned largest = TAU_BUDDY_ORDERS;
    unsigned found = TAU_BUDDY_ORDERS;
    EXPECT_EQUAL(check_buddy(&buddy), 0);
    for (unsigned order = 0; order < TAU_BUDDY_ORDERS; order++) {
        largest = tau_buddy_free_count(&buddy, order) != 0 ? order : largest;
    }
    EXPECT_EQUAL(tau_buddy_largest(&buddy, &found), largest != TAU_BUDDY_ORDERS);
    EXPECT_EQUAL(found, largest);
    for (uint32_t frame = 0; frame < buddy.frames_count; frame++) {
        free_count += frames[frame] == FREE;
    }
    EXPECT_EQUAL(tau_buddy_free_frames_count(&buddy), free_count);
}

static void parts(void) {
    mechanism_part(&buddy, sizeof buddy);
    if (buddy.frames_count <= LARGE) {
        mechanism_part(&memory, TAU_BUDDY_SIZE_BYTES(buddy.frames_count));
        mechanism_part(frames, buddy.frames_count);
        mechanism_part(starts, buddy.frames_count);
    }
}

// Links of groups that no list has make no difference.
static void normalize(void) {
    for (unsigned order = 0; order < TAU_BUDDY_ORDERS; order++) {
        const uint32_t first = buddy.orders[order].groups_first;
        for (uint32_t group = first; group - first <= (buddy.frames_count - 1) >> (2 * order + 2);
             group++) {
            if ((buddy.members[group] & 15u) == 0) {
                buddy.links[group].both = 0;
            }
        }
    }
}

static const struct operation operations[] = {
    {62, take_or_give},
    {1, take_mix},
    {1, add},
    {0, NULL},
};

static struct mechanism calls_of_buddy = {
    .name = "buddy",
    .operations = operations,
    .calls_max = 400,
    .check_every = 1,
    .open = open_table,
    .check = check,
    .parts = parts,
    .normalize = normalize,
};

MECHANISM(calls_of_buddy)
