// Goal: no reachable state of a small allocator is unsound.
// Method: the arguments are the frames of the table, the first that is handed in, and how many are.
// From the first state every state that calls can reach is visited once; a state is the free and
// taken blocks and the order of the lists. In each a full walk, every take and every give with any
// frame and order, and every mix for each number of free blocks, compared with a naive account:
// status, what is taken and free, and that a refused call changed nothing.
//
// Prints the number of states; ends with 0 if nothing was unsound.
#include "core/tests/buddy/oracle_buddy.h"
#include "core/tests/checks/check_buddy.h"

enum {
    FRAMES_MAX = 16,
    LARGEST = 2,  // the order of all frames together
    GROUPS_MAX = 11,
    ASKED_MAX = 5,  // orders, one above the largest among them, and one that is none
    TABLE_LOG2 = 22,
    NEXT = 0,
    PREVIOUS = 1,
};

// The members of the groups of orders 0 and 1, the lower nibble's lowest bit of order 2 and that of
// the upper, and the list of order 0, first group first, each plus one.
typedef uint64_t state_number;

static const unsigned asked_orders[ASKED_MAX] = {0, 1, 2, 3, TAU_BUDDY_ORDERS};

static state_number *visited;  // open addressing; a number plus one
static state_number *pending;
static size_t pending_count;
static size_t states_count;
static size_t calls_count;
static bool mixes_tried[1 << 12];

static union {
    uint32_t words[64];
    unsigned char bytes[256];
} memory;
static struct tau_buddy buddy;
static uint8_t frames[FRAMES_MAX];
static uint8_t starts[FRAMES_MAX];
static struct oracle_buddy oracle = {.frames = frames, .starts = starts};
static uint32_t first_frame;

static void visit(state_number number) {
    const size_t mask = ((size_t)1 << TABLE_LOG2) - 1;
    size_t place = (size_t)(number * 0x9e3779b97f4a7c15u >> (64 - TABLE_LOG2));
    while (visited[place] != 0) {
        if (visited[place] == number + 1) {
            return;
        }
        place = (place + 1) & mask;
    }
    REQUIRE(states_count + pending_count < mask);
    visited[place] = number + 1;
    pending[pending_count++] = number;
}

// ---- A state as a number and back --------------------------------------------------------------

static uint32_t group_number(unsigned order, uint32_t group) {
    return buddy.orders[order].groups_first + group;
}

static state_number encode(void) {
    state_number number = 0;
    for (uint32_t group = 0; 4 * group < buddy.frames_count; group++) {
        number |= (state_number)buddy.members[group_number(0, group)] << 8 * group;
    }
    number |= (state_number)buddy.members[group_number(1, 0)] << 32;
    const unsigned above = buddy.members[group_number(LARGEST, 0)];
    EXPECT((above & ~0x11u) == 0);
    number |= (state_number)((above & 1u) | (above >> 4) << 1) << 40;
    unsigned place = 42;
    for (uint32_t group = buddy.links[0].at[NEXT]; group != 0;) {
        number |= (state_number)(group - buddy.orders[0].groups_first + 1) << place;
        place += 3;
        group = buddy.links[group].at[NEXT];
    }
    return number;
}

// Puts GROUP at the end of the list of an order.
static void append(unsigned order, uint32_t group) {
    const uint32_t last = buddy.links[order].at[PREVIOUS];
    buddy.links[group].at[NEXT] = (uint16_t)order;
    buddy.links[group].at[PREVIOUS] = (uint16_t)last;
    buddy.links[last].at[NEXT] = (uint16_t)group;
    buddy.links[order].at[PREVIOUS] = (uint16_t)group;
}

// Enters the blocks of a group's MEMBERS in the account and counts the free ones.
static void enter(unsigned order, uint32_t group, unsigned members) {
    buddy.members[group_number(order, group)] = (uint8_t)members;
    for (unsigned member = 0; member < 4; member++) {
        const uint32_t count = UINT32_C(1) << 2 * order;
        const uint32_t frame = (4 * group + member) * count;
        if ((members >> member & 1u) != 0) {
            buddy.orders[order].free_count++;
            memset(frames + frame, ORACLE_FREE, count);
        }
        if ((members >> member & 16u) != 0) {
            memset(frames + frame, (int)order, count);
            starts[frame] = 1;
        }
    }
}

static void decode(state_number number) {
    memset(frames, ORACLE_ABSENT, sizeof frames);
    memset(starts, 0, sizeof starts);
    for (unsigned order = 0; order < TAU_BUDDY_ORDERS; order++) {
        buddy.orders[order].free_count = 0;
        buddy.links[order].both = order * 0x10001u;
    }
    for (uint32_t group = 0; 4 * group < buddy.frames_count; group++) {
        enter(0, group, (unsigned)(number >> 8 * group & 255u));
    }
    enter(1, 0, (unsigned)(number >> 32 & 255u));
    enter(LARGEST, 0, (unsigned)((number >> 40 & 1u) | (number >> 41 & 1u) << 4));
    for (unsigned place = 42; (number >> place & 7u) != 0; place += 3) {
        append(0, group_number(0, (uint32_t)(number >> place & 7u) - 1));
    }
    for (unsigned order = 1; order <= LARGEST; order++) {
        if (buddy.orders[order].free_count != 0) {
            append(order, group_number(order, 0));
        }
    }
}

