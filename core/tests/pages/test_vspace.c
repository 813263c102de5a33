// Goal: the contract of address spaces in vspace.h: what each call does, each reason for which it
// is refused, and that a refused call changes nothing. Method: examples worked out by hand on small
// machines; what calls do in combination is fuzz_vspace.c and explore_vspace.c.
#include "core/tests/pages/vspace_world.h"

enum { LOG2 = 6, PAGES = 1 << LOG2, ANY = PAGES };
// The upper levels of a region tree have the size of the largest that a build allows.
enum { UPPER_WORDS_MAX = 4096 };

static struct world world;
static struct world_space made;
static struct tau_vspace *const space = &made.space;

static void begin(uint32_t frames_count) {
    world_open(&world, frames_count);
    EXPECT_EQUAL(tau_frames_add(&world.pool, (struct tau_frame){0}, frames_count), TAU_OK);
    space_open(&made, LOG2, ANY, &world.pool, TAU_VSPACE_OVERCOMMIT);
}

static void end(void) {
    space_close(&made);
    EXPECT_EQUAL(tau_frames_free_count(&world.pool), world.frames_count);
    EXPECT_EQUAL(check_frames(&world.pool, NULL), 0);
    world_close(&world);
}

static enum tau_status map_region(uint32_t start, uint32_t pages) {
    return tau_vspace_map_region(space, page_at(start), pages, TAU_RIGHTS);
}

static enum tau_status map_page(uint32_t page) {
    return tau_vspace_map_page(space, page_at(page), TAU_WRITE);
}

static enum tau_status unmap_region(uint32_t start) {
    return tau_vspace_unmap_region(space, page_at(start));
}

#define REFUSED(call, reason) EXPECT_REFUSED(&world, &made, (call), (reason))

// ---- Making a space ----------------------------------------------------------------------------

