// Goal: the contract of break_heap.h: which pages stay, when the end of the heap gives pages back,
// what is refused. Method: examples worked out by hand in a window whose pages are closed until
// they are looked up; random programs are in fuzz_page_heap.c.
#include "core/tests/page_heap/break_window.h"

static enum tau_status give_back(void *object) {
    enum tau_status status = TAU_OK;
    WINDOW_RUN(WINDOW_ALLOCATOR, status = tau_break_heap_free(&heap, object));
    return status;
}

// [P0-34] Pages in front of the break stay for reuse; the end of the heap gives all back at once.
static void only_the_end_gives_pages_back(void) {
    for (unsigned walk = TAU_PAGETABLE_RESERVED; walk <= TAU_PAGETABLE_MAPPED; walk++) {
        begin(FRAMES, (enum tau_pagetable_walk)walk);
        REQUIRE(open_heap(FIRST, HEAP_PAGES) == TAU_OK);
        EXPECT_EQUAL(table.mapped_pages, 2);
        unsigned char *objects[4];
        for (unsigned i = 0; i < 4; i++) {
            objects[i] = allocate(5 * PAGE);
            WINDOW_RUN(WINDOW_PROGRAM, memset(objects[i], (int)i + 1, 5 * PAGE));
        }
        EXPECT_EQUAL(table.mapped_pages, 2 + 20);
        EXPECT_EQUAL(heap.break_page, FIRST + 21);
        EXPECT_EQUAL(map_page(heap.break_page), TAU_NOT_IN_REGION);
        EXPECT_EQUAL(map_page(FIRST - 1), TAU_NOT_IN_REGION);
        EXPECT_EQUAL(give_back(objects[1]), TAU_OK);
        EXPECT_EQUAL(give_back(objects[2]), TAU_OK);
        EXPECT_EQUAL(table.mapped_pages, 2 + 20);
        // Reused without a fault, and with what it held.
        const unsigned faults_count = window.faults_count;
        unsigned char *const again = allocate(9 * PAGE);
        EXPECT(again == objects[1]);
        WINDOW_RUN(WINDOW_PROGRAM, EXPECT(again[3 * PAGE] == 2));
        EXPECT_EQUAL(window.faults_count, faults_count);
        EXPECT_EQUAL(give_back(again), TAU_OK);
        EXPECT_EQUAL(give_back(objects[3]), TAU_OK);  // the free run in front goes with it
        EXPECT_EQUAL(table.mapped_pages, 2 + 5);
        EXPECT_EQUAL(give_back(objects[0]), TAU_OK);
        EXPECT_EQUAL(table.mapped_pages, 2);
        EXPECT_EQUAL(heap.break_page, FIRST + 1);
        end(FRAMES);
    }
}

// Only free gives pages back: an object stays whose end would leave its page downwards. Both heaps
// share the code that says so.
static void an_object_shrinks_inside_a_page_only(void) {
    begin(FRAMES, TAU_PAGETABLE_RESERVED);
    REQUIRE(open_heap(FIRST, HEAP_PAGES) == TAU_OK);
    unsigned char *const object = allocate(3 * PAGE);
    bool is_resized = false;
    WINDOW_RUN(WINDOW_ALLOCATOR, is_resized = tau_break_heap_resize(&heap, object, 3 * PAGE - 8));
    EXPECT(is_resized);
    WINDOW_RUN(WINDOW_ALLOCATOR, is_resized = tau_break_heap_resize(&heap, object, 2 * PAGE));
    EXPECT(!is_resized);
    EXPECT_EQUAL(give_back(object), TAU_OK);
    end(FRAMES);
}

static void bad_heaps_are_refused(void) {
    begin(6, TAU_PAGETABLE_RESERVED);
    const struct {
        uint32_t first;
        uint32_t pages;
        enum tau_status reason;
    } bad[] = {
        {FIRST, 0, TAU_POOL_TOO_SMALL},
        {FIRST, 1, TAU_POOL_TOO_SMALL},
        {FIRST, UINT32_MAX, TAU_POOL_TOO_LARGE},
        {0, 8, TAU_PAGE_ZERO},
        {PAGES, 8, TAU_PAGE_OUTSIDE},
        {PAGES - 7, 8, TAU_REGION_TOO_LARGE},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        EXPECT_EQUAL(open_heap(bad[i].first, bad[i].pages), bad[i].reason);
        EXPECT_EQUAL(table.mapped_pages, 0);
        EXPECT_EQUAL(tau_frames_free_count(&pool), 6);
    }
    uint32_t frame;
    while (tau_frames_free_count(&pool) > 1) {
        EXPECT(frames_take_clean(&pool, &frame));
    }
    EXPECT_EQUAL(open_heap(FIRST, 8), TAU_NO_FRAME);
    EXPECT_EQUAL(table.mapped_pages, 0);
    window_close();
}

static void no_frame_is_left(void) {
    begin(6, TAU_PAGETABLE_RESERVED);
    REQUIRE(open_heap(FIRST, HEAP_PAGES) == TAU_OK);
    unsigned char *object = NULL;
    unsigned char *last = NULL;
    while ((object = allocate(2 * PAGE)) != NULL) {
        last = object;
    }
    EXPECT_EQUAL(tau_frames_free_count(&pool), 0);
    const uint32_t break_page = heap.break_page;
    EXPECT(allocate(2 * PAGE) == NULL);
    WINDOW_RUN(WINDOW_ALLOCATOR, object = tau_break_heap_aligned_alloc(&heap, 4 * PAGE, PAGE));
    EXPECT(object == NULL);
    EXPECT_EQUAL(heap.break_page, break_page);
    EXPECT_EQUAL(table.mapped_pages, 6);
    EXPECT_EQUAL(give_back(last), TAU_OK);
    EXPECT(allocate(2 * PAGE) != NULL);
    end(6);
}

static void misuse_is_refused(void) {
    if (TAU_CHECK_LEVEL == 0) {
        return;
    }
    begin(FRAMES, TAU_PAGETABLE_RESERVED);
    REQUIRE(open_heap(FIRST, HEAP_PAGES) == TAU_OK);
    unsigned char *const first = allocate(5 * PAGE);
    unsigned char *const second = allocate(5 * PAGE);
    void *const wrong[] = {
        first + 1,   first + 2 * TAU_ALIGNMENT,       first + PAGE,
        links,       window.base + FIRST * PAGE,      window.base + (FIRST + 30) * PAGE,
        window.base, (void *)(uintptr_t)TAU_ALIGNMENT};
    EXPECT_EQUAL(give_back(NULL), TAU_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        size_t usable = 1;
        EXPECT(give_back(wrong[i]) != TAU_OK);
        EXPECT_EQUAL(test_port.misuse_count, i + 1);
        WINDOW_RUN(WINDOW_ALLOCATOR, usable = tau_break_heap_usable_size(&heap, wrong[i]));
        EXPECT_EQUAL(usable, 0);
    }
    EXPECT_EQUAL(give_back(second), TAU_OK);
    EXPECT_EQUAL(give_back(second), TAU_DOUBLE_FREE);
    EXPECT_EQUAL(give_back(first), TAU_OK);
    EXPECT(give_back(second) != TAU_OK);
    EXPECT_EQUAL(give_back(first), TAU_DOUBLE_FREE);
    end(FRAMES);
}

static const struct test tests[] = {
    TEST(only_the_end_gives_pages_back),
    TEST(an_object_shrinks_inside_a_page_only),
    TEST(bad_heaps_are_refused),
    TEST(no_frame_is_left),
    TEST(misuse_is_refused),
};

TEST_MAIN(tests)
