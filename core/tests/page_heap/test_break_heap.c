// Goal: the contract of break_heap.h, with both ways to free: which pages stay, when pages are
// released, which calls are refused. Method: examples by hand. Every page of the window is closed
// until it is looked up. Random programs of the conventional heap are in fuzz_page_heap.c. The
// purging one is replayed in tool/tests/replay/test_paging.py, where every page is compared with
// the model of the heap on pages.
#include "core/private/pages/frames_inline.h"
#include "core/tests/checks/check_frames.h"
#include "core/tests/checks/check_tlsf.h"
#include "core/tests/kit/page_window.h"
#include "peers/conventional/break_heap.h"

enum { LOG2 = 7, PAGES = 1 << LOG2, FRAMES = 100, FIRST = 3, HEAP_PAGES = 64, PAGE = 4096 };

static struct tau_pagetable table;
static struct tau_break_heap heap;
static struct tau_frames pool;
static uint32_t links[FRAMES];
static uint32_t tables[PAGES + PAGES / 32];
static bool is_purging;

static uint32_t frame_of(uint32_t page) {
    struct tau_frame frame;
    return tau_pagetable_translate(&table, (struct tau_page){page}, TAU_WRITE, &frame) == TAU_OK
               ? frame.number
               : WINDOW_FRAME_NONE;
}

static enum tau_status map_page(uint32_t page) {
    return tau_break_heap_map_page(&heap, (struct tau_page){page});
}

static enum tau_status open_heap(uint32_t first, uint32_t pages) {
    enum tau_status status = TAU_OK;
    WINDOW_RUN(WINDOW_ALLOCATOR, status = tau_break_heap_init(&heap, &table, (uintptr_t)window.base,
                                                              (struct tau_page){first}, pages));
    return status;
}

static void begin_table(uint32_t frames_count, enum tau_pagetable_walk walk) {
    window_open(PAGES, FRAMES);
    window.frame_of = frame_of;
    window.map = map_page;
    memset(&test_port, 0, sizeof test_port);
    REQUIRE(tau_frames_init(&pool, links, FRAMES, window.frames) == TAU_OK);
    REQUIRE(tau_frames_add(&pool, (struct tau_frame){0}, frames_count) == TAU_OK);
    REQUIRE(tau_pagetable_init(&table, tables, sizeof tables, LOG2, &pool, walk) == TAU_OK);
}

static void begin(uint32_t frames_count, enum tau_pagetable_walk walk) {
    begin_table(frames_count, walk);
    REQUIRE(open_heap(FIRST, HEAP_PAGES) == TAU_OK);
}

static void end(uint32_t frames_count) {
    unsigned number = 0;
    WINDOW_RUN(WINDOW_ALLOCATOR, number = check_tlsf(heap.blocks));
    EXPECT_EQUAL(number, 0);
    EXPECT_EQUAL(check_frames(&pool, NULL), 0);
    EXPECT_EQUAL(table.mapped_pages + tau_frames_free_count(&pool), frames_count);
    EXPECT_EQUAL(test_port.lock_depth + test_port.nested_count, 0);
    window_close();
}

static unsigned char *allocate(size_t size_bytes) {
    unsigned char *object = NULL;
    WINDOW_RUN(WINDOW_ALLOCATOR, object = tau_break_heap_malloc(&heap, size_bytes));
    return object;
}

static enum tau_status give_back(void *object) {
    enum tau_status status = TAU_OK;
    WINDOW_RUN(WINDOW_ALLOCATOR, status = (is_purging ? tau_break_heap_free_purging
                                                      : tau_break_heap_free)(&heap, object));
    return status;
}

// Four objects of five pages, whose bytes are written.
static void allocate_four(unsigned char *objects[4]) {
    EXPECT_EQUAL(table.mapped_pages, 2);
    for (unsigned i = 0; i < 4; i++) {
        objects[i] = allocate(5 * PAGE);
        WINDOW_RUN(WINDOW_PROGRAM, memset(objects[i], (int)i + 1, 5 * PAGE));
    }
    EXPECT_EQUAL(table.mapped_pages, 2 + 20);
    EXPECT_EQUAL(heap.break_page, FIRST + 21);
}

// ---- One way to free ---------------------------------------------------------------------------