TEST_CASE(sizes_out_of_range_are_refused) {
    uint32_t memory[4096] = {0};
    struct tau_vspace fresh;
    begin(1);
    memset(&fresh, 0x5a, sizeof fresh);
    const struct tau_vspace untouched = fresh;
    const unsigned too_large[] = {TAU_SPACE_PAGES_LOG2_MAX + 1, 27, 31, 32, 36, 64, 4000000000u};
    for (size_t i = 0; i < sizeof too_large / sizeof *too_large; i++) {
        EXPECT_EQUAL(tau_vspace_size_bytes(too_large[i]), 0);
        EXPECT_EQUAL(tau_vspace_init(&fresh, memory, SIZE_MAX, too_large[i], &world.pool,
                                     TAU_VSPACE_OVERCOMMIT),
                     TAU_SPACE_TOO_LARGE);
    }
    EXPECT_EQUAL(tau_vspace_size_bytes(0), 0);  // one page, which would be page 0
    EXPECT_EQUAL(
        tau_vspace_init(&fresh, memory, sizeof memory, 0, &world.pool, TAU_VSPACE_OVERCOMMIT),
        TAU_SPACE_TOO_SMALL);
    const size_t bytes = tau_vspace_size_bytes(1);
    REQUIRE(bytes > 0 && bytes <= sizeof memory - 4);
    EXPECT_EQUAL(tau_vspace_init(&fresh, memory, bytes - 1, 1, &world.pool, TAU_VSPACE_OVERCOMMIT),
                 TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(tau_vspace_init(&fresh, NULL, bytes, 1, &world.pool, TAU_VSPACE_OVERCOMMIT),
                 TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(tau_vspace_init(&fresh, (unsigned char *)memory + 1, bytes, 1, &world.pool,
                                 TAU_VSPACE_OVERCOMMIT),
                 TAU_BAD_ARGUMENT);
    // A pool that others take from cannot keep a promise [P0-45].
    EXPECT_EQUAL(tau_vspace_init(&fresh, memory, bytes, 1, &world.pool, TAU_VSPACE_COMMIT),
                 TAU_BAD_ARGUMENT);
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) {
        EXPECT_EQUAL(memory[i], 0);
    }
    EXPECT(memcmp(&fresh, &untouched, sizeof fresh) == 0);
    end();
}

// [P0-20, G-5] Five words a page and the tree; nothing else grows with the space.
TEST_CASE(tables_may_lie_apart) {
    static struct tau_validity_region regions[PAGES + 1];
    static struct tau_validity_stack stacks[PAGES + 1];
    static uint32_t data[PAGES + 1], tree[PAGES + UPPER_WORDS_MAX];
    static struct tau_vspace apart;
    const size_t tree_bytes = tau_region_tree_size_bytes(LOG2);
    struct tau_vspace_tables tables = {regions, stacks, data, tree, tree_bytes - 1};
    memset(regions, 0x5a, sizeof regions);
    begin(4);
    REQUIRE(tree_bytes <= sizeof tree);
    EXPECT_EQUAL(tau_vspace_init_at(&apart, &tables, LOG2, &world.pool), TAU_BAD_ARGUMENT);
    tables.tree_bytes = tree_bytes;
    EXPECT_EQUAL(tau_vspace_init_at(&apart, &tables, LOG2, &world.pool), TAU_OK);
    EXPECT_EQUAL(check_vspace(&apart, NULL), 0);
    EXPECT_EQUAL(tau_vspace_map_region(&apart, page_at(3), PAGES - 3, TAU_RIGHTS), TAU_OK);
    EXPECT_EQUAL(tau_vspace_map_page(&apart, page_at(PAGES - 1), TAU_WRITE), TAU_OK);
    EXPECT_EQUAL(check_vspace(&apart, NULL), 0);
    EXPECT_EQUAL(regions[PAGES - 1].cache, 3);
    EXPECT_EQUAL(stacks[3].page, PAGES - 1);
    EXPECT_EQUAL(data[PAGES - 1] & TAU_RIGHTS, TAU_RIGHTS);
    EXPECT(regions[PAGES].top == 0x5a5a5a5a && stacks[PAGES].page == 0 && data[PAGES] == 0);
    EXPECT_EQUAL(tau_vspace_unmap_region(&apart, page_at(3)), TAU_OK);
    end();
}

TEST_CASE(every_size_has_its_bytes) {
    for (unsigned log2 = 1; log2 <= TAU_SPACE_PAGES_LOG2_MAX; log2++) {
        EXPECT_EQUAL(tau_vspace_size_bytes(log2), tau_validity_size_bytes(UINT32_C(1) << log2) +
                                                      tau_region_tree_size_bytes(log2));
    }
}

TEST_CASE(the_smallest_space_has_one_page) {
    begin(2);
    space_close(&made);
    space_open(&made, 1, ANY, &world.pool, TAU_VSPACE_OVERCOMMIT);
    REFUSED(map_region(1, 2), TAU_REGION_TOO_LARGE);
    REFUSED(map_region(2, 1), TAU_PAGE_OUTSIDE);
    EXPECT_EQUAL(map_region(1, 1), TAU_OK);
    EXPECT_EQUAL(map_page(1), TAU_OK);
    EXPECT_EQUAL(frame_behind(space, 1), 0);
    EXPECT_EQUAL(unmap_region(1), TAU_OK);
    EXPECT_EQUAL(frame_behind(space, 1), UINT32_MAX);
    end();
}

// ---- Regions -----------------------------------------------------------------------------------

TEST_CASE(bad_regions_are_refused) {
    begin(4);
    EXPECT_EQUAL(map_region(10, 5), TAU_OK);
    EXPECT_EQUAL(map_page(12), TAU_OK);
    REFUSED(map_region(20, 0), TAU_BAD_ARGUMENT);
    REFUSED(map_region(0, 0), TAU_BAD_ARGUMENT);
    const uint32_t rights[] = {1, UINT32_C(1) << 26, UINT32_C(1) << 30, UINT32_C(1) << 31,
                               UINT32_MAX};
    for (size_t i = 0; i < sizeof rights / sizeof *rights; i++) {
        REFUSED(tau_vspace_map_region(space, page_at(20), 1, rights[i]), TAU_BAD_ARGUMENT);
    }
    REFUSED(map_region(0, 1), TAU_PAGE_ZERO);
    REFUSED(map_region(0, UINT32_MAX), TAU_PAGE_ZERO);
    REFUSED(map_region(PAGES, 1), TAU_PAGE_OUTSIDE);
    REFUSED(map_region(UINT32_MAX, UINT32_MAX), TAU_PAGE_OUTSIDE);
    REFUSED(map_region(1, PAGES), TAU_REGION_TOO_LARGE);
    REFUSED(map_region(20, UINT32_MAX), TAU_REGION_TOO_LARGE);  // the sum goes round
    REFUSED(map_region(20, UINT32_MAX - 19), TAU_REGION_TOO_LARGE);
    REFUSED(map_region(PAGES - 1, 2), TAU_REGION_TOO_LARGE);
    // Over a mapped region in every way [G-2].
    for (uint32_t start = 9; start <= 15; start++) {
        for (uint32_t pages = 1; pages <= 7; pages++) {
            if (start + pages > 10 && start < 15) {
                REFUSED(map_region(start, pages), TAU_REGION_OVERLAPS);
            }
        }
    }
    REFUSED(map_region(1, PAGES - 1), TAU_REGION_OVERLAPS);
    end();
}

TEST_CASE(regions_that_touch_are_two) {
    begin(8);
    EXPECT_EQUAL(map_region(10, 5), TAU_OK);
    EXPECT_EQUAL(map_region(15, 5), TAU_OK);
    EXPECT_EQUAL(map_region(5, 5), TAU_OK);
    for (uint32_t page = 9; page <= 15; page++) {
        EXPECT_EQUAL(map_page(page), TAU_OK);
    }
    EXPECT_EQUAL(unmap_region(10), TAU_OK);
    for (uint32_t page = 9; page <= 15; page++) {
        EXPECT_EQUAL(frame_behind(space, page) != UINT32_MAX, page == 9 || page == 15);
    }
    EXPECT_EQUAL(space->mapped_pages, 2);
    EXPECT_EQUAL(space->committed_pages, 10);
    EXPECT_EQUAL(map_region(11, 3), TAU_OK);  // anywhere in the free part
    EXPECT_EQUAL(check_vspace(space, NULL), 0);
    end();
}

// Free neighbors unite, so that a region may be made over what several left; the whole space too.
TEST_CASE(free_regions_unite) {
    for (unsigned order = 0; order < 6; order++) {
        static const uint32_t orders[6][3] = {{1, 20, 40}, {1, 40, 20}, {20, 1, 40},
                                              {20, 40, 1}, {40, 1, 20}, {40, 20, 1}};
        begin(8);
        EXPECT_EQUAL(map_region(1, 19), TAU_OK);
        EXPECT_EQUAL(map_region(20, 20), TAU_OK);
        EXPECT_EQUAL(map_region(40, PAGES - 40), TAU_OK);
        for (unsigned i = 0; i < 3; i++) {
            EXPECT_EQUAL(map_page(orders[order][i]), TAU_OK);
            EXPECT_EQUAL(unmap_region(orders[order][i]), TAU_OK);
            EXPECT_EQUAL(check_vspace(space, NULL), 0);
        }
        EXPECT_EQUAL(map_region(1, PAGES - 1), TAU_OK);
        EXPECT_EQUAL(map_page(PAGES - 1), TAU_OK);
        end();
    }
}

TEST_CASE(what_starts_no_region_is_not_unmapped) {
    begin(4);
    EXPECT_EQUAL(map_region(10, 5), TAU_OK);
    EXPECT_EQUAL(map_page(10), TAU_OK);
    EXPECT_EQUAL(map_page(11), TAU_OK);
    REFUSED(unmap_region(0), TAU_PAGE_ZERO);
    REFUSED(unmap_region(PAGES), TAU_PAGE_OUTSIDE);
    REFUSED(unmap_region(UINT32_MAX), TAU_PAGE_OUTSIDE);
    const uint32_t none[] = {1, 9, 11, 14, 15, PAGES - 1};  // 15 starts a free region
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        REFUSED(unmap_region(none[i]), TAU_NOT_A_REGION);
    }
    EXPECT_EQUAL(unmap_region(10), TAU_OK);
    REFUSED(unmap_region(10), TAU_NOT_A_REGION);
    end();
}

