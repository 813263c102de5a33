// Goal: the contract of page_heap.h: which pages are mapped when, each reason for a refusal,
// misuse, and that a refused call changes nothing. Method: examples by hand. Every page of the
// window is closed until it is looked up. One test runs the allocator one instruction at a time,
// and closes the window whenever a page has been returned.
#include "core/private/pages/frames_inline.h"
#include "core/tests/page_heap/page_heap_world.h"

// ---- Mapped pages ------------------------------------------------------------------------------

// [P0-33] Large objects cost the pages of their headers until they are touched, and give all back.
static void pages_come_on_touch_and_go_on_free(void) {
    begin(FRAMES, UINT32_MAX);
    const uint32_t empty_pages = space.mapped_pages;
    EXPECT_EQUAL(empty_pages, 2);  // the first block's header, the end of the heap
    unsigned char *const object = allocate(10 * PAGE);
    EXPECT_EQUAL(space.mapped_pages, empty_pages + 1);  // the header of what stays free
    EXPECT_EQUAL(heap.committed_pages, empty_pages + 1 + 9);
    for (uint32_t page = page_of(object) + 1; page < page_of(object) + 10; page++) {
        EXPECT_EQUAL(frame_of(page), WINDOW_FRAME_NONE);
    }
    WINDOW_RUN(WINDOW_PROGRAM, memset(object, 0x31, 10 * PAGE));
    EXPECT_EQUAL(window.faults_count, 9);
    EXPECT_EQUAL(space.mapped_pages, empty_pages + 10);
    EXPECT_EQUAL(give_back(object), TAU_OK);
    EXPECT_EQUAL(space.mapped_pages, empty_pages);
    EXPECT_EQUAL(heap.committed_pages, empty_pages);
    EXPECT_EQUAL(map_page(page_of(object) + 3), TAU_NOT_IN_REGION);  // a late access
    end();
}

// In the middle of the heap, too, between two that stay [P0-10].
static void a_hole_gives_its_pages_back(void) {
    begin(FRAMES, UINT32_MAX);
    unsigned char *objects[5];
    for (unsigned i = 0; i < 5; i++) {
        objects[i] = allocate(5 * PAGE);
        WINDOW_RUN(WINDOW_PROGRAM, memset(objects[i], (int)i, 5 * PAGE));
    }
    const uint32_t full_pages = space.mapped_pages;
    EXPECT_EQUAL(give_back(objects[1]), TAU_OK);
    EXPECT_EQUAL(space.mapped_pages, full_pages - 4);
    EXPECT_EQUAL(give_back(objects[3]), TAU_OK);
    EXPECT_EQUAL(space.mapped_pages, full_pages - 8);
    EXPECT_EQUAL(give_back(objects[2]), TAU_OK);  // joins both: two headers and four pages more
    EXPECT_EQUAL(space.mapped_pages, full_pages - 8 - 4 - 2);
    WINDOW_RUN(WINDOW_PROGRAM, {
        for (size_t i = 0; i < 5 * PAGE; i++) {
            EXPECT(objects[0][i] == 0 && objects[4][i] == 4);
        }
    });
    EXPECT_EQUAL(broken(), 0);
    end();
}

