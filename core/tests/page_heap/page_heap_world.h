// A heap on pages in a window whose pages are closed until they are looked up: its machine, calls
// by an allocator that may not fault, and an image of all tables.
#ifndef TAU_PAGE_HEAP_WORLD_H
#define TAU_PAGE_HEAP_WORLD_H

#include "core/page_heap.h"
#include "core/tests/checks/check_frames.h"
#include "core/tests/checks/check_page_heap.h"
#include "core/tests/checks/check_vspace.h"
#include "core/tests/kit/page_window.h"

enum {
    LOG2 = 7,
    PAGES = 1 << LOG2,
    FRAMES = 100,
    FIRST = 3,
    HEAP_PAGES = 64,
    UNIT = TAU_ALIGNMENT,
    PAGE = 4096,
};

static struct tau_vspace space;
static struct tau_page_heap heap;
static struct tau_frames pool;
static uint32_t links[FRAMES];
static uint32_t tables[PAGES * 5 + 256];

static inline uint32_t frame_of(uint32_t page) {
    struct tau_frame frame;
    return tau_vspace_translate(&space, (struct tau_page){page}, TAU_WRITE, &frame) == TAU_OK
               ? frame.number
               : WINDOW_FRAME_NONE;
}

static inline enum tau_status map_page(uint32_t page) {
    return tau_vspace_map_page(&space, (struct tau_page){page}, TAU_WRITE);
}

static inline void begin_space(uint32_t frames_count) {
    window_open(PAGES, FRAMES);
    window.frame_of = frame_of;
    window.map = map_page;
    memset(&test_port, 0, sizeof test_port);
    memset(tables, 0xff, sizeof tables);
    REQUIRE(tau_frames_init(&pool, links, FRAMES, window.frames) == TAU_OK);
    REQUIRE(tau_frames_add(&pool, (struct tau_frame){0}, frames_count) == TAU_OK);
    REQUIRE(tau_vspace_init(&space, tables, sizeof tables, LOG2, &pool, TAU_VSPACE_OVERCOMMIT) ==
            TAU_OK);
}

static inline enum tau_status open_heap(uint32_t first, uint32_t pages, uint32_t commit_max_pages) {
    enum tau_status status = TAU_OK;
    WINDOW_RUN(WINDOW_ALLOCATOR,
               status = tau_page_heap_init(&heap, &space, (uintptr_t)window.base,
                                           (struct tau_page){first}, pages, commit_max_pages));
    return status;
}

static inline void begin(uint32_t frames_count, uint32_t commit_max_pages) {
    begin_space(frames_count);
    REQUIRE(open_heap(FIRST, HEAP_PAGES, commit_max_pages) == TAU_OK);
}

static inline unsigned broken(void) {
    unsigned number = 0;
    WINDOW_RUN(WINDOW_ALLOCATOR, number = check_page_heap(&heap));
    return number;
}

static inline void end(void) {
    EXPECT_EQUAL(broken(), 0);
    const uint32_t handed_in = space.mapped_pages + tau_frames_free_count(&pool);
    tau_vspace_close(&space);
    EXPECT_EQUAL(tau_frames_free_count(&pool), handed_in);
    EXPECT_EQUAL(check_vspace(&space, NULL), 0);
    EXPECT_EQUAL(check_frames(&pool, NULL), 0);
    EXPECT_EQUAL(test_port.lock_depth + test_port.nested_count, 0);
    window_close();
}

static inline unsigned char *allocate(size_t size_bytes) {
    unsigned char *object = NULL;
    WINDOW_RUN(WINDOW_ALLOCATOR, object = tau_page_heap_malloc(&heap, size_bytes));
    return object;
}

static inline unsigned char *allocate_aligned(size_t alignment, size_t size_bytes) {
    unsigned char *object = NULL;
    WINDOW_RUN(WINDOW_ALLOCATOR,
               object = tau_page_heap_aligned_alloc(&heap, alignment, size_bytes));
    return object;
}

static inline enum tau_status give_back(void *object) {
    enum tau_status status = TAU_OK;
    WINDOW_RUN(WINDOW_ALLOCATOR, status = tau_page_heap_free(&heap, object));
    return status;
}

static inline uint32_t page_of(const void *address) {
    return (uint32_t)((size_t)((const unsigned char *)address - window.base) / PAGE);
}

// An object that ends where the next one's payload starts a page, less three units: the worst place
// for an aligned block, which must skip the page's start.
static inline void allocate_up_to_a_page(void) {
    const size_t words = (TAU_CHECK_LEVEL >= 2 ? 2 : 1) * sizeof(tau_word);
    const unsigned char *const start = allocate(2 * UNIT - words) + 2 * UNIT;
    const size_t room = (3 * PAGE - 3 * UNIT - (uintptr_t)start % PAGE) % (2 * PAGE);
    EXPECT(allocate(room - words) == start);
}

static unsigned char image[sizeof tables + sizeof links + sizeof space + sizeof pool];

static inline void take_image(void) {
    memcpy(image, tables, sizeof tables);
    memcpy(image + sizeof tables, links, sizeof links);
    memcpy(image + sizeof tables + sizeof links, &space, sizeof space);
    memcpy(image + sizeof tables + sizeof links + sizeof space, &pool, sizeof pool);
}

static inline bool is_as_image(void) {
    return memcmp(image, tables, sizeof tables) == 0 &&
           memcmp(image + sizeof tables, links, sizeof links) == 0 &&
           memcmp(image + sizeof tables + sizeof links, &space, sizeof space) == 0 &&
           memcmp(image + sizeof tables + sizeof links + sizeof space, &pool, sizeof pool) == 0;
}

#endif