// ---- Faults ------------------------------------------------------------------------------------

TEST_CASE(bad_faults_are_refused) {
    begin(4);
    EXPECT_EQUAL(tau_vspace_map_region(space, page_at(10), 5, TAU_READ), TAU_OK);
    EXPECT_EQUAL(tau_vspace_map_page(space, page_at(11), TAU_READ), TAU_OK);
    REFUSED(map_page(0), TAU_PAGE_ZERO);
    REFUSED(map_page(PAGES), TAU_PAGE_OUTSIDE);
    REFUSED(map_page(UINT32_MAX), TAU_PAGE_OUTSIDE);
    REFUSED(map_page(9), TAU_NOT_IN_REGION);
    REFUSED(map_page(15), TAU_NOT_IN_REGION);
    REFUSED(map_page(10), TAU_ACCESS_DENIED);
    REFUSED(map_page(11), TAU_ACCESS_DENIED);  // the first reason counts
    REFUSED(tau_vspace_map_page(space, page_at(10), TAU_READ | TAU_EXECUTE), TAU_ACCESS_DENIED);
    REFUSED(tau_vspace_map_page(space, page_at(10), UINT32_MAX), TAU_ACCESS_DENIED);
    REFUSED(tau_vspace_map_page(space, page_at(11), TAU_READ), TAU_PAGE_MAPPED);
    end();
}