static void objects_on_pages_keep_their_alignment(void) {
    begin(FRAMES, UINT32_MAX);
    for (size_t alignment = 1; alignment <= 16 * PAGE; alignment *= 2) {
        for (size_t size = 1; size < 3 * PAGE; size = size * 3 + 1) {
            unsigned char *const before = allocate(test_random_below(2 * PAGE) + 1);
            unsigned char *const object = allocate_aligned(alignment, size);
            size_t usable = 0;
            if (object == NULL) {
                EXPECT(alignment >= 8 * PAGE);
                EXPECT_EQUAL(give_back(before), TAU_OK);
                continue;
            }
            EXPECT_EQUAL((uintptr_t)object % alignment, 0);
            WINDOW_RUN(WINDOW_ALLOCATOR, usable = tau_page_heap_usable_size(&heap, object));
            EXPECT(usable >= size);
            WINDOW_RUN(WINDOW_PROGRAM, memset(object, 0xff, usable));
            EXPECT_EQUAL(broken(), 0);
            EXPECT_EQUAL(give_back(test_random_below(2) == 0 ? before : object), TAU_OK);
            EXPECT_EQUAL(broken(), 0);
            (void)give_back(before);
            (void)give_back(object);
            test_port.misuse_count = 0;
        }
    }
    EXPECT_EQUAL(heap.committed_pages, 2);
    EXPECT(allocate_aligned(3, 10) == NULL);
    EXPECT(allocate_aligned(0, 10) == NULL);
    EXPECT(allocate_aligned((size_t)1 << 40, 10) == NULL);
    EXPECT(allocate_aligned(PAGE, SIZE_MAX) == NULL);
    end();
}

// The last object of a kind gets a block in which every step of its alignment counts.
static void aligned_objects_fill_the_heap(void) {
    begin(FRAMES, UINT32_MAX);
    for (size_t alignment = 2 * UNIT; alignment <= 2 * PAGE; alignment *= 2) {
        for (unsigned round = 0; round < 8; round++) {
            unsigned char *objects[600];
            size_t count = 0;
            const size_t size = 500 + UNIT * test_random_below(3 * PAGE / UNIT);
            const unsigned char *const last = window.base + (FIRST + HEAP_PAGES) * PAGE;
            objects[count++] = allocate(UNIT * (1 + test_random_below(100)));
            while (count < 600 && (objects[count] = allocate_aligned(alignment, size)) != NULL) {
                EXPECT(objects[count] + size < last);
                count++;
            }
            EXPECT_EQUAL(broken(), 0);
            while (count > 0) {
                EXPECT_EQUAL(give_back(objects[--count]), TAU_OK);
            }
        }
    }
    EXPECT_EQUAL(heap.committed_pages, 2);
    end();
}

// The only free block is a hole of about what an aligned object needs: it fits or is refused.
static void aligned_objects_fit_their_hole(void) {
    for (size_t alignment = 2 * UNIT; alignment <= PAGE; alignment *= 2) {
        begin(FRAMES, UINT32_MAX);
        allocate_up_to_a_page();
        unsigned char *const hole = allocate(600 + alignment);
        EXPECT((uintptr_t)hole % PAGE == PAGE - 3 * UNIT && allocate(2 * UNIT) != NULL);
        for (size_t size = (size_t)HEAP_PAGES * PAGE; size >= UNIT; size /= 2) {
            while (allocate(size) != NULL) {
            }
        }
        EXPECT_EQUAL(give_back(hole), TAU_OK);
        for (size_t size = 500; size < 700; size += UNIT / 2) {
            unsigned char *const object = allocate_aligned(alignment, size);
            size_t usable = size;
            if (object != NULL) {
                WINDOW_RUN(WINDOW_ALLOCATOR, usable = tau_page_heap_usable_size(&heap, object));
                EXPECT_EQUAL(broken(), 0);
                EXPECT_EQUAL(give_back(object), TAU_OK);
            }
            EXPECT(usable >= size);
        }
        end();
    }
}

// An aligned object is served if and only if frames and commitment suffice for the headers before
// of it and after it. A refusal changes nothing. One place of an object for each case, with zero
// to three frames or pages of commitment left.
//
// What an aligned object needs, however much memory is free: a frame for each page that gets its
// first header, before the object and after it.
static const struct need {
    bool is_behind_a_page;  // the free block is where allocate_up_to_a_page leaves it
    bool is_in_hole;        // and ends in the next page
    size_t alignment;
    uint32_t pages_count;
} needs[] = {
    {false, false, 8 * PAGE, 2},  // both in pages of their own
    {false, false, PAGE, 1},      // only after: the page before is the free block's own
    {true, false, 2 * UNIT, 1},   // only before: both are in one page
    {true, true, 2 * UNIT, 0},    // both in the page where the free block ends
};

