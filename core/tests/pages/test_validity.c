// Goal: the pages validity array tells mapped from unmapped pages in memory of any content, of
// which only sp was initialized. It covers the paper's Fig. 1 and the four cases of Lemma 1 [P0-13
// … P0-15, P0-22 … P0-26]. Method: tables are written by hand as the case requires, and all other
// memory is random. The MMU's lookup and the fault after it are compared with the case's answer.
#include "core/private/pages/vspace_inline.h"
#include "core/tests/pages/vspace_world.h"

enum { LOG2 = 5, PAGES = 1 << LOG2, FRAMES = 24, ROUNDS = 200 };

// A space on tables of which each word is anything, numbers of pages being the most frequent.
static void open_hostile(struct world *world, struct world_space *made, unsigned round) {
    world_open(world, FRAMES);
    EXPECT_EQUAL(tau_frames_add(&world->pool, (struct tau_frame){0}, FRAMES), TAU_OK);
    space_open(made, LOG2, round % 4 == 0 ? UINT64_C(1) << 32 : PAGES, &world->pool,
               TAU_VSPACE_OVERCOMMIT);
}

static void close_hostile(struct world *world, struct world_space *made) {
    space_close(made);
    world_close(world);
}

static void map_region(struct world_space *made, uint32_t start, uint32_t pages) {
    EXPECT_EQUAL(tau_vspace_map_region(&made->space, page_at(start), pages, TAU_RIGHTS), TAU_OK);
}

static void map_page(struct world_space *made, uint32_t page) {
    EXPECT_EQUAL(tau_vspace_map_page(&made->space, page_at(page), TAU_READ), TAU_OK);
}

// PAGE of the region at START faults, whatever its cell of the cache says; the fault maps it and
// puts the cache right.
static void expect_fault(struct world_space *made, uint32_t start, uint32_t page) {
    uint32_t entry;
    struct tau_validity *const validity = &made->space.validity;
    EXPECT(!tau_validity_lookup(validity, page_at(page), &entry));
    EXPECT_EQUAL(check_vspace(&made->space, NULL), 0);
    map_page(made, page);
    EXPECT(tau_validity_lookup(validity, page_at(page), &entry));
    EXPECT_EQUAL(validity->regions[page].cache, start);
    EXPECT_EQUAL(check_vspace(&made->space, NULL), 0);
}

// [P0-14] Fig. 1, laid from page 1 on: its index i is page 1 + i.
TEST_CASE(fig_1) {
    struct world world;
    struct world_space made;
    open_hostile(&world, &made, 1);
    struct tau_validity *const validity = &made.space.validity;
    map_region(&made, 1, 8);
    map_page(&made, 1 + 2);
    map_page(&made, 1 + 6);
    EXPECT_EQUAL(validity->stacks[1 + 2].helper, 1 + 0);
    EXPECT_EQUAL(validity->stacks[1 + 0].page, 1 + 2);
    EXPECT_EQUAL(validity->stacks[1 + 6].helper, 1 + 1);
    EXPECT_EQUAL(validity->stacks[1 + 1].page, 1 + 6);
    EXPECT_EQUAL(validity_sp(validity->regions[1].top), 1 + 1);
    // s[h[4]] = 4 by accident, the cache is right by accident, but sp = 1.
    validity->stacks[1 + 4].helper = 1 + 3;
    validity->stacks[1 + 3].page = 1 + 4;
    validity->regions[1 + 4].cache = 1;
    validity->data[1 + 4] = 5 | TAU_RIGHTS;
    for (uint32_t i = 0; i < 8; i++) {
        EXPECT_EQUAL(frame_behind(&made.space, 1 + i) != UINT32_MAX, i == 2 || i == 6);
    }
    expect_fault(&made, 1, 1 + 4);
    close_hostile(&world, &made);
}

// [P0-25] Case 1: c[b] > b. Never a start of b's region; the table is not even asked.
TEST_CASE(lemma_1_case_1) {
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct world world;
        struct world_space made;
        open_hostile(&world, &made, round);
        struct tau_validity *const validity = &made.space.validity;
        const uint32_t page = 2 + (uint32_t)test_random_below(4);
        map_region(&made, 2, 4);
        map_region(&made, 8, 8);
        for (uint32_t other = 8; other < 12; other++) {
            map_page(&made, other);
        }
        // A live region above, its whole stack in reach; a start that is none; no page at all.
        const uint32_t above[] = {8, page + 1, PAGES - 1, PAGES, UINT32_MAX, UINT32_C(1) << 31};
        validity->regions[page].cache = above[round % 6];
        validity->stacks[page].helper = 8 + (uint32_t)test_random_below(4);
        expect_fault(&made, 2, page);
        close_hostile(&world, &made);
    }
}