TEST_CASE(rights_are_what_the_region_allows) {
    begin(8);
    for (uint32_t bits = 0; bits < 8; bits++) {
        EXPECT_EQUAL(tau_vspace_map_region(space, page_at(1 + bits), 1, bits * TAU_READ), TAU_OK);
        for (uint32_t wish = 1; wish < 8; wish <<= 1) {
            struct tau_frame frame;
            const bool may = (bits & wish) != 0;
            EXPECT_EQUAL(tau_vspace_translate(space, page_at(1 + bits), wish * TAU_READ, &frame),
                         TAU_NOT_IN_REGION);
            if (!may) {
                REFUSED(tau_vspace_map_page(space, page_at(1 + bits), wish * TAU_READ),
                        TAU_ACCESS_DENIED);
            }
        }
        const uint32_t lowest = bits & (~bits + 1);
        if (bits != 0) {
            EXPECT_EQUAL(tau_vspace_map_page(space, page_at(1 + bits), lowest * TAU_READ), TAU_OK);
        }
        for (uint32_t wish = 1; bits != 0 && wish < 8; wish <<= 1) {
            struct tau_frame frame;
            EXPECT_EQUAL(tau_vspace_translate(space, page_at(1 + bits), wish * TAU_READ, &frame),
                         (bits & wish) != 0 ? TAU_OK : TAU_ACCESS_DENIED);
        }
    }
    end();
}