static unsigned char *allocate_with(const struct need *need, uint32_t frames_left,
                                    uint32_t commitment_left) {
    struct tau_frames taken;
    const uint32_t frames_count = tau_frames_free_count(&pool);
    REQUIRE(tau_frames_reserve(&pool, &taken, frames_count - frames_left) == TAU_OK);
    heap.commit_max_pages = heap.committed_pages + commitment_left;
    take_image();
    unsigned char *const object = allocate_aligned(need->alignment, 300);
    EXPECT(object != NULL || is_as_image());
    EXPECT_EQUAL(broken(), 0);
    tau_frames_return(&pool, &taken);
    return object;
}

// If the check of frames counted one of the two headers alone, an object that needs two frames
// would be handed out with one left, and the other header written to a page that is not mapped.
static void aligned_objects_need_a_frame_a_header(void) {
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++) {
        const struct need *const need = &needs[i];
        begin(FRAMES, UINT32_MAX);
        if (need->is_behind_a_page) {
            allocate_up_to_a_page();
        }
        if (need->is_in_hole) {
            unsigned char *const hole = allocate(600);
            EXPECT(hole != NULL && allocate(2 * UNIT) != NULL);
            EXPECT_EQUAL(give_back(hole), TAU_OK);
        }
        for (uint32_t left = 0; left <= 3; left++) {
            for (unsigned is_commitment = 0; is_commitment < 2; is_commitment++) {
                unsigned char *const object =
                    allocate_with(need, is_commitment ? 3 : left, is_commitment ? left : 3);
                EXPECT_EQUAL(object != NULL, left >= need->pages_count);
                EXPECT_EQUAL(give_back(object), TAU_OK);
            }
        }
        end();
    }
}

// ---- Refusals ----------------------------------------------------------------------------------

#define EXPECT_NO_HEAP(first, pages, commit, reason)                                               \
    do {                                                                                           \
        take_image();                                                                              \
        EXPECT_EQUAL(open_heap((first), (pages), (commit)), (reason));                             \
        EXPECT(is_as_image());                                                                     \
    } while (0)

static void bad_heaps_are_refused(void) {
    begin_space(8);
    EXPECT_EQUAL(tau_vspace_map_region(&space, (struct tau_page){40}, 4, TAU_READ), TAU_OK);
    EXPECT_NO_HEAP(FIRST, 0, UINT32_MAX, TAU_POOL_TOO_SMALL);
    EXPECT_NO_HEAP(FIRST, 1, UINT32_MAX, TAU_POOL_TOO_SMALL);
    EXPECT_NO_HEAP(FIRST, UINT32_MAX, UINT32_MAX, TAU_POOL_TOO_LARGE);
    EXPECT_NO_HEAP(0, 8, UINT32_MAX, TAU_PAGE_ZERO);
    EXPECT_NO_HEAP(PAGES, 8, UINT32_MAX, TAU_PAGE_OUTSIDE);
    EXPECT_NO_HEAP(PAGES - 7, 8, UINT32_MAX, TAU_REGION_TOO_LARGE);
    EXPECT_NO_HEAP(36, 8, UINT32_MAX, TAU_REGION_OVERLAPS);
    EXPECT_NO_HEAP(FIRST, 8, 0, TAU_NOT_ADMITTED);
    EXPECT_NO_HEAP(FIRST, 8, 1, TAU_NOT_ADMITTED);
    enum tau_status status = TAU_OK;
    take_image();
    WINDOW_RUN(WINDOW_ALLOCATOR,
               status = tau_page_heap_init(&heap, &space, (uintptr_t)window.base + 8,
                                           (struct tau_page){FIRST}, 8, UINT32_MAX));
    EXPECT_EQUAL(status, TAU_BAD_ARGUMENT);
    status = tau_page_heap_init(&heap, &space, (uintptr_t)0 - (FIRST + 8) * PAGE,
                                (struct tau_page){FIRST}, 8, UINT32_MAX);
    EXPECT_EQUAL(status, TAU_BAD_ARGUMENT);  // it would end where addresses start again
    EXPECT(is_as_image());
    uint32_t frame;
    while (tau_frames_free_count(&pool) > 1) {
        EXPECT(frames_take_clean(&pool, &frame));
    }
    EXPECT_NO_HEAP(FIRST, 8, UINT32_MAX, TAU_NO_FRAME);
    EXPECT_EQUAL(check_vspace(&space, NULL), 0);
    window_close();
}