// Case 2.1: c[b] <= b and the stack at c[b] is empty. Right by chance or outdated, it is a fault.
TEST_CASE(lemma_1_case_2_1) {
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct world world;
        struct world_space made;
        open_hostile(&world, &made, round);
        struct tau_validity *const validity = &made.space.validity;
        map_region(&made, 4, 4);
        map_region(&made, 8, 8);
        const uint32_t page = 8 + (uint32_t)test_random_below(8);
        if (round % 3 == 0) {
            validity->regions[page].cache = 8;  // right, before anything was mapped
        } else if (round % 3 == 1) {
            validity->regions[page].cache = 4;  // another region, empty
        } else {
            validity->regions[page].cache = 1 + (uint32_t)test_random_below(page - 1);
        }
        validity->stacks[page].helper = validity->regions[page].cache;
        validity->stacks[validity->stacks[page].helper].page = page;
        expect_fault(&made, 8, page);
        close_hostile(&world, &made);
    }
}

// Case 2.2.1: c[b] is the start of a live region before b's own. That stack holds no page of ours.
TEST_CASE(lemma_1_case_2_2_1) {
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct world world;
        struct world_space made;
        open_hostile(&world, &made, round);
        struct tau_validity *const validity = &made.space.validity;
        // Outdated as it happens: one region over both places, given up, then two.
        map_region(&made, 2, 12);
        const uint32_t page = 8 + (uint32_t)test_random_below(6);
        map_page(&made, 3);
        map_page(&made, page);
        EXPECT_EQUAL(tau_vspace_unmap_region(&made.space, page_at(2)), TAU_OK);
        map_region(&made, 2, 6);
        map_region(&made, 8, 6);
        for (uint32_t other = 2; other < 6; other++) {
            map_page(&made, other);
        }
        EXPECT_EQUAL(validity->regions[page].cache, 2);
        validity->stacks[page].helper = 2 + (uint32_t)test_random_below(4);
        expect_fault(&made, 8, page);
        close_hostile(&world, &made);
    }
}

// Case 2.2.2: c[b] is right, by chance or not; the initialization-free array decides.
TEST_CASE(lemma_1_case_2_2_2) {
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct world world;
        struct world_space made;
        open_hostile(&world, &made, round);
        struct tau_validity *const validity = &made.space.validity;
        map_region(&made, 8, 8);
        map_page(&made, 10);
        map_page(&made, 15);
        const uint32_t page = 11 + (uint32_t)test_random_below(4);
        validity->regions[page].cache = 8;
        if (round % 3 == 0) {
            validity->stacks[page].helper = 8 + round % 2;  // a place of another page
        } else if (round % 3 == 1) {
            validity->stacks[page].helper = 10 + round % 6;  // vouched for, but above sp
            validity->stacks[validity->stacks[page].helper].page = page;
        } else {
            validity->stacks[page].helper = 7;  // below the stack, in pages of nobody
            validity->stacks[7].page = page;
        }
        expect_fault(&made, 8, page);
        EXPECT(frame_behind(&made.space, 10) != UINT32_MAX);
        close_hostile(&world, &made);
    }
}

// [P0-26] Page 0 is never mapped, whatever its entries say.
TEST_CASE(page_0_is_never_mapped) {
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct world world;
        struct world_space made;
        uint32_t entry;
        open_hostile(&world, &made, round);
        map_region(&made, 1, PAGES - 1);
        map_page(&made, 1 + (uint32_t)test_random_below(PAGES - 1));
        made.space.validity.regions[0].cache = round % 2;
        EXPECT(!tau_validity_lookup(&made.space.validity, page_at(0), &entry));
        close_hostile(&world, &made);
    }
}

// Five words a page [P0-20]; sp is the only array that init touches.
TEST_CASE(init_writes_sp_alone) {
    enum { COUNT = 40 };
    uint32_t memory[5 * COUNT];
    struct tau_validity validity;
    memset(memory, 0x5a, sizeof memory);
    EXPECT_EQUAL(tau_validity_size_bytes(COUNT), sizeof memory);
    EXPECT_EQUAL(tau_validity_init(&validity, memory, sizeof memory, COUNT), TAU_OK);
    size_t touched = 0;
    for (size_t i = 0; i < 5 * COUNT; i++) {
        touched += memory[i] != 0x5a5a5a5a;
    }
    EXPECT_EQUAL(touched, COUNT);
    for (uint32_t page = 0; page < COUNT; page++) {
        uint32_t entry;
        EXPECT_EQUAL(validity.regions[page].top, 0);
        EXPECT(!tau_validity_lookup(&validity, page_at(page), &entry));
    }
    uint32_t entry;
    EXPECT(!tau_validity_lookup(&validity, page_at(COUNT), &entry));
    EXPECT(!tau_validity_lookup(&validity, page_at(UINT32_MAX), &entry));
}

TEST_CASE(init_refuses_what_is_not_memory) {
    uint32_t memory[10] = {0};
    struct tau_validity validity;
    EXPECT_EQUAL(tau_validity_init(&validity, NULL, sizeof memory, 2), TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(tau_validity_init(&validity, (unsigned char *)memory + 2, sizeof memory, 1),
                 TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(tau_validity_init(&validity, memory, sizeof memory, 0), TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(tau_validity_init(&validity, memory, sizeof memory - 1, 2), TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(tau_validity_init(&validity, memory, SIZE_MAX, UINT32_MAX), TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(tau_validity_init(&validity, memory, sizeof memory, 2), TAU_OK);
}