// [P0-10] The chain goes back newest first, so the next fault gets the newest frame.
TEST_CASE(frames_come_back_newest_first) {
    begin(6);
    EXPECT_EQUAL(map_region(10, 20), TAU_OK);
    const uint32_t order[] = {25, 10, 17, 12};
    for (unsigned i = 0; i < 4; i++) {
        EXPECT_EQUAL(map_page(order[i]), TAU_OK);
        EXPECT_EQUAL(frame_behind(space, order[i]), i);
    }
    EXPECT_EQUAL(unmap_region(10), TAU_OK);
    EXPECT_EQUAL(map_region(10, 20), TAU_OK);
    const uint32_t expected[] = {3, 2, 1, 0, 4, 5};
    for (unsigned i = 0; i < 6; i++) {
        EXPECT_EQUAL(map_page(29 - i), TAU_OK);
        EXPECT_EQUAL(frame_behind(space, 29 - i), expected[i]);
    }
    end();
}

TEST_CASE(the_last_frame_is_the_last) {
    begin(3);
    EXPECT_EQUAL(map_region(10, 20), TAU_OK);
    REFUSED(map_region(15, 2), TAU_REGION_OVERLAPS);
    for (uint32_t page = 10; page < 13; page++) {
        EXPECT_EQUAL(map_page(page), TAU_OK);
    }
    for (uint32_t page = 13; page < 30; page++) {
        REFUSED(map_page(page), TAU_NO_FRAME);
    }
    EXPECT_EQUAL(map_region(40, 1), TAU_OK);  // regions cost no frame
    REFUSED(map_page(40), TAU_NO_FRAME);
    EXPECT_EQUAL(unmap_region(10), TAU_OK);
    EXPECT_EQUAL(map_page(40), TAU_OK);
    end();
}

// Every page a region of its own: then no region is left, and each can be given back.
TEST_CASE(every_page_may_be_a_region) {
    begin(8);
    for (uint32_t page = 1; page < PAGES; page++) {
        EXPECT_EQUAL(map_region(page, 1), TAU_OK);
    }
    for (uint32_t page = 1; page < PAGES; page++) {
        REFUSED(map_region(page, 1), TAU_REGION_OVERLAPS);
    }
    EXPECT_EQUAL(space->committed_pages, PAGES - 1);
    for (uint32_t page = 1; page < PAGES; page += 2) {
        EXPECT_EQUAL(unmap_region(page), TAU_OK);
    }
    REFUSED(map_region(3, 2), TAU_REGION_OVERLAPS);
    for (uint32_t page = 2; page < PAGES; page += 2) {
        EXPECT_EQUAL(unmap_region(page), TAU_OK);
    }
    EXPECT_EQUAL(map_region(1, PAGES - 1), TAU_OK);
    end();
}

// ---- Several spaces ----------------------------------------------------------------------------

// [P0-3] What one space left in a frame, no other sees; and at most one page is zeroed a fault.
TEST_CASE(a_frame_is_zero_for_the_next_space) {
    struct world_space other;
    begin(2);
    space_open(&other, LOG2, ANY, &world.pool, TAU_VSPACE_OVERCOMMIT);
    EXPECT_EQUAL(map_region(10, 2), TAU_OK);
    EXPECT_EQUAL(tau_vspace_map_region(&other.space, page_at(10), 2, TAU_RIGHTS), TAU_OK);
    for (unsigned round = 0; round < 8; round++) {
        struct tau_vspace *const user = round % 2 == 0 ? space : &other.space;
        EXPECT_EQUAL(tau_vspace_map_page(user, page_at(10), TAU_WRITE), TAU_OK);
        const uint32_t frame = frame_behind(user, 10);
        EXPECT(world_is_zero(&world, frame));
        memset(world_bytes(&world, frame), 0x11, TAU_PAGE_BYTES);
        EXPECT_EQUAL(tau_vspace_unmap_region(user, page_at(10)), TAU_OK);
        EXPECT_EQUAL(world_bytes(&world, frame)[5], 0x11);  // not before it is taken again
        EXPECT_EQUAL(tau_vspace_map_region(user, page_at(10), 2, TAU_RIGHTS), TAU_OK);
        if (round >= 4) {
            EXPECT(tau_frames_clean_one(&world.pool));  // or while nobody waits
            EXPECT(world_is_zero(&world, frame));
        }
    }
    space_close(&other);
    end();
}