// Allocates until it is refused, then shows that the refusals change nothing but their own count.
static void fill_and_expect_refusals(size_t size_bytes) {
    static unsigned char control[PAGE];
    unsigned char *objects[512];
    size_t count = 0;
    while (count < 512 && (objects[count] = allocate(size_bytes)) != NULL) {
        count++;
    }
    EXPECT(count > 0 && count < 512);
    unsigned char *const start = window.base + (size_t)FIRST * PAGE;
    const uint32_t committed_pages = heap.committed_pages;
    WINDOW_RUN(WINDOW_ALLOCATOR, memcpy(control, start, PAGE));
    take_image();
    EXPECT(allocate(size_bytes) == NULL);
    EXPECT(allocate_aligned(2 * PAGE, size_bytes) == NULL);
    bool is_resized = true;
    WINDOW_RUN(WINDOW_ALLOCATOR,
               is_resized = tau_page_heap_resize(&heap, objects[0], 2 * size_bytes + 2 * PAGE));
    EXPECT(!is_resized);
    EXPECT(is_as_image());
    EXPECT_EQUAL(heap.committed_pages, committed_pages);
    size_t changed = 0;
    WINDOW_RUN(WINDOW_ALLOCATOR, {
        for (size_t i = 0; i < PAGE; i += sizeof(tau_word)) {
            changed += memcmp(control + i, start + i, sizeof(tau_word)) != 0;
        }
    });
    EXPECT(changed <= 1);  // out_of_memory_count
    EXPECT_EQUAL(broken(), 0);
    EXPECT_EQUAL(give_back(objects[count / 2]), TAU_OK);
    EXPECT(allocate(size_bytes) != NULL);
}

static void no_frame_is_left(void) {
    begin(6, UINT32_MAX);
    fill_and_expect_refusals(2 * PAGE);
    EXPECT_EQUAL(tau_frames_free_count(&pool), 0);
    end();
}

static void the_commitment_is_reached(void) {
    begin(FRAMES, 20);
    fill_and_expect_refusals(3 * PAGE);
    EXPECT(heap.committed_pages > 16 && heap.committed_pages <= 20);
    end();
}

static void the_addresses_are_used_up(void) {
    begin(FRAMES, UINT32_MAX);
    fill_and_expect_refusals(5 * PAGE);
    end();
}

static void one_unit_more_than_there_is(void) {
    begin(FRAMES, UINT32_MAX);
    EXPECT(allocate(0) == NULL);
    EXPECT(allocate(SIZE_MAX) == NULL);
    EXPECT(allocate((size_t)HEAP_PAGES * PAGE) == NULL);
    unsigned char *whole = NULL;
    size_t size = (size_t)HEAP_PAGES * PAGE;
    while (whole == NULL) {
        size -= UNIT;
        whole = allocate(size);
    }
    EXPECT_EQUAL(heap.committed_pages, HEAP_PAGES);
    EXPECT_EQUAL(space.mapped_pages, 2);
    WINDOW_RUN(WINDOW_PROGRAM, memset(whole, 0xee, size));
    EXPECT_EQUAL(space.mapped_pages, HEAP_PAGES);
    EXPECT(allocate(1) == NULL);
    EXPECT_EQUAL(give_back(whole), TAU_OK);
    EXPECT_EQUAL(space.mapped_pages, 2);
    end();
}