// [P0-34] Pages before the break stay for reuse; the end of the heap gives all back at once.
static void only_the_end_gives_pages_back(enum tau_pagetable_walk walk) {
    unsigned char *objects[4];
    is_purging = false;
    begin(FRAMES, walk);
    allocate_four(objects);
    EXPECT_EQUAL(map_page(heap.break_page), TAU_NOT_IN_REGION);
    EXPECT_EQUAL(map_page(FIRST - 1), TAU_NOT_IN_REGION);
    EXPECT_EQUAL(give_back(objects[1]), TAU_OK);
    EXPECT_EQUAL(give_back(objects[2]), TAU_OK);
    EXPECT_EQUAL(table.mapped_pages, 2 + 20);
    // Reused without a fault, and with its old content.
    const unsigned faults_count = window.faults_count;
    unsigned char *const again = allocate(9 * PAGE);
    EXPECT(again == objects[1]);
    WINDOW_RUN(WINDOW_PROGRAM, EXPECT(again[3 * PAGE] == 2));
    EXPECT_EQUAL(window.faults_count, faults_count);
    EXPECT_EQUAL(give_back(again), TAU_OK);
    EXPECT_EQUAL(give_back(objects[3]), TAU_OK);  // the free run before goes with it
    EXPECT_EQUAL(table.mapped_pages, 2 + 5);
    EXPECT_EQUAL(give_back(objects[0]), TAU_OK);
    EXPECT_EQUAL(table.mapped_pages, 2);
    EXPECT_EQUAL(heap.break_page, FIRST + 1);
    end(FRAMES);
}

// [P0-33] Pages go back wherever they lie, edges that two free blocks dissolve with them.
static void every_free_gives_its_pages_back(enum tau_pagetable_walk walk) {
    unsigned char *objects[4];
    is_purging = true;
    begin(FRAMES, walk);
    allocate_four(objects);
    EXPECT_EQUAL(give_back(objects[1]), TAU_OK);  // between used blocks: both edges stay
    EXPECT_EQUAL(table.mapped_pages, 2 + 20 - 4);
    EXPECT_EQUAL(give_back(objects[2]), TAU_OK);  // the edge before goes
    EXPECT_EQUAL(table.mapped_pages, 2 + 20 - 4 - 5);
    unsigned char *const again = allocate(9 * PAGE);
    EXPECT(again == objects[1]);
    WINDOW_RUN(WINDOW_PROGRAM, memset(again, 9, 9 * PAGE));
    EXPECT_EQUAL(table.mapped_pages, 2 + 20);
    EXPECT_EQUAL(give_back(again), TAU_OK);  // the edge after goes
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

static void pages_go_back_as_the_free_says(void) {
    for (unsigned walk = TAU_PAGETABLE_RESERVED; walk <= TAU_PAGETABLE_MAPPED; walk++) {
        only_the_end_gives_pages_back((enum tau_pagetable_walk)walk);
        every_free_gives_its_pages_back((enum tau_pagetable_walk)walk);
    }
}

// Objects inside one page dissolve its boundaries; the page goes with the last of them.
static void a_shared_page_stays_while_it_has_a_header(void) {
    is_purging = true;
    begin(FRAMES, TAU_PAGETABLE_RESERVED);
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
    EXPECT_EQUAL(table.mapped_pages, edges);  // the used block after has its header there
    EXPECT_EQUAL(give_back(behind), TAU_OK);
    EXPECT_EQUAL(table.mapped_pages, 2);
    end(FRAMES);
}

// A late access maps a page of a free block; the next block there gives it back.
static void a_late_access_is_not_kept(void) {
    is_purging = true;
    begin(FRAMES, TAU_PAGETABLE_RESERVED);
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

// Only free gives pages back: an object stays whose end would leave its page downwards.
static void an_object_shrinks_inside_a_page_only(void) {
    begin(FRAMES, TAU_PAGETABLE_RESERVED);
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
    begin_table(6, TAU_PAGETABLE_RESERVED);
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

// ---- Both ways to free -------------------------------------------------------------------------

static void no_frame_is_left(void) {
    begin(6, TAU_PAGETABLE_RESERVED);
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
    begin(FRAMES, TAU_PAGETABLE_RESERVED);
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

static void both_frees_refuse_alike(void) {
    for (unsigned i = 0; i < 2; i++) {
        is_purging = i == 1;
        no_frame_is_left();
        if (TAU_CHECK_LEVEL >= 1) {
            misuse_is_refused();
        }
    }
}

static const struct test tests[] = {
    TEST(pages_go_back_as_the_free_says), TEST(a_shared_page_stays_while_it_has_a_header),
    TEST(a_late_access_is_not_kept),      TEST(an_object_shrinks_inside_a_page_only),
    TEST(bad_heaps_are_refused),          TEST(both_frees_refuse_alike),
};

TEST_MAIN(tests)