// [P0-45] Faults in admitted regions never fail; a region that cannot be guaranteed is refused.
TEST_CASE(committed_faults_never_fail) {
    struct world_space greedy;
    struct tau_frames reserved;
    world_open(&world, 12);
    EXPECT_EQUAL(tau_frames_add(&world.pool, (struct tau_frame){0}, 12), TAU_OK);
    EXPECT_EQUAL(tau_frames_reserve(&world.pool, &reserved, 8), TAU_OK);
    space_open(&made, LOG2, ANY, &reserved, TAU_VSPACE_COMMIT);
    space_open(&greedy, LOG2, ANY, &world.pool, TAU_VSPACE_OVERCOMMIT);
    EXPECT_EQUAL(tau_vspace_map_region(&greedy.space, page_at(1), PAGES - 1, TAU_RIGHTS), TAU_OK);
    REFUSED(map_region(1, 9), TAU_NOT_ADMITTED);
    EXPECT_EQUAL(map_region(1, 5), TAU_OK);
    REFUSED(map_region(10, 4), TAU_NOT_ADMITTED);
    REFUSED(map_region(3, 9), TAU_REGION_OVERLAPS);  // the first reason counts
    EXPECT_EQUAL(map_region(10, 3), TAU_OK);
    REFUSED(map_region(20, 1), TAU_NOT_ADMITTED);
    for (uint32_t page = 1; page < PAGES; page++) {
        const enum tau_status status = tau_vspace_map_page(&greedy.space, page_at(page), TAU_WRITE);
        EXPECT_EQUAL(status, page <= 4 ? TAU_OK : TAU_NO_FRAME);
    }
    for (unsigned round = 0; round < 3; round++) {
        for (uint32_t page = 1; page < 6; page++) {
            EXPECT_EQUAL(map_page(page), TAU_OK);
        }
        for (uint32_t page = 10; page < 13; page++) {
            EXPECT_EQUAL(map_page(page), TAU_OK);
        }
        EXPECT_EQUAL(tau_frames_free_count(&reserved), 0);
        EXPECT_EQUAL(check_vspace(space, NULL), 0);
        EXPECT_EQUAL(unmap_region(1), TAU_OK);
        EXPECT_EQUAL(unmap_region(10), TAU_OK);
        EXPECT_EQUAL(map_region(10, 3), TAU_OK);
        EXPECT_EQUAL(map_region(1, 5), TAU_OK);
    }
    space_close(&greedy);
    space_close(&made);
    tau_frames_return(&world.pool, &reserved);
    EXPECT_EQUAL(tau_frames_free_count(&world.pool), 12);
    EXPECT_EQUAL(check_frames(&world.pool, NULL), 0);
    world_close(&world);
}

TEST_CASE(closing_gives_everything_back) {
    unsigned char places[16] = {0};
    begin(16);
    EXPECT_EQUAL(map_region(1, 10), TAU_OK);
    EXPECT_EQUAL(map_region(11, 10), TAU_OK);
    EXPECT_EQUAL(map_region(40, PAGES - 40), TAU_OK);
    const uint32_t pages[] = {1, 10, 11, 12, 20, 40, PAGES - 1};
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        EXPECT_EQUAL(map_page(pages[i]), TAU_OK);
    }
    tau_vspace_close(space);
    EXPECT_EQUAL(check_frames(&world.pool, places), 0);
    EXPECT_EQUAL(check_vspace(space, places), 0);
    for (unsigned frame = 0; frame < 16; frame++) {
        EXPECT_EQUAL(places[frame], 1);
    }
    EXPECT_EQUAL(map_region(1, PAGES - 1), TAU_OK);
    end();
}