// [P0-45] A committed heap: its faults never fail, and it refuses what would make them.
static void committed_heaps_never_run_dry(void) {
    struct tau_frames reserved;
    struct tau_frames *const shared = &pool;
    begin_space(FRAMES);
    REQUIRE(tau_frames_reserve(shared, &reserved, 24) == TAU_OK);
    memset(tables, 0x11, sizeof tables);
    REQUIRE(tau_vspace_init(&space, tables, sizeof tables, LOG2, &reserved, TAU_VSPACE_COMMIT) ==
            TAU_OK);
    EXPECT_NO_HEAP(FIRST, HEAP_PAGES, 25, TAU_NOT_ADMITTED);
    EXPECT_EQUAL(open_heap(FIRST, HEAP_PAGES, 20), TAU_OK);
    EXPECT_EQUAL(tau_vspace_map_region(&space, (struct tau_page){100}, 5, TAU_READ),
                 TAU_NOT_ADMITTED);
    EXPECT_EQUAL(tau_vspace_map_region(&space, (struct tau_page){100}, 4, TAU_READ), TAU_OK);
    for (unsigned round = 0; round < 20; round++) {
        unsigned char *objects[20];
        unsigned count = 0;
        size_t sizes[20];
        while (count < 20) {
            sizes[count] = test_random_below(5 * PAGE) + 1;
            if ((objects[count] = allocate(sizes[count])) == NULL) {
                break;
            }
            count++;
        }
        for (unsigned i = 0; i < count; i++) {  // the window stops at a fault that is refused
            WINDOW_RUN(WINDOW_PROGRAM, memset(objects[i], 0x21, sizes[i]));
        }
        EXPECT(space.mapped_pages <= 20);
        for (unsigned i = 0; i < count; i++) {
            EXPECT_EQUAL(give_back(objects[i]), TAU_OK);
        }
    }
    EXPECT_EQUAL(broken(), 0);
    window_close();
}

// ---- Misuse ------------------------------------------------------------------------------------

static void expect_misuse(void *pointer, const char *what) {
    take_image();
    test_port.misuse_count = 0;
    const enum tau_status status = give_back(pointer);
    size_t usable = 1;
    bool is_resized = true;
    WINDOW_RUN(WINDOW_ALLOCATOR, usable = tau_page_heap_usable_size(&heap, pointer));
    WINDOW_RUN(WINDOW_ALLOCATOR, is_resized = tau_page_heap_resize(&heap, pointer, 1));
    EXPECT(status != TAU_OK && usable == 0 && !is_resized && is_as_image());
    EXPECT_EQUAL(test_port.misuse_count, 2);
    if (status == TAU_OK) {
        printf("  accepted: %s\n", what);
    }
}

static void misuse_is_refused(void) {
    if (TAU_CHECK_LEVEL == 0) {
        return;
    }
    begin(FRAMES, UINT32_MAX);
    unsigned char *const first = allocate(5 * PAGE);
    unsigned char *const second = allocate(5 * PAGE);
    unsigned char *const third = allocate(5 * PAGE);
    EXPECT_EQUAL(give_back(NULL), TAU_OK);
    expect_misuse(first + 1, "one byte beside");
    EXPECT_EQUAL(give_back(first + 1), TAU_MISALIGNED_POINTER);
    expect_misuse(first + UNIT, "one unit beside");
    expect_misuse(first + PAGE, "a page without header");
    EXPECT_EQUAL(give_back(first + PAGE), TAU_FOREIGN_POINTER);
    expect_misuse(window.base + 5 * PAGE, "the start of a page that is not mapped");
    expect_misuse(window.base + FIRST * PAGE, "the control block");
    expect_misuse(window.base + (FIRST + HEAP_PAGES) * PAGE, "the end of the heap");
    expect_misuse(window.base + PAGE, "below the heap");
    expect_misuse(window.base - PAGE + 16, "outside the space");
    expect_misuse(links, "far away");
    expect_misuse((void *)(uintptr_t)UNIT, "near NULL");
    expect_misuse((void *)(UINTPTR_MAX - UNIT + 1), "the highest address");
    expect_misuse(first + ((size_t)PAGE << 32), "as many pages away as 32 bits do not tell");
    EXPECT_EQUAL(give_back(second), TAU_OK);
    expect_misuse(second, "double free");
    EXPECT_EQUAL(give_back(second), TAU_DOUBLE_FREE);
    EXPECT_EQUAL(give_back(first), TAU_OK);
    expect_misuse(first, "double free of what was merged behind");
    expect_misuse(second, "double free of what was merged before");
    EXPECT_EQUAL(give_back(third), TAU_OK);
    expect_misuse(third, "double free of the whole heap");
    end();
}

