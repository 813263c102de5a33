// Goal: each sentence of core/buddy.h, by example; the full walk sees each broken invariant.
// Method: small tables whose blocks can be told by hand, and the largest one.
#include "core/buddy.h"
#include "core/tests/checks/check_buddy.h"
#include "core/tests/kit/test.h"

enum { FRAMES_MAX = 1 << 16, BYTES_MAX = TAU_BUDDY_SIZE_BYTES(TAU_BUDDY_FRAMES_MAX) };

static union {
    uint32_t words[BYTES_MAX / 4 + 2];
    unsigned char bytes[BYTES_MAX + 5];
} memory;
static struct tau_buddy buddy;

static void open_table(uint32_t frames_count, uint32_t first, uint32_t count) {
    REQUIRE(tau_buddy_init(&buddy, &memory, sizeof memory, frames_count) == TAU_OK);
    REQUIRE(tau_buddy_add(&buddy, (struct tau_frame){first}, count) == TAU_OK);
}

static uint32_t take(unsigned order) {
    struct tau_frame frame = {UINT32_MAX};
    EXPECT_EQUAL(tau_buddy_take(&buddy, order, &frame), TAU_OK);
    EXPECT_EQUAL(check_buddy(&buddy), 0);
    return frame.number;
}

static enum tau_status give(uint32_t frame, unsigned order) {
    return tau_buddy_give(&buddy, (struct tau_frame){frame}, order);
}

static void expect_free(const char *counts) {
    char found[8 * 12] = "";
    for (unsigned order = 0; order < TAU_BUDDY_ORDERS; order++) {
        const size_t used = strlen(found);
        snprintf(found + used, sizeof found - used, order > 0 ? " %u" : "%u",
                 tau_buddy_free_count(&buddy, order));
    }
    if (strcmp(found, counts) != 0) {
        printf("free: %s, not %s\n", found, counts);
        EXPECT(false);
    }
    EXPECT_EQUAL(check_buddy(&buddy), 0);
}

