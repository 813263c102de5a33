// Goal: a frame is in at most one list, in the order that docs/spec/vspace.md states, and is zeroed
// before another space sees it. Bad input is refused with its reason and changes nothing. Method:
// small machines, where every list is compared as a whole.
#include "core/tests/pages/vspace_world.h"

static void expect_list(const struct tau_frames *pool, const struct tau_frame_list *list,
                        const char *expected) {
    char text[128] = "";
    uint32_t frame = list->head;
    for (uint32_t i = 0; i < list->count; i++) {
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%u", i != 0 ? " " : "",
                 (unsigned)frame);
        frame = pool->links[frame];
    }
    EXPECT(strcmp(text, expected) == 0);
    if (strcmp(text, expected) != 0) {
        printf("  \"%s\" instead of \"%s\"\n", text, expected);
    }
    EXPECT_EQUAL(check_frames(pool, NULL), 0);
    EXPECT(tau_frames_invariants_hold(pool));
}

// POOL's call is refused for REASON; neither the pool nor the table changes.
#define EXPECT_POOL_REFUSES(world, call, reason)                                                   \
    do {                                                                                           \
        const struct tau_frames before = (world)->pool;                                            \
        uint32_t links[8];                                                                         \
        REQUIRE((world)->frames_count <= 8);                                                       \
        memcpy(links, (world)->links, (world)->frames_count * sizeof *links);                      \
        EXPECT_EQUAL((call), (reason));                                                            \
        EXPECT(memcmp(links, (world)->links, (world)->frames_count * sizeof *links) == 0);         \
        EXPECT(memcmp(&before, &(world)->pool, sizeof before) == 0);                               \
    } while (0)