// The block after has left its list when a link of the one before turns out to be overwritten: it
// is listed again.
static void a_free_next_to_an_overwritten_link_changes_nothing(void) {
    if (TAU_CHECK_LEVEL == 0) {
        return;
    }
    begin(FRAMES, UINT32_MAX);
    unsigned char *const before = allocate(5 * PAGE);
    unsigned char *const object = allocate(5 * PAGE);
    unsigned char *const behind = allocate(7 * PAGE);
    unsigned char *const wall = allocate(UNIT);
    EXPECT(wall != NULL);
    EXPECT_EQUAL(give_back(before), TAU_OK);
    EXPECT_EQUAL(give_back(behind), TAU_OK);
    WINDOW_RUN(WINDOW_PROGRAM, before[sizeof(tau_word)] ^= 1);
    expect_misuse(object, "a free neighbor's link was overwritten");
    WINDOW_RUN(WINDOW_PROGRAM, before[sizeof(tau_word)] ^= 1);
    EXPECT_EQUAL(broken(), 0);
    EXPECT_EQUAL(give_back(object), TAU_OK);
    end();
}

// A word that looks like a header and leads into the object's own bytes or to unmapped pages.
static tau_word misleading_word(void) {
    const size_t near = test_random_below(2) == 0 ? PAGE + test_random_below(PAGE)
                                                  : 5 * PAGE + test_random_below(14 * PAGE);
    const size_t size = near + (size_t)test_random_below(2) * ((size_t)PAGE << 32);
    return (tau_word)((size & ~(size_t)(UNIT - 1)) | test_random_below(4));
}

// An object full of words that look like headers. A pointer into it is not an object. The unmapped
// pages that such words lead to must not be touched. Where a word leads to another one that fits
// it, only a canary could tell.
static void words_like_headers_lead_nowhere(void) {
    if (TAU_CHECK_LEVEL == 0) {
        return;
    }
    begin(FRAMES, UINT32_MAX);
    unsigned char *const object = allocate(3 * PAGE);
    unsigned char *const hole = allocate(20 * PAGE);
    EXPECT(allocate(3 * PAGE) != NULL);
    EXPECT_EQUAL(give_back(hole), TAU_OK);  // unmapped pages after
    WINDOW_RUN(WINDOW_PROGRAM, memset(object, 0xff, 3 * PAGE));
    const size_t rest = PAGE - (uintptr_t)object % PAGE;
    for (unsigned round = 0; round < 1000; round++) {
        WINDOW_RUN(WINDOW_PROGRAM, {
            for (size_t i = 0; i + sizeof(tau_word) <= rest; i += sizeof(tau_word)) {
                const tau_word word = misleading_word();
                memcpy(object + i, &word, sizeof word);
            }
        });
        expect_misuse(object + UNIT * (1 + test_random_below(rest / UNIT - 1)), "a word");
    }
    EXPECT_EQUAL(give_back(object), TAU_OK);
    end();
}

static void the_heaps_regions_are_the_heaps_own(void) {
    begin(FRAMES, UINT32_MAX);
    unsigned char *const object = allocate(3 * PAGE);
    for (uint32_t page = FIRST; page < FIRST + HEAP_PAGES; page++) {
        const enum tau_status status = tau_vspace_unmap_region(&space, (struct tau_page){page});
        EXPECT(status == TAU_REGION_IN_HEAP || status == TAU_NOT_A_REGION);
        EXPECT_EQUAL(tau_vspace_map_region(&space, (struct tau_page){page}, 1, TAU_READ),
                     TAU_REGION_OVERLAPS);
    }
    EXPECT_EQUAL(tau_vspace_map_page(&space, (struct tau_page){page_of(object) + 1}, TAU_EXECUTE),
                 TAU_ACCESS_DENIED);
    end();
}