TEST_CASE(init_refuses_what_cannot_be) {
    const size_t needed = TAU_BUDDY_SIZE_BYTES(100u);
    struct tau_buddy untouched;
    memset(&buddy, 0xa5, sizeof buddy);
    untouched = buddy;
    memset(&memory, 0xa5, sizeof memory);
    EXPECT_EQUAL(tau_buddy_init(&buddy, &memory, needed, 0), TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(tau_buddy_init(&buddy, NULL, needed, 100), TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(tau_buddy_init(&buddy, &memory, needed - 1, 100), TAU_BAD_ARGUMENT);
    for (size_t off = 1; off < 4; off++) {
        EXPECT_EQUAL(tau_buddy_init(&buddy, memory.bytes + off, needed, 100), TAU_BAD_ARGUMENT);
    }
    EXPECT_EQUAL(tau_buddy_init(&buddy, &memory, sizeof memory, TAU_BUDDY_FRAMES_MAX + 1),
                 TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(tau_buddy_init(&buddy, &memory, sizeof memory, UINT32_MAX), TAU_BAD_ARGUMENT);
    EXPECT(memcmp(&untouched, &buddy, sizeof buddy) == 0);
    EXPECT_EQUAL(memory.bytes[0], 0xa5);
    EXPECT_EQUAL(tau_buddy_init(&buddy, &memory, needed, 100), TAU_OK);
    EXPECT_EQUAL(memory.bytes[needed], 0xa5);
    expect_free("0 0 0 0 0 0 0 0");
}

TEST_CASE(the_state_takes_what_the_macro_says) {
    const uint32_t counts[] = {1, 4, 5, 16, 17, 255, 16384, 16385, TAU_BUDDY_FRAMES_MAX};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        const size_t needed = TAU_BUDDY_SIZE_BYTES(counts[i]);
        memset(&memory, 0xa5, sizeof memory);
        REQUIRE(tau_buddy_init(&buddy, &memory, needed, counts[i]) == TAU_OK);
        EXPECT_EQUAL(tau_buddy_add(&buddy, (struct tau_frame){0}, counts[i]), TAU_OK);
        EXPECT_EQUAL(check_buddy(&buddy), 0);
        EXPECT_EQUAL(memory.bytes[needed], 0xa5);
        EXPECT(memory.bytes[needed - 1] != 0xa5);
        EXPECT_EQUAL(tau_buddy_free_frames_count(&buddy), counts[i]);
    }
    EXPECT_EQUAL(TAU_BUDDY_SIZE_BYTES(16384), 27342);
    EXPECT_EQUAL(TAU_BUDDY_SIZE_BYTES(256), 477);
}

TEST_CASE(ranges_ascend) {
    open_table(100, 3, 20);
    expect_free("4 4 0 0 0 0 0 0");
    EXPECT_EQUAL(tau_buddy_add(&buddy, (struct tau_frame){50}, 0), TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(tau_buddy_add(&buddy, (struct tau_frame){100}, 1), TAU_FRAME_OUTSIDE);
    EXPECT_EQUAL(tau_buddy_add(&buddy, (struct tau_frame){99}, 2), TAU_FRAME_OUTSIDE);
    EXPECT_EQUAL(tau_buddy_add(&buddy, (struct tau_frame){99}, UINT32_MAX), TAU_FRAME_OUTSIDE);
    EXPECT_EQUAL(tau_buddy_add(&buddy, (struct tau_frame){22}, 4), TAU_FRAME_TWICE);
    EXPECT_EQUAL(tau_buddy_add(&buddy, (struct tau_frame){0}, 3), TAU_FRAME_TWICE);
    expect_free("4 4 0 0 0 0 0 0");
    EXPECT_EQUAL(tau_buddy_add(&buddy, (struct tau_frame){23}, 1), TAU_OK);
    expect_free("1 5 0 0 0 0 0 0");  // 20 ... 23 became one
    EXPECT_EQUAL(tau_buddy_add(&buddy, (struct tau_frame){99}, 1), TAU_OK);
    expect_free("2 5 0 0 0 0 0 0");
}

TEST_CASE(the_lowest_of_the_last_listed_is_taken) {
    open_table(64, 0, 64);
    expect_free("0 0 0 1 0 0 0 0");
    EXPECT_EQUAL(take(0), 0);
    expect_free("3 3 3 0 0 0 0 0");
    EXPECT_EQUAL(take(0), 1);
    EXPECT_EQUAL(take(1), 4);
    EXPECT_EQUAL(take(2), 16);
    EXPECT_EQUAL(take(0), 2);
    EXPECT_EQUAL(take(0), 3);
    EXPECT_EQUAL(take(0), 8);  // from a group that is listed now
    EXPECT_EQUAL(give(2, 0), TAU_OK);
    EXPECT_EQUAL(take(0), 2);  // listed last
    EXPECT_EQUAL(take(0), 9);
    EXPECT_EQUAL(give(1, 0), TAU_OK);
    EXPECT_EQUAL(give(0, 0), TAU_OK);
    EXPECT_EQUAL(take(0), 0);
    expect_free("3 1 2 0 0 0 0 0");
}

TEST_CASE(four_free_siblings_are_one_block) {
    open_table(64, 0, 64);
    for (uint32_t frame = 0; frame < 64; frame++) {
        EXPECT_EQUAL(take(0), frame);
    }
    expect_free("0 0 0 0 0 0 0 0");
    struct tau_frame none = {7};
    EXPECT_EQUAL(tau_buddy_take(&buddy, 0, &none), TAU_NO_FRAME);
    EXPECT_EQUAL(none.number, 7);
    for (uint32_t frame = 63; frame > 0; frame--) {
        EXPECT_EQUAL(give(frame, 0), TAU_OK);
        EXPECT_EQUAL(tau_buddy_free_count(&buddy, 3), 0);
    }
    expect_free("3 3 3 0 0 0 0 0");
    EXPECT_EQUAL(give(0, 0), TAU_OK);
    expect_free("0 0 0 1 0 0 0 0");
}

TEST_CASE(the_largest_blocks_stay_apart) {
    open_table(1 << 16, 0, 1 << 16);
    expect_free("0 0 0 0 0 0 0 4");
    for (uint32_t block = 0; block < 4; block++) {
        EXPECT_EQUAL(take(7), block << 14);
    }
    EXPECT_EQUAL(give(0, 7), TAU_OK);
    EXPECT_EQUAL(take(0), 0);
    expect_free("3 3 3 3 3 3 3 0");
    EXPECT_EQUAL(give(0, 0), TAU_OK);
    for (uint32_t block = 1; block < 4; block++) {
        EXPECT_EQUAL(give(block << 14, 7), TAU_OK);
    }
    expect_free("0 0 0 0 0 0 0 4");
}

TEST_CASE(a_wrong_give_is_refused_with_its_reason) {
    open_table(128, 4, 60);
    EXPECT_EQUAL(take(1), 4);
    EXPECT_EQUAL(take(0), 8);
    const struct {
        uint32_t frame;
        unsigned order;
        enum tau_status status;
    } wrong[] = {
        {4, 8, TAU_BAD_ARGUMENT},    {4, UINT32_MAX, TAU_BAD_ARGUMENT},
        {128, 0, TAU_FRAME_OUTSIDE}, {UINT32_MAX, 0, TAU_FRAME_OUTSIDE},
        {0, 0, TAU_FRAME_OUTSIDE},   {3, 0, TAU_FRAME_OUTSIDE},
        {0, 1, TAU_FRAME_OUTSIDE},   {100, 0, TAU_FRAME_OUTSIDE},
        {9, 0, TAU_FRAME_FREE},      {12, 1, TAU_FRAME_FREE},
        {16, 2, TAU_FRAME_FREE},     {17, 0, TAU_FRAME_FREE},
        {4, 0, TAU_FRAME_ORDER},     {5, 0, TAU_FRAME_ORDER},
        {5, 1, TAU_FRAME_ORDER},     {8, 1, TAU_FRAME_ORDER},
        {4, 2, TAU_FRAME_ORDER},     {8, 7, TAU_FRAME_ORDER},
        {0, 7, TAU_FRAME_OUTSIDE},
    };
    const struct tau_buddy before = buddy;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        EXPECT_EQUAL(give(wrong[i].frame, wrong[i].order), wrong[i].status);
    }
    EXPECT(memcmp(&before, &buddy, sizeof buddy) == 0);
    EXPECT_EQUAL(give(4, 1), TAU_OK);
    EXPECT_EQUAL(give(4, 1), TAU_FRAME_FREE);
    struct tau_frame frame = {7};
    EXPECT_EQUAL(tau_buddy_take(&buddy, 8, &frame), TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(tau_buddy_take(&buddy, 3, &frame), TAU_NO_FRAME);
    EXPECT_EQUAL(frame.number, 7);
}

TEST_CASE(a_mix_is_taken_as_it_is_or_not_at_all) {
    open_table(64, 0, 64);
    struct tau_frame taken[64];
    const uint32_t fits[TAU_BUDDY_ORDERS] = {5, 2, 2};
    EXPECT_EQUAL(tau_buddy_take_mix(&buddy, fits, taken), TAU_OK);
    const uint32_t expected[] = {0, 16, 32, 36, 40, 41, 42, 43, 44};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        EXPECT_EQUAL(taken[i].number, expected[i]);
    }
    expect_free("3 0 1 0 0 0 0 0");
    memset(taken, 0xff, sizeof taken);
    const uint32_t too_many[][TAU_BUDDY_ORDERS] = {
        {20}, {4, 4}, {0, 0, 2}, {0, 1, 1}, {0, 0, 0, 1}, {0, 0, 0, 0, 0, 0, 0, 1}, {UINT32_MAX},
    };
    for (size_t i = 0; i < sizeof too_many / sizeof too_many[0]; i++) {
        EXPECT_EQUAL(tau_buddy_take_mix(&buddy, too_many[i], taken), TAU_NO_FRAME);
    }
    EXPECT_EQUAL(taken[0].number, UINT32_MAX);
    expect_free("3 0 1 0 0 0 0 0");
    EXPECT_EQUAL(tau_buddy_take_mix(&buddy, (const uint32_t[TAU_BUDDY_ORDERS]){0}, NULL), TAU_OK);
    EXPECT_EQUAL(tau_buddy_take_mix(&buddy, (const uint32_t[TAU_BUDDY_ORDERS]){19}, taken), TAU_OK);
    expect_free("0 0 0 0 0 0 0 0");
}

TEST_CASE(what_is_free_can_be_asked) {
    REQUIRE(tau_buddy_init(&buddy, &memory, sizeof memory, 64) == TAU_OK);
    unsigned order = 9;
    EXPECT(!tau_buddy_largest(&buddy, &order) && order == 9);
    EXPECT_EQUAL(tau_buddy_free_frames_count(&buddy), 0);
    EXPECT_EQUAL(tau_buddy_add(&buddy, (struct tau_frame){1}, 40), TAU_OK);
    EXPECT(tau_buddy_largest(&buddy, &order) && order == 2);
    EXPECT_EQUAL(tau_buddy_free_frames_count(&buddy), 40);
    EXPECT_EQUAL(tau_buddy_free_count(&buddy, 8), 0);
    EXPECT_EQUAL(tau_buddy_free_count(&buddy, UINT32_MAX), 0);
}

// The groups of a table of 64 frames, of which 63 are handed in and 5 taken.
static void open_used(void) {
    open_table(64, 0, 63);
    EXPECT_EQUAL(take(1), 48);
    EXPECT_EQUAL(take(0), 60);
    EXPECT_EQUAL(take(0), 61);
    EXPECT_EQUAL(take(0), 62);
    EXPECT_EQUAL(take(0), 52);
    EXPECT_EQUAL(check_buddy(&buddy), 0);
}

#define EXPECT_BROKEN(change, number)                                                              \
    do {                                                                                           \
        open_used();                                                                               \
        change;                                                                                    \
        EXPECT_EQUAL(check_buddy(&buddy), number);                                                 \
    } while (0)

TEST_CASE(the_walk_sees_what_is_broken) {
    const uint32_t low = buddy.orders[0].groups_first;
    const uint32_t high = buddy.orders[1].groups_first;
    EXPECT_BROKEN(buddy.links[0].at[1] = 0, 1);
    EXPECT_BROKEN(buddy.links[0].at[0] = 0, 1);
    EXPECT_BROKEN(buddy.links[low + 13].at[0] = (uint16_t)(low + 13), 1);
    EXPECT_BROKEN(buddy.links[low + 13].at[1] = 1, 1);
    EXPECT_BROKEN(buddy.members[low + 13] &= 0xf0, 1);
    EXPECT_BROKEN(buddy.members[low + 2] = 1, 1);
    EXPECT_BROKEN(buddy.members[low + 13] |= 0x20, 2);
    EXPECT_BROKEN(buddy.members[low + 2] = 0x10, 3);
    EXPECT_BROKEN(buddy.members[high + 3] |= 2, 3);
    EXPECT_BROKEN(buddy.members[low + 13] = 15, 4);
    EXPECT_BROKEN(buddy.orders[0].free_count++, 5);
    EXPECT_BROKEN(buddy.orders[2].free_count--, 5);
    EXPECT_BROKEN(buddy.frames_end = 62, 6);
    EXPECT_BROKEN(buddy.frames_end = 65, 6);
    EXPECT_BROKEN(buddy.members[low + 15] |= 0x80, 6);
    EXPECT_BROKEN(buddy.orders[3].groups_first++, 7);
}

TEST_CASE(the_self_test_sees_the_heads) {
    const uint32_t low = buddy.orders[0].groups_first;
    EXPECT_BROKEN(EXPECT(tau_buddy_invariants_hold(&buddy)), 0);
    open_used();
    buddy.links[0].at[0] = 0;
    EXPECT(!tau_buddy_invariants_hold(&buddy));
    open_used();
    buddy.orders[5].free_count = 1;
    EXPECT(!tau_buddy_invariants_hold(&buddy));
    open_used();
    buddy.links[low + 13].at[1] = 1;
    EXPECT(!tau_buddy_invariants_hold(&buddy));
    open_used();
    buddy.members[low + 13] = 0;
    EXPECT(!tau_buddy_invariants_hold(&buddy));
    // The head of order 1 names a group of another order, which is well but for that.
    for (unsigned above = 0; above < 2; above++) {
        open_used();
        const uint32_t other = above != 0 ? buddy.orders[3].groups_first : low + 2;
        buddy.links[1].at[0] = (uint16_t)other;
        buddy.links[other].at[1] = 1;
        buddy.members[other] = 1;
        EXPECT(!tau_buddy_invariants_hold(&buddy));
    }
    open_used();
    buddy.orders[7].free_count = 1 << 18;
    EXPECT(!tau_buddy_invariants_hold(&buddy));
    open_used();
    buddy.frames_end = buddy.frames_count + 1;
    EXPECT(!tau_buddy_invariants_hold(&buddy));
    open_used();
    buddy.frames_count = TAU_BUDDY_FRAMES_MAX + 1;
    EXPECT(!tau_buddy_invariants_hold(&buddy));
    open_used();
    buddy.links = NULL;
    EXPECT(!tau_buddy_invariants_hold(&buddy));
}
