// Goal: the plain page table keeps its contract at its edges. Method: examples with known answers,
// and misuse that must leave every byte alone [P0-12, P0-34, G-3].
#include "core/tests/checks/check_frames.h"
#include "core/tests/checks/check_pagetable.h"
#include "core/tests/kit/test.h"

enum { FRAMES = 128, LOG2 = 8, PAGES = 1 << LOG2 };

static uint32_t links[FRAMES];
static uint32_t memory[PAGES + PAGES / 32];

struct scene {
    struct tau_frames frames;
    struct tau_pagetable table;
};

static void open_scene(struct scene *scene, enum tau_pagetable_walk walk, uint32_t frames) {
    memset(memory, 0xff, sizeof memory);
    memset(links, 0xff, sizeof links);
    REQUIRE(tau_frames_init(&scene->frames, links, FRAMES, NULL) == TAU_OK);
    REQUIRE(tau_frames_add(&scene->frames, (struct tau_frame){0}, frames) == TAU_OK);
    REQUIRE(tau_pagetable_init(&scene->table, memory, tau_pagetable_size_bytes(LOG2, walk), LOG2,
                               &scene->frames, walk) == TAU_OK);
}

static void expect_sound(const struct scene *scene) {
    unsigned char places[FRAMES] = {0};
    EXPECT_EQUAL(check_pagetable(&scene->table, places), 0);
    EXPECT_EQUAL(check_frames(&scene->frames, places), 0);
}

static enum tau_status map_page(struct scene *scene, uint32_t page, uint32_t rights) {
    return tau_pagetable_map_page(&scene->table, (struct tau_page){page}, rights);
}

static enum tau_status unmap(struct scene *scene, uint32_t start, uint32_t pages) {
    return tau_pagetable_unmap(&scene->table, (struct tau_page){start}, pages);
}

static enum tau_pagetable_walk walk_of(int number) {
    return number == 0 ? TAU_PAGETABLE_RESERVED : TAU_PAGETABLE_MAPPED;
}

TEST_CASE(sizes) {
    EXPECT_EQUAL(tau_pagetable_size_bytes(20, TAU_PAGETABLE_RESERVED), 4 << 20);
    EXPECT_EQUAL(tau_pagetable_size_bytes(20, TAU_PAGETABLE_MAPPED), (4 << 20) + (1 << 17));
    EXPECT_EQUAL(tau_pagetable_size_bytes(1, TAU_PAGETABLE_MAPPED), 12);
    EXPECT_EQUAL(tau_pagetable_size_bytes(0, TAU_PAGETABLE_RESERVED), 0);
    EXPECT_EQUAL(tau_pagetable_size_bytes(TAU_SPACE_PAGES_LOG2_MAX + 1, TAU_PAGETABLE_RESERVED), 0);
}