// ---- One instruction at a time -----------------------------------------------------------------

#if defined(__x86_64__)
// A step is an exception of the processor's; a build with sanitizers has many.
#ifdef __SANITIZE_ADDRESS__
#define STEP_ROUNDS 1
#else
#define STEP_ROUNDS 8
#endif

static uint32_t pages_before;
static unsigned steps_count;

static void on_step(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)info;
    (void)context;
    steps_count++;
    if (space.mapped_pages < pages_before) {
        window_flush();  // a page has been given back: whoever touches it now is too late
    }
    pages_before = space.mapped_pages;
}

// The processor's trap flag, with the red zone left alone.
static void step(bool is_on) {
    if (is_on) {
        __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq; "
                         "lea 128(%%rsp), %%rsp" ::
                             : "memory", "cc");
    } else {
        __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; andq $~0x100, (%%rsp); popfq; "
                         "lea 128(%%rsp), %%rsp" ::
                             : "memory", "cc");
    }
}

static enum tau_status give_back_in_steps(void *object) {
    enum tau_status status = TAU_OK;
    pages_before = space.mapped_pages;
    WINDOW_RUN(WINDOW_ALLOCATOR, {
        step(true);
        status = tau_page_heap_free(&heap, object);
        step(false);
    });
    return status;
}

// On a machine a page that was given back is closed at once, not at the end of the call.
static void nothing_touches_a_page_after_it_went(void) {
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    REQUIRE(sigaction(SIGTRAP, &action, NULL) == 0);
    begin(FRAMES, UINT32_MAX);
    unsigned given_back_count = 0;
    for (unsigned round = 0; round < STEP_ROUNDS; round++) {
        unsigned char *objects[16] = {0};
        for (unsigned i = 0; i < 16; i++) {
            const size_t size = test_random_below(test_random_below(3) == 0 ? 8 * PAGE : PAGE) + 1;
            objects[i] = allocate(size);
            if (objects[i] != NULL && space.mapped_pages < FRAMES - 10) {
                WINDOW_RUN(WINDOW_PROGRAM, memset(objects[i], 0x42, size));
            }
        }
        for (unsigned i = 0; i < 16; i++) {
            unsigned char **const chosen = &objects[(i * 7 + round) % 16];
            const uint32_t mapped_pages = space.mapped_pages;
            EXPECT_EQUAL(give_back_in_steps(*chosen), TAU_OK);
            given_back_count += mapped_pages - space.mapped_pages;
        }
    }
    EXPECT(steps_count > 500 && given_back_count > 5);
    end();
}
#endif

static const struct test tests[] = {
    TEST(pages_come_on_touch_and_go_on_free),
    TEST(a_hole_gives_its_pages_back),
    TEST(objects_on_pages_keep_their_alignment),
    TEST(aligned_objects_fill_the_heap),
    TEST(aligned_objects_fit_their_hole),
    TEST(aligned_objects_need_a_frame_a_header),
    TEST(bad_heaps_are_refused),
    TEST(no_frame_is_left),
    TEST(the_commitment_is_reached),
    TEST(the_addresses_are_used_up),
    TEST(one_unit_more_than_there_is),
    TEST(committed_heaps_never_run_dry),
    TEST(misuse_is_refused),
    TEST(a_free_next_to_an_overwritten_link_changes_nothing),
    TEST(words_like_headers_lead_nowhere),
    TEST(the_heaps_regions_are_the_heaps_own),
#if defined(__x86_64__)
    TEST(nothing_touches_a_page_after_it_went),
#endif
};

TEST_MAIN(tests)
