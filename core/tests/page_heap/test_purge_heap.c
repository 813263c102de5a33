// Goal: the contract of tau_break_heap_free_purging: which pages it releases, which stay because a
// header lies in them, what it refuses. Method: examples worked out by hand in a window whose pages
// are closed until they are looked up. tool/tests/replay/test_paging.py replays random programs and
// compares every page with the model of the heap on pages.
#include "core/tests/page_heap/break_window.h"

static enum tau_status give_back(void *object) {
    enum tau_status status = TAU_OK;
    WINDOW_RUN(WINDOW_ALLOCATOR, status = tau_break_heap_free_purging(&heap, object));
    return status;
}

// [P0-33] Pages go back wherever they lie, edges that two free blocks dissolve with them.
static void every_free_gives_its_pages_back(void) {
    for (unsigned walk = TAU_PAGETABLE_RESERVED; walk <= TAU_PAGETABLE_MAPPED; walk++) {
        begin(FRAMES, (enum tau_pagetable_walk)walk);
        REQUIRE(open_heap(FIRST, HEAP_PAGES) == TAU_OK);
        unsigned char *objects[4];
        for (unsigned i = 0; i < 4; i++) {
            objects[i] = allocate(5 * PAGE);
            WINDOW_RUN(WINDOW_PROGRAM, memset(objects[i], (int)i + 1, 5 * PAGE));
        }
        EXPECT_EQUAL(table.mapped_pages, 2 + 20);
        EXPECT_EQUAL(give_back(objects[1]), TAU_OK);  // between used blocks: both edges stay
        EXPECT_EQUAL(table.mapped_pages, 2 + 20 - 4);
        EXPECT_EQUAL(give_back(objects[2]), TAU_OK);  // the edge in front goes
        EXPECT_EQUAL(table.mapped_pages, 2 + 20 - 4 - 5);
        unsigned char *const again = allocate(9 * PAGE);
        EXPECT(again == objects[1]);
        WINDOW_RUN(WINDOW_PROGRAM, memset(again, 9, 9 * PAGE));
        EXPECT_EQUAL(table.mapped_pages, 2 + 20);
        EXPECT_EQUAL(give_back(again), TAU_OK);  // the edge behind goes
        EXPECT_EQUAL(table.mapped_pages, 2 + 20 - 9);
        EXPECT_EQUAL(heap.break_page, FIRST + 21);
        EXPECT_EQUAL(give_back(objects[3]), TAU_OK);  // both edges go, and the break moves
        EXPECT_EQUAL(table.mapped_pages, 2 + 5);
        EXPECT_EQUAL(heap.break_page, FIRST + 6);
        EXPECT_EQUAL(map_page(heap.break_page), TAU_NOT_IN_REGION);
        EXPECT_EQUAL(give_back(objects[0]), TAU_OK);
        EXPECT_EQUAL(table.mapped_pages, 2);
        end(FRAMES);
    }
}

// Objects inside of one page dissolve its boundaries; the page goes with the last of them.
static void a_shared_page_stays_while_it_has_a_header(void) {
    begin(FRAMES, TAU_PAGETABLE_RESERVED);
    REQUIRE(open_heap(FIRST, HEAP_PAGES) == TAU_OK);
    unsigned char *const before = allocate(3 * PAGE);
    unsigned char *const small[] = {allocate(100), allocate(100), allocate(100)};
    unsigned char *const behind = allocate(3 * PAGE);
    const uint32_t edges = table.mapped_pages;
    EXPECT_EQUAL(edges, 2 + 2);
    EXPECT_EQUAL(give_back(small[0]), TAU_OK);
    EXPECT_EQUAL(give_back(small[2]), TAU_OK);
    EXPECT_EQUAL(give_back(small[1]), TAU_OK);
    EXPECT_EQUAL(table.mapped_pages, edges);
    EXPECT_EQUAL(give_back(before), TAU_OK);
    EXPECT_EQUAL(table.mapped_pages, edges);  // the used block behind has its header there
    EXPECT_EQUAL(give_back(behind), TAU_OK);
    EXPECT_EQUAL(table.mapped_pages, 2);
    end(FRAMES);
}

// A late access maps a page of a free block; the next block there gives it back.
static void a_late_access_is_not_kept(void) {
    begin(FRAMES, TAU_PAGETABLE_RESERVED);
    REQUIRE(open_heap(FIRST, HEAP_PAGES) == TAU_OK);
    unsigned char *const object = allocate(8 * PAGE);
    unsigned char *const fence = allocate(PAGE);
    EXPECT_EQUAL(give_back(object), TAU_OK);
    const uint32_t mapped = table.mapped_pages;
    EXPECT_EQUAL(map_page(FIRST + 4), TAU_OK);
    EXPECT_EQUAL(map_page(FIRST + 4), TAU_PAGE_MAPPED);
    EXPECT_EQUAL(table.mapped_pages, mapped + 1);
    unsigned char *const again = allocate(8 * PAGE);
    EXPECT(again == object);
    EXPECT_EQUAL(give_back(again), TAU_OK);
    EXPECT_EQUAL(table.mapped_pages, mapped);
    EXPECT_EQUAL(give_back(fence), TAU_OK);
    end(FRAMES);
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
    TEST(every_free_gives_its_pages_back),
    TEST(a_shared_page_stays_while_it_has_a_header),
    TEST(a_late_access_is_not_kept),
    TEST(no_frame_is_left),
    TEST(misuse_is_refused),
};

TEST_MAIN(tests)