// ---- Every call in a state ---------------------------------------------------------------------

static struct {
    struct tau_buddy buddy;
    unsigned char bytes[sizeof memory.bytes];
} before;

static void remember(void) {
    before.buddy = buddy;
    memcpy(before.bytes, memory.bytes, sizeof memory.bytes);
}

// Goes on from what a call answered: refused, it changed nothing; else there is a state to visit.
static void conclude(state_number number, enum tau_status status) {
    calls_count++;
    if (status != TAU_OK) {
        EXPECT(memcmp(&before.buddy, &buddy, sizeof buddy) == 0);
        EXPECT(memcmp(before.bytes, memory.bytes, sizeof memory.bytes) == 0);
        return;
    }
    oracle_expect(&oracle, &buddy);
    visit(encode());
    decode(number);
    remember();
}

static void try_takes(state_number number) {
    for (unsigned i = 0; i < ASKED_MAX; i++) {
        struct tau_frame frame = {UINT32_MAX};
        const enum tau_status status = tau_buddy_take(&buddy, asked_orders[i], &frame);
        oracle_take(&oracle, asked_orders[i], status, frame.number);
        EXPECT(status == TAU_OK || frame.number == UINT32_MAX);
        conclude(number, status);
    }
}

static void try_gives(state_number number) {
    for (unsigned i = 0; i < ASKED_MAX; i++) {
        for (uint32_t frame = 0; frame <= buddy.frames_count; frame++) {
            const enum tau_status expected = oracle_give(&oracle, frame, asked_orders[i]);
            const enum tau_status status =
                tau_buddy_give(&buddy, (struct tau_frame){frame}, asked_orders[i]);
            EXPECT_EQUAL(status, expected);
            conclude(number, status);
        }
    }
}

static void try_mix(state_number number, const uint32_t *counts) {
    struct tau_frame taken[FRAMES_MAX];
    const enum tau_status status = tau_buddy_take_mix(&buddy, counts, taken);
    if (status == TAU_OK) {
        size_t at = 0;
        for (unsigned order = LARGEST + 1; order-- > 0;) {
            for (uint32_t i = 0; i < counts[order]; i++, at++) {
                EXPECT(oracle_all_free(&oracle, taken[at].number, order));
                memset(frames + taken[at].number, (int)order, (size_t)1 << 2 * order);
                starts[taken[at].number] = 1;
            }
        }
    } else {
        EXPECT_EQUAL(status, TAU_NO_FRAME);
        EXPECT(!oracle_has_mix(&oracle, counts));
    }
    conclude(number, status);
    decode(number);
}

static void try_mixes(state_number number) {
    const uint32_t free_blocks = buddy.orders[0].free_count | buddy.orders[1].free_count << 5 |
                                 buddy.orders[LARGEST].free_count << 8;
    if (mixes_tried[free_blocks]) {
        return;
    }
    mixes_tried[free_blocks] = true;
    for (uint32_t mix = 0; mix < 18 * 6 * 2; mix++) {
        const uint32_t counts[TAU_BUDDY_ORDERS] = {mix % 18, mix / 18 % 6, mix / 18 / 6};
        try_mix(number, counts);
    }
}

int main(int argc, char **argv) {
    REQUIRE(argc == 4);
    oracle.frames_count = (uint32_t)strtoul(argv[1], NULL, 10);
    first_frame = (uint32_t)strtoul(argv[2], NULL, 10);
    REQUIRE(oracle.frames_count <= FRAMES_MAX);
    visited = calloc((size_t)1 << TABLE_LOG2, sizeof *visited);
    pending = calloc((size_t)1 << TABLE_LOG2, sizeof *pending);
    REQUIRE(visited != NULL && pending != NULL);
    REQUIRE(tau_buddy_init(&buddy, memory.bytes, sizeof memory, oracle.frames_count) == TAU_OK);
    REQUIRE(tau_buddy_add(&buddy, (struct tau_frame){first_frame},
                          (uint32_t)strtoul(argv[3], NULL, 10)) == TAU_OK);
    visit(encode());
    while (pending_count > 0 && test_failures_count == 0) {
        const state_number number = pending[--pending_count];
        decode(number);
        EXPECT_EQUAL(encode(), number);
        EXPECT_EQUAL(check_buddy(&buddy), 0);
        remember();
        states_count++;
        try_takes(number);
        try_gives(number);
        try_mixes(number);
    }
    printf("%zu states, %zu calls, %s, %u failures\n", states_count, calls_count,
           pending_count == 0 ? "complete" : "cut short", test_failures_count);
    return test_failures_count > 0;
}