TEST_CASE(bad_init) {
    struct scene scene;
    open_scene(&scene, TAU_PAGETABLE_MAPPED, FRAMES);
    struct tau_pagetable *const table = &scene.table;
    const struct tau_pagetable before = *table;
    const size_t bytes = tau_pagetable_size_bytes(LOG2, TAU_PAGETABLE_MAPPED);
    const enum tau_pagetable_walk walk = TAU_PAGETABLE_MAPPED;
    struct tau_frames *const frames = &scene.frames;
    EXPECT_EQUAL(tau_pagetable_init(table, memory, bytes, 0, frames, walk), TAU_SPACE_TOO_SMALL);
    EXPECT_EQUAL(tau_pagetable_init(table, memory, bytes, 36, frames, walk), TAU_SPACE_TOO_LARGE);
    EXPECT_EQUAL(tau_pagetable_init(table, NULL, bytes, LOG2, frames, walk), TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(tau_pagetable_init(table, memory, bytes, LOG2, NULL, walk), TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(tau_pagetable_init(table, memory, bytes - 1, LOG2, frames, walk),
                 TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(tau_pagetable_init(table, (char *)memory + 2, bytes, LOG2 - 1, frames, walk),
                 TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(tau_pagetable_init(table, memory, bytes, LOG2, frames, (enum tau_pagetable_walk)2),
                 TAU_BAD_ARGUMENT);
    EXPECT(memcmp(&before, table, sizeof before) == 0);
    expect_sound(&scene);
}

TEST_CASE(map_and_unmap) {
    for (int walk = 0; walk < 2; walk++) {
        struct scene scene;
        struct tau_frame frame = {0};
        open_scene(&scene, walk_of(walk), FRAMES);
        for (uint32_t page = 30; page < 100; page++) {
            EXPECT_EQUAL(map_page(&scene, page, TAU_READ | TAU_WRITE), TAU_OK);
        }
        expect_sound(&scene);
        EXPECT_EQUAL(tau_pagetable_translate(&scene.table, (struct tau_page){30}, TAU_READ, &frame),
                     TAU_OK);
        EXPECT_EQUAL(frame.number, 0);
        EXPECT_EQUAL(
            tau_pagetable_translate(&scene.table, (struct tau_page){30}, TAU_EXECUTE, &frame),
            TAU_ACCESS_DENIED);
        EXPECT_EQUAL(tau_pagetable_translate(&scene.table, (struct tau_page){29}, TAU_READ, &frame),
                     TAU_NOT_IN_REGION);
        EXPECT_EQUAL(unmap(&scene, 31, 68), TAU_OK);
        EXPECT_EQUAL(scene.table.mapped_pages, 2);
        EXPECT_EQUAL(scene.frames.dirty.head, 68);  // the last one walked
        expect_sound(&scene);
        EXPECT_EQUAL(unmap(&scene, 1, PAGES - 1), TAU_OK);
        EXPECT_EQUAL(scene.table.mapped_pages, 0);
        EXPECT_EQUAL(unmap(&scene, 1, 0), TAU_OK);
        expect_sound(&scene);
    }
}

TEST_CASE(misuse) {
    for (int walk = 0; walk < 2; walk++) {
        struct scene scene;
        open_scene(&scene, walk_of(walk), 2);
        EXPECT_EQUAL(map_page(&scene, 5, TAU_READ), TAU_OK);
        EXPECT_EQUAL(map_page(&scene, PAGES - 1, TAU_WRITE), TAU_OK);
        const struct scene before = scene;
        static uint32_t copy[PAGES + PAGES / 32];
        memcpy(copy, memory, sizeof copy);
        EXPECT_EQUAL(map_page(&scene, 0, TAU_READ), TAU_PAGE_ZERO);
        EXPECT_EQUAL(map_page(&scene, PAGES, TAU_READ), TAU_PAGE_OUTSIDE);
        EXPECT_EQUAL(map_page(&scene, UINT32_MAX, TAU_READ), TAU_PAGE_OUTSIDE);
        EXPECT_EQUAL(map_page(&scene, 6, 0), TAU_BAD_ARGUMENT);
        EXPECT_EQUAL(map_page(&scene, 6, TAU_READ | 1), TAU_BAD_ARGUMENT);
        EXPECT_EQUAL(map_page(&scene, 6, UINT32_C(1) << 30), TAU_BAD_ARGUMENT);
        EXPECT_EQUAL(map_page(&scene, 5, TAU_READ), TAU_PAGE_MAPPED);
        EXPECT_EQUAL(map_page(&scene, 6, TAU_READ), TAU_NO_FRAME);
        EXPECT_EQUAL(unmap(&scene, 0, 1), TAU_PAGE_ZERO);
        EXPECT_EQUAL(unmap(&scene, PAGES, 1), TAU_PAGE_OUTSIDE);
        EXPECT_EQUAL(unmap(&scene, 1, PAGES), TAU_REGION_TOO_LARGE);
        EXPECT_EQUAL(unmap(&scene, 5, UINT32_MAX), TAU_REGION_TOO_LARGE);
        EXPECT(memcmp(&before.table, &scene.table, sizeof scene.table) == 0);
        EXPECT(memcmp(&before.frames, &scene.frames, sizeof scene.frames) == 0);
        EXPECT(memcmp(copy, memory, sizeof copy) == 0);
        expect_sound(&scene);
    }
}

// The walk notices each invariant when it is broken.
TEST_CASE(checker) {
    struct scene scene;
    unsigned char places[FRAMES] = {0};
    open_scene(&scene, TAU_PAGETABLE_MAPPED, FRAMES);
    EXPECT_EQUAL(map_page(&scene, 7, TAU_READ), TAU_OK);
    memory[0] = TAU_READ | 5;  // page 0 is mapped
    EXPECT_EQUAL(check_pagetable(&scene.table, places), 1);
    memory[0] = 0;
    memory[7] &= TAU_NUMBER_MASK;  // a right is missing
    memory[7] |= 1;
    EXPECT_EQUAL(check_pagetable(&scene.table, places), 2);
    memory[7] = TAU_READ | FRAMES;  // no such frame
    EXPECT_EQUAL(check_pagetable(&scene.table, places), 2);
    memory[7] = TAU_READ;
    memory[PAGES] = 0;  // the bit is lost
    EXPECT_EQUAL(check_pagetable(&scene.table, places), 3);
    memory[7] = 0;  // the count is wrong
    EXPECT_EQUAL(check_pagetable(&scene.table, places), 4);
}
