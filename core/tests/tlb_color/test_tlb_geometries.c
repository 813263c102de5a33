// Goal: no page that is handed out has an entry outside its owner's sets, in any small geometry.
// Method: every geometry of an array of 4 sets and one of 2, with all independent rows over page
// numbers of 4 bits and over directory entries of 4 pages; all choices of sets; each page of the
// window. Two owners of the halves of the sets have no page in common.
#include "core/tests/tlb_color/color_world.h"

enum { BITS = 4, WINDOW_PAGES = 1 << BITS, NUMBERS = 1 << BITS };

static size_t heaps_count;

static void expect_heap(uint32_t owned, uint32_t owned_small) {
    world.owned[0][0] = owned;
    world.owned[0][1] = owned_small;
    const uint32_t room = world_room(0);
    EXPECT_EQUAL(world_init(0, room + 1, TAU_TLB_COLOR_ISOLATED), TAU_WINDOW_FULL);
    for (uint32_t pages = room > 3 ? room - 1 : 1; pages <= room; pages++) {
        EXPECT_EQUAL(world_init(0, pages, TAU_TLB_COLOR_ISOLATED), TAU_OK);
        world_expect_runs(0, pages);
        heaps_count++;
    }
}

static void expect_geometry(void) {
    world_connect(2, 3, 1);
    REQUIRE(tau_tlb_color_check(&world.partition) == TAU_OK);
    for (uint32_t owned = 1; owned < 16; owned++) {
        for (uint32_t owned_small = 1; owned_small < 4; owned_small++) {
            expect_heap(owned, owned_small);
        }
    }
    for (uintptr_t page = 0; page < WINDOW_PAGES; page++) {
        const uintptr_t address = world.windows[0].start + page * PAGE_BYTES;
        world.owned[0][0] = 3;
        world.owned[1][0] = 12;
        world.owned[0][1] = world.owned[1][1] = 3;
        EXPECT(!(world_owns(0, address) && world_owns(1, address)));
    }
}

TEST_CASE(every_small_geometry) {
    world.windows[0] =
        (struct tau_tlb_color_window){world_start, PAGE_LOG2 + BITS, PAGE_LOG2, 0, 0};
    world.arrays[0] = (struct tau_tlb_color_array){4, 4, 4};
    world.arrays[1] = (struct tau_tlb_color_array){2, 4, 4};
    world.structures[0] = (struct tau_tlb_color_structure){.page_log2 = PAGE_LOG2, .array = 0};
    world.structures[1] = (struct tau_tlb_color_structure){.page_log2 = PAGE_LOG2, .array = 1};
    world.structures[2] = (struct tau_tlb_color_structure){
        .role = TAU_TLB_COLOR_DIRECTORY, .page_log2 = PAGE_LOG2 + 2, .array = 0, .constant = 2};
    for (unsigned rows = 0; rows < NUMBERS * NUMBERS && test_failures_count == 0; rows++) {
        const unsigned low = rows % NUMBERS;
        const unsigned high = rows / NUMBERS;
        if (low == 0 || high == 0 || low == high) {
            continue;
        }
        for (unsigned other = 1; other < NUMBERS; other++) {
            for (unsigned directory = 0; directory < 6; directory++) {
                static const uint8_t pairs[6][2] = {{4, 8},  {8, 4},  {4, 12},
                                                    {12, 4}, {8, 12}, {12, 8}};
                world.rows[0][0] = low;
                world.rows[0][1] = high;
                world.rows[1][0] = other;
                world.rows[2][0] = pairs[directory][0];
                world.rows[2][1] = pairs[directory][1];
                world.structures[0].constant = rows % 4;
                expect_geometry();
            }
        }
    }
    printf("%zu heaps\n", heaps_count);
}