TEST_CASE(init_refuses_memory_that_is_not_a_table) {
    uint32_t links[1] = {7};
    struct tau_frames pool;
    memset(&pool, 0x5a, sizeof pool);
    const struct tau_frames before = pool;
    EXPECT_EQUAL(tau_frames_init(&pool, NULL, 1, NULL), TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(tau_frames_init(&pool, links, 0, NULL), TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(tau_frames_init(&pool, links, TAU_FRAMES_MAX + 1, NULL), TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(tau_frames_init(&pool, links, UINT32_MAX, NULL), TAU_BAD_ARGUMENT);
    EXPECT(memcmp(&pool, &before, sizeof pool) == 0 && links[0] == 7);
    EXPECT_EQUAL(tau_frames_init(&pool, links, 1, NULL), TAU_OK);
    EXPECT_EQUAL(tau_frames_free_count(&pool), 0);
    EXPECT(!tau_frames_clean_one(&pool));
}

TEST_CASE(a_pool_may_be_ready_at_once) {
    uint32_t links[5] = {9, 9, 9, 9, 9};
    struct tau_frames pool;
    memset(&pool, 0x5a, sizeof pool);
    EXPECT_EQUAL(tau_frames_init_ready(&pool, links, 4), TAU_OK);
    EXPECT_EQUAL(links[4], 9);
    expect_list(&pool, &pool.ready, "0 1 2 3");
    EXPECT_EQUAL(tau_frames_free_count(&pool), 4);
    EXPECT_EQUAL(tau_frames_add(&pool, (struct tau_frame){0}, 1), TAU_BAD_ARGUMENT);
    uint32_t frame = 9;
    EXPECT(frames_take_clean(&pool, &frame) && frame == 0);
    frames_release(&pool, frame, frame, 1);
    expect_list(&pool, &pool.ready, "0 1 2 3");
}

TEST_CASE(frames_are_handed_in_once) {
    struct world world;
    world_open(&world, 8);
    EXPECT_EQUAL(tau_frames_add(&world.pool, (struct tau_frame){2}, 3), TAU_OK);
    expect_list(&world.pool, &world.pool.dirty, "2 3 4");
    EXPECT_POOL_REFUSES(&world, tau_frames_add(&world.pool, (struct tau_frame){2}, 1),
                        TAU_FRAME_TWICE);
    EXPECT_POOL_REFUSES(&world, tau_frames_add(&world.pool, (struct tau_frame){0}, 8),
                        TAU_FRAME_TWICE);
    EXPECT_POOL_REFUSES(&world, tau_frames_add(&world.pool, (struct tau_frame){4}, 2),
                        TAU_FRAME_TWICE);
    EXPECT_POOL_REFUSES(&world, tau_frames_add(&world.pool, (struct tau_frame){6}, 0),
                        TAU_BAD_ARGUMENT);
    EXPECT_POOL_REFUSES(&world, tau_frames_add(&world.pool, (struct tau_frame){7}, 2),
                        TAU_FRAME_OUTSIDE);
    EXPECT_POOL_REFUSES(&world, tau_frames_add(&world.pool, (struct tau_frame){8}, 1),
                        TAU_FRAME_OUTSIDE);
    EXPECT_POOL_REFUSES(&world, tau_frames_add(&world.pool, (struct tau_frame){5}, UINT32_MAX),
                        TAU_FRAME_OUTSIDE);
    EXPECT_EQUAL(tau_frames_add(&world.pool, (struct tau_frame){5}, 3), TAU_OK);
    expect_list(&world.pool, &world.pool.dirty, "5 6 7 2 3 4");
    // A frame that is in use was handed in, too, whatever list it left.
    uint32_t frame = 0;
    EXPECT(frames_take_clean(&world.pool, &frame) && frame == 5);
    EXPECT_POOL_REFUSES(&world, tau_frames_add(&world.pool, (struct tau_frame){5}, 1),
                        TAU_FRAME_TWICE);
    world_close(&world);
}

TEST_CASE(one_frame_is_zeroed_at_a_time) {
    struct world world;
    world_open(&world, 4);
    EXPECT_EQUAL(tau_frames_add(&world.pool, (struct tau_frame){0}, 4), TAU_OK);
    EXPECT(tau_frames_clean_one(&world.pool));
    EXPECT(tau_frames_clean_one(&world.pool));
    expect_list(&world.pool, &world.pool.ready, "1 0");
    expect_list(&world.pool, &world.pool.dirty, "2 3");
    EXPECT(world_is_zero(&world, 0) && world_is_zero(&world, 1));
    EXPECT_EQUAL(world_bytes(&world, 2)[0], 0xc3);
    EXPECT_EQUAL(world_bytes(&world, 2)[TAU_PAGE_BYTES - 1], 0xc3);
    EXPECT(tau_frames_clean_one(&world.pool) && tau_frames_clean_one(&world.pool));
    EXPECT(!tau_frames_clean_one(&world.pool));
    EXPECT_EQUAL(tau_frames_free_count(&world.pool), 4);
    world_close(&world);
}

TEST_CASE(a_chain_goes_on_in_one_piece) {
    struct world world;
    uint32_t frame = 0;
    world_open(&world, 6);
    EXPECT_EQUAL(tau_frames_add(&world.pool, (struct tau_frame){0}, 6), TAU_OK);
    for (unsigned i = 0; i < 4; i++) {
        EXPECT(frames_take_clean(&world.pool, &frame));
        EXPECT_EQUAL(frame, i);
        world.links[frame] = frame - 1;  // as map_page links a region's frames, newest first
    }
    world.links[0] = 0;
    frames_release(&world.pool, 3, 1, 3);
    expect_list(&world.pool, &world.pool.dirty, "3 2 1 4 5");
    frames_release(&world.pool, 0, 0, 1);
    expect_list(&world.pool, &world.pool.dirty, "0 3 2 1 4 5");
    world_close(&world);
}

TEST_CASE(a_reserved_pool_has_its_frames_or_is_refused) {
    struct world world;
    struct tau_frames reserved;
    memset(&reserved, 0x5a, sizeof reserved);
    const struct tau_frames untouched = reserved;
    world_open(&world, 6);
    EXPECT_EQUAL(tau_frames_add(&world.pool, (struct tau_frame){0}, 6), TAU_OK);
    EXPECT(tau_frames_clean_one(&world.pool));
    EXPECT_POOL_REFUSES(&world, tau_frames_reserve(&world.pool, &reserved, 7), TAU_NO_FRAME);
    EXPECT_POOL_REFUSES(&world, tau_frames_reserve(&world.pool, &reserved, UINT32_MAX),
                        TAU_NO_FRAME);
    EXPECT(memcmp(&reserved, &untouched, sizeof reserved) == 0);
    EXPECT_EQUAL(tau_frames_reserve(&world.pool, &reserved, 4), TAU_OK);
    expect_list(&reserved, &reserved.ready, "3 2 1 0");
    expect_list(&world.pool, &world.pool.dirty, "4 5");
    expect_list(&world.pool, &world.pool.ready, "");
    for (uint32_t frame = 0; frame < 4; frame++) {
        EXPECT(world_is_zero(&world, frame));
    }
    // What its space gives up is ready again, unzeroed: nobody else can see it.
    uint32_t frame = 0;
    EXPECT(frames_take_clean(&reserved, &frame) && frame == 3);
    memset(world_bytes(&world, 3), 0x77, TAU_PAGE_BYTES);
    frames_release(&reserved, 3, 3, 1);
    expect_list(&reserved, &reserved.ready, "3 2 1 0");
    EXPECT_EQUAL(world_bytes(&world, 3)[0], 0x77);
    // Its content is not zeroed, so it does not become part of another pool.
    struct tau_frames second;
    EXPECT_EQUAL(tau_frames_reserve(&reserved, &second, 1), TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(tau_frames_add(&reserved, (struct tau_frame){0}, 1), TAU_BAD_ARGUMENT);
    expect_list(&reserved, &reserved.ready, "3 2 1 0");
    // Given back to everybody, all of it is dirty.
    tau_frames_return(&world.pool, &reserved);
    expect_list(&world.pool, &world.pool.dirty, "0 1 2 3 4 5");
    EXPECT_EQUAL(tau_frames_free_count(&reserved), 0);
    EXPECT_EQUAL(tau_frames_reserve(&world.pool, &reserved, 0), TAU_OK);
    EXPECT_EQUAL(tau_frames_free_count(&reserved), 0);
    world_close(&world);
}

TEST_CASE(a_machine_may_zero_by_itself) {
    uint32_t links[2];
    struct tau_frames pool;
    EXPECT_EQUAL(tau_frames_init(&pool, links, 2, NULL), TAU_OK);
    EXPECT_EQUAL(tau_frames_add(&pool, (struct tau_frame){0}, 2), TAU_OK);
    EXPECT(tau_frames_clean_one(&pool));
    EXPECT_EQUAL(check_frames(&pool, NULL), 0);
}

TEST_CASE(the_self_test_sees_a_broken_pool) {
    struct world world;
    world_open(&world, 4);
    EXPECT_EQUAL(tau_frames_add(&world.pool, (struct tau_frame){0}, 4), TAU_OK);
    struct tau_frames *const pool = &world.pool;
    EXPECT(tau_frames_invariants_hold(pool));
    pool->dirty.count = 5;
    EXPECT(!tau_frames_invariants_hold(pool));
    EXPECT_EQUAL(check_frames(pool, NULL), 1);
    pool->dirty.count = 4;
    pool->dirty.head = 4;
    EXPECT(!tau_frames_invariants_hold(pool));
    EXPECT_EQUAL(check_frames(pool, NULL), 1);
    pool->dirty.head = 0;
    pool->released = NULL;
    EXPECT(!tau_frames_invariants_hold(pool));
    EXPECT_EQUAL(check_frames(pool, NULL), 4);
    pool->released = &pool->dirty;
    world.links[2] = 1;  // a circle
    EXPECT_EQUAL(check_frames(pool, NULL), 2);
    world.links[2] = 3;
    EXPECT(tau_frames_clean_one(pool));
    world_bytes(&world, 0)[TAU_PAGE_BYTES - 1] = 1;
    EXPECT_EQUAL(check_frames(pool, NULL), 3);
    world_close(&world);
}
