// Goal: the full walks see each broken invariant. Method: a sound space, one word of it changed,
// and the number of the invariant that the walk must answer.
#include "core/private/pages/vspace_inline.h"
#include "core/tests/pages/vspace_world.h"

enum { LOG2 = 5, PAGES = 1 << LOG2 };

static struct world world;
static struct world_space made;
static struct tau_validity *validity;

// Regions [4, 10) with the pages 6, 4, 9 mapped and [20, 24) with none; free around them.
static void begin(void) {
    world_open(&world, 8);
    EXPECT_EQUAL(tau_frames_add(&world.pool, (struct tau_frame){0}, 8), TAU_OK);
    space_open(&made, LOG2, PAGES, &world.pool, TAU_VSPACE_OVERCOMMIT);
    validity = &made.space.validity;
    EXPECT_EQUAL(tau_vspace_map_region(&made.space, page_at(4), 6, TAU_RIGHTS), TAU_OK);
    EXPECT_EQUAL(tau_vspace_map_region(&made.space, page_at(20), 4, TAU_RIGHTS), TAU_OK);
    const uint32_t pages[] = {6, 4, 9};
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        EXPECT_EQUAL(tau_vspace_map_page(&made.space, page_at(pages[i]), TAU_READ), TAU_OK);
    }
    EXPECT_EQUAL(check_vspace(&made.space, NULL), 0);
}

static void end(void) {
    free(made.tables);
    world_close(&world);
}

// CHANGE to a sound space breaks invariant NUMBER, as check_vspace counts.
#define BREAKS(change, number)                                                                     \
    do {                                                                                           \
        begin();                                                                                   \
        change;                                                                                    \
        EXPECT_EQUAL(check_vspace(&made.space, NULL), (number));                                   \
        end();                                                                                     \
    } while (0)

TEST_CASE(each_broken_invariant_of_the_space_is_seen) {
    BREAKS(region_tree_union(&made.space.tree, page_at(0)), 1);
    BREAKS(validity->regions[0].top = VALIDITY_OPEN, 1);
    BREAKS(region_tree_split(&made.space.tree, page_at(2)), 2);
    BREAKS(validity->regions[20].top = 19 | VALIDITY_FREE, 2);
    BREAKS(made.space.mapped_pages = 2, 4);
    BREAKS(made.space.committed_pages = 11, 5);
    BREAKS(made.space.commit_max_pages = 9, 7);
    BREAKS((made.space.commit_max_pages = 10, world.pool.dirty.count = 4), 6);
}

TEST_CASE(each_broken_invariant_of_the_arrays_is_seen) {
    BREAKS(validity->regions[5].top = 5, 101);
    BREAKS(validity->regions[15].top = 17, 101);
    BREAKS(validity->regions[20].top += 4, 103);
    BREAKS(validity->regions[20].top -= 1, 102);
    BREAKS(validity->stacks[5].page = 6, 103);
    BREAKS(validity->stacks[5].page = 10, 103);
    BREAKS(validity->stacks[4].helper = 4, 104);
    BREAKS(validity->regions[9].cache = 5, 104);
    BREAKS(validity->data[9] = 2 | TAU_READ, 105);
    BREAKS(validity->data[9] = 8 | TAU_RIGHTS, 105);
    BREAKS(world.links[1] = 2, 106);
    BREAKS(validity->regions[4].top ^= VALIDITY_HEAP_OPEN ^ VALIDITY_OPEN, 107);
    BREAKS(validity->regions[4].top ^= VALIDITY_HEAP_HEAD ^ VALIDITY_OPEN, 107);
}

// A free region with a stack: the page would still be translated after its frame went back.
TEST_CASE(a_stack_that_outlives_its_region_is_seen) {
    begin();
    const uint32_t top = validity->regions[4].top;
    EXPECT_EQUAL(tau_vspace_unmap_region(&made.space, page_at(4)), TAU_OK);
    validity->regions[4].top = top;
    EXPECT_EQUAL(check_vspace(&made.space, NULL), 101);
    end();
}

TEST_CASE(a_frame_in_two_places_is_seen) {
    unsigned char places[8] = {0};
    begin();
    frames_splice(&world.pool, &world.pool.dirty, 0, 0, 1);  // which is mapped at page 6
    EXPECT_EQUAL(check_frames(&world.pool, places), 0);
    (void)check_vspace(&made.space, places);
    EXPECT_EQUAL(places[0], 2);
    end();
}
