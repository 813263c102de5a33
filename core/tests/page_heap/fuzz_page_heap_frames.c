// Goal: with any number of frames left, especially none, one and two, a heap on pages:
// - serves a request if and only if its frames and its commitment suffice
// - maps exactly the pages that its objects and their headers need
// - touches no unmapped page and loses no byte of an object
//
// Method: random programs against oracle_page_heap.h, which reads no field of the heap. Before a
// call, all frames but a few are taken out of the pool. A conventional heap in memory that is
// always mapped says where an object would go with plenty of frames. After each call every page is
// compared, and the frames are counted from outside. Pages are closed until their frame is looked
// up (page_window.h).
//
// Usage: fuzz_page_heap_frames SEED CALLS.
#include "peers/conventional/break_heap.h"
#include "core/page_heap.h"
#include "core/tests/kit/fuzz.h"
#include "core/tests/kit/page_window.h"
#include "core/tests/page_heap/oracle_page_heap.h"

enum {
    PAGES_LOG2 = 7,
    PAGES = 1 << PAGES_LOG2,
    FRAMES_MAX = PAGES,
    STEPS_MAX = 300,
    WRITES_BYTES_MAX = 40,
    TABLE_WORDS = (PAGES * 5 + PAGES) * 4,
};

_Static_assert((int)PAGES == (int)ORACLE_PAGES, "the oracle knows every page of the space");

static struct tau_vspace space;
static struct tau_page_heap heap;
static uint32_t links[FRAMES_MAX];
static struct tau_frames shared_pool;
static struct tau_frames reserved_pool;
static struct tau_frames *pool;  // the space's own: one of these two
static uint32_t frames_count;

// The conventional heap, with a frame for every page.
static struct tau_break_heap twin;
static struct tau_pagetable twin_table;
static uint32_t twin_links[FRAMES_MAX];
static struct tau_frames twin_pool;
static _Alignas(WINDOW_ALIGNMENT) unsigned char twin_memory[(size_t)PAGES * TAU_PAGE_BYTES];

static struct oracle_heap oracle;
static uint32_t frame_seen[PAGES];  // of each page that is mapped
// What the program wrote, by its place in the space.
static unsigned char written[(size_t)PAGES * TAU_PAGE_BYTES];
static bool is_written[(size_t)PAGES * TAU_PAGE_BYTES];

static uint32_t frame_of(uint32_t page) {
    struct tau_frame frame;
    return tau_vspace_translate(&space, (struct tau_page){page}, TAU_WRITE, &frame) == TAU_OK
               ? frame.number
               : WINDOW_FRAME_NONE;
}

// ---- Frames ------------------------------------------------------------------------------------

// The program's access to PAGE: what the fault handler says is what the oracle says.
static enum tau_status fault(uint32_t page) {
    enum oracle_need needs[ORACLE_PAGES];
    enum tau_status expected = TAU_OK;
    oracle_needs(&oracle, needs);
    if (needs[page] == ORACLE_CLOSED) {
        expected = TAU_NOT_IN_REGION;
    } else if (oracle.is_mapped[page]) {
        expected = TAU_PAGE_MAPPED;
    } else if (tau_frames_free_count(pool) == 0) {
        expected = TAU_NO_FRAME;
    }
    const enum tau_status status = tau_vspace_map_page(&space, (struct tau_page){page}, TAU_WRITE);
    EXPECT_EQUAL(status, expected);
    if (status == TAU_OK) {
        const unsigned char *const frame = window.frames + frame_of(page) * TAU_PAGE_BYTES;
        EXPECT(pool == &reserved_pool ||  // its frames are the space's own and stay as they are
               (frame[0] == 0 && memcmp(frame, frame + 1, TAU_PAGE_BYTES - 1) == 0));
        oracle.is_mapped[page] = true;
    }
    return status;
}

// Takes all frames but LEFT out of the pool, if it is one that others take from, too.
static void take_all_but(uint32_t left, struct tau_frames *taken) {
    const uint32_t free_count = tau_frames_free_count(pool);
    const uint32_t count = free_count > left && pool == &shared_pool ? free_count - left : 0;
    REQUIRE(tau_frames_reserve(&shared_pool, taken, count) == TAU_OK);
}

// Every page is as the oracle says, on the frame that it had, and no frame is lost or used twice.
static void expect_pages(void) {
    bool is_used[FRAMES_MAX] = {0};
    uint32_t mapped_count = 0;
    for (uint32_t page = 0; page < PAGES; page++) {
        const uint32_t frame = frame_of(page);
        EXPECT_EQUAL(frame != WINDOW_FRAME_NONE, oracle.is_mapped[page]);
        if (frame != WINDOW_FRAME_NONE) {
            EXPECT(frame < frames_count && !is_used[frame]);
            EXPECT(frame_seen[page] == WINDOW_FRAME_NONE || frame_seen[page] == frame);
            is_used[frame] = true;
            mapped_count++;
        }
        frame_seen[page] = frame;
    }
    const uint32_t beside = pool == &shared_pool ? 0 : tau_frames_free_count(&shared_pool);
    EXPECT_EQUAL(mapped_count + tau_frames_free_count(pool) + beside, frames_count);
    EXPECT_EQUAL(test_port.lock_depth + test_port.nested_count + test_port.misuse_count, 0);
}

// ---- The program's bytes -----------------------------------------------------------------------

static void expect_bytes(const struct oracle_object *object, size_t count) {
    WINDOW_RUN(WINDOW_ALLOCATOR, {
        for (size_t i = object->pointer; i < object->pointer + count; i++) {
            EXPECT(!is_written[i] || window.base[i] == written[i]);
        }
    });
}

static void forget_bytes(size_t from, size_t to) {
    memset(is_written + from, false, to - from);
}

// Writes a few bytes, as far as there are frames for their pages.
static void call_write(const struct oracle_object *object) {
    const size_t offset = fuzz_choose(object->size);
    const size_t most = object->size - offset;
    const size_t count = 1 + fuzz_choose(most < WRITES_BYTES_MAX ? most : WRITES_BYTES_MAX);
    const size_t from = object->pointer + offset;
    for (size_t page = from / TAU_PAGE_BYTES; page <= (from + count - 1) / TAU_PAGE_BYTES; page++) {
        if (fault((uint32_t)page) == TAU_NO_FRAME) {
            return;
        }
    }
    const unsigned char first = (unsigned char)fuzz_choose(256);
    WINDOW_RUN(WINDOW_ALLOCATOR, {
        for (size_t i = 0; i < count; i++) {
            window.base[from + i] = written[from + i] = (unsigned char)(first + i);
            is_written[from + i] = true;
        }
    });
}

// ---- The calls ---------------------------------------------------------------------------------

static unsigned char *address_of(size_t offset) {
    return window.base + offset;
}

static bool is_admitted(const struct oracle_heap *after) {
    const struct oracle_cost cost = oracle_cost(after);
    return cost.frames <= tau_frames_free_count(pool) &&
           cost.committed_pages <= after->commit_max_pages;
}

// Where the object goes if neither frames nor the commitment are asked.
static bool find_place(size_t alignment, size_t size, struct oracle_object *object) {
    const unsigned char *const found = tau_break_heap_aligned_alloc(&twin, alignment, size);
    const size_t slack = alignment > ORACLE_UNIT ? 4 * alignment + ORACLE_PAGE_START_GAP : 0;
    size_t low, high;
    if (found == NULL) {  // no class of blocks is wider than a quarter of its least size
        const size_t needed = size < sizeof twin_memory ? oracle_needed(size) : size;
        EXPECT(oracle_largest_free_block(&oracle) / 5 < needed / 4 + slack / 4 + ORACLE_UNIT);
        return false;
    }
    const size_t pointer = (size_t)(found - twin_memory);
    const bool is_free = oracle_free_block(&oracle, pointer, &low, &high);
    EXPECT(is_free);
    *object = oracle_placed(low, high, alignment, size);
    EXPECT_EQUAL(object->pointer, pointer);
    EXPECT(is_free && object->pointer + size <= object->end && object->end <= high);
    return is_free;
}

static void expect_object(const struct oracle_object *object, size_t alignment) {
    const size_t usable = object->end - object->pointer - ORACLE_OVERHEAD;
    size_t said = 0;
    WINDOW_RUN(WINDOW_ALLOCATOR,
               said = tau_page_heap_usable_size(&heap, address_of(object->pointer)));
    EXPECT_EQUAL(said, usable);
    EXPECT(usable >= object->size && object->pointer % alignment == 0);
}

static size_t some_size(void) {
    const size_t kind = fuzz_choose(16);
    if (kind == 0) {
        return SIZE_MAX >> fuzz_choose(50);
    }
    if (kind < 3) {
        return 1 + fuzz_choose(20 * TAU_PAGE_BYTES);
    }
    if (kind < 8) {  // whole pages or nearly
        return (1 + fuzz_choose(3)) * TAU_PAGE_BYTES - 8 * fuzz_choose(8);
    }
    return 1 + fuzz_choose((size_t)1 << (1 + fuzz_choose(13)));
}

static void call_allocate(struct oracle_object *object) {
    const size_t alignment = (size_t)1 << (fuzz_choose(2) == 0 ? 3 : fuzz_choose(15));
    const size_t size = some_size();
    struct oracle_object placed;
    unsigned char *pointer = NULL;
    const bool has_place = find_place(alignment, size, &placed);
    struct oracle_heap after = oracle;
    bool is_served = false;
    if (has_place) {
        after.objects[object - oracle.objects] = placed;
        is_served = is_admitted(&after);
    }
    WINDOW_RUN(WINDOW_ALLOCATOR, pointer = tau_page_heap_aligned_alloc(&heap, alignment, size));
    EXPECT(pointer == (is_served ? address_of(placed.pointer) : NULL));
    if (is_served) {
        oracle = after;
        oracle_settle(&oracle);
        expect_object(&placed, alignment);
    } else if (has_place) {
        EXPECT_EQUAL(tau_break_heap_free(&twin, twin_memory + placed.pointer), TAU_OK);
    }
}

static void call_resize(struct oracle_object *object) {
    const size_t size = fuzz_choose(2) == 0 ? 1 + fuzz_choose(6 * TAU_PAGE_BYTES)
                                            : 1 + fuzz_choose(2 * object->size);
    struct oracle_heap after = oracle;
    struct oracle_object *const changed = &after.objects[object - oracle.objects];
    const bool is_resized = oracle_resized(&oracle, changed, size) && is_admitted(&after);
    bool said = false;
    WINDOW_RUN(WINDOW_ALLOCATOR,
               said = tau_page_heap_resize(&heap, address_of(object->pointer), size));
    EXPECT_EQUAL(said, is_resized);
    if (is_resized) {
        EXPECT(tau_break_heap_resize(&twin, twin_memory + object->pointer, size));
        oracle = after;
        oracle_settle(&oracle);
        forget_bytes(object->pointer + size, object->end);
        expect_object(object, 1);
    }
    expect_bytes(object, object->size);
}

static void call_free(struct oracle_object *object) {
    enum tau_status status = TAU_OK;
    expect_bytes(object, object->size);
    WINDOW_RUN(WINDOW_ALLOCATOR, status = tau_page_heap_free(&heap, address_of(object->pointer)));
    EXPECT_EQUAL(status, TAU_OK);
    EXPECT_EQUAL(tau_break_heap_free(&twin, twin_memory + object->pointer), TAU_OK);
    forget_bytes(object->start, object->end);
    object->is_live = false;
    oracle_settle(&oracle);
    if (TAU_CHECK_LEVEL >= 1) {
        WINDOW_RUN(WINDOW_ALLOCATOR,
                   status = tau_page_heap_free(&heap, address_of(object->pointer)));
        EXPECT(status != TAU_OK);
        EXPECT_EQUAL(test_port.misuse_count, 1);
        test_port.misuse_count = 0;
    }
}

// A page of the space: of an object, of none, or beside the heap.
static void call_fault(void) {
    (void)fault(1 + (uint32_t)fuzz_choose(PAGES - 1));
}

static void call_any(void) {
    struct oracle_object *const object = &oracle.objects[fuzz_choose(ORACLE_OBJECTS)];
    const size_t kind = fuzz_choose(32);
    struct tau_frames taken;
    take_all_but(fuzz_choose(4) == 0 ? FRAMES_MAX : (uint32_t)fuzz_choose(4), &taken);
    if (kind == 0) {
        call_fault();
    } else if (!object->is_live) {
        call_allocate(object);
    } else if (kind < 14) {
        call_write(object);
    } else if (kind < 22) {
        call_resize(object);
    } else {
        call_free(object);
    }
    tau_frames_return(&shared_pool, &taken);
}

// ---- Programs ----------------------------------------------------------------------------------

static void open_twin(uint32_t first, uint32_t pages) {
    static uint32_t tables[TABLE_WORDS];
    memset(tables, 0xff, sizeof tables);
    REQUIRE(tau_frames_init(&twin_pool, twin_links, FRAMES_MAX, NULL) == TAU_OK);
    REQUIRE(tau_frames_add(&twin_pool, (struct tau_frame){0}, FRAMES_MAX) == TAU_OK);
    REQUIRE(tau_pagetable_init(&twin_table, tables, sizeof tables, PAGES_LOG2, &twin_pool,
                               TAU_PAGETABLE_RESERVED) == TAU_OK);
    REQUIRE(tau_break_heap_init(&twin, &twin_table, (uintptr_t)twin_memory,
                                (struct tau_page){first}, pages) == TAU_OK);
}

// Makes the machine and its heap; false if the heap is refused, which the oracle knew.
static bool open_heap(void) {
    static uint32_t tables[TABLE_WORDS];
    const uint32_t first = 1 + (uint32_t)fuzz_choose(20);
    const uint32_t pages = 4 + (uint32_t)fuzz_choose(PAGES - 24);
    const bool is_committed = fuzz_choose(4) == 0;
    uint32_t commit_max_pages = fuzz_choose(2) == 0 ? UINT32_MAX : 1 + (uint32_t)fuzz_choose(40);
    enum tau_status status = TAU_OK;
    frames_count = 1 + (uint32_t)fuzz_choose(fuzz_choose(2) == 0 ? 20 : FRAMES_MAX);
    window_open(PAGES, frames_count);
    window.frame_of = frame_of;
    window.map = fault;
    memset(&test_port, 0, sizeof test_port);
    memset(tables, 0xff, sizeof tables);
    memset(is_written, false, sizeof is_written);
    memset(frame_seen, 0xff, sizeof frame_seen);
    REQUIRE(tau_frames_init(&shared_pool, links, frames_count, window.frames) == TAU_OK);
    REQUIRE(tau_frames_add(&shared_pool, (struct tau_frame){0}, frames_count) == TAU_OK);
    pool = &shared_pool;
    if (is_committed) {
        commit_max_pages = 1 + (uint32_t)fuzz_choose(frames_count);
        REQUIRE(tau_frames_reserve(&shared_pool, &reserved_pool, commit_max_pages) == TAU_OK);
        pool = &reserved_pool;
    }
    REQUIRE(tau_vspace_init(&space, tables, sizeof tables, PAGES_LOG2, pool,
                            is_committed ? TAU_VSPACE_COMMIT : TAU_VSPACE_OVERCOMMIT) == TAU_OK);
    oracle_begin(&oracle, first, pages, commit_max_pages,
                 tau_tlsf_control_bytes((size_t)pages * TAU_PAGE_BYTES));
    const bool is_made = is_admitted(&oracle);
    WINDOW_RUN(WINDOW_ALLOCATOR,
               status = tau_page_heap_init(&heap, &space, (uintptr_t)window.base,
                                           (struct tau_page){first}, pages, commit_max_pages));
    EXPECT_EQUAL(status == TAU_OK, is_made);
    if (is_made) {
        oracle_settle(&oracle);
        open_twin(first, pages);
    }
    expect_pages();
    return is_made && status == TAU_OK;
}

// Returns the program's number of calls.
static size_t run_program(void) {
    const size_t steps_count = 1 + fuzz_choose(STEPS_MAX);
    if (open_heap()) {
        for (size_t i = 0; i < steps_count && test_failures_count == 0; i++) {
            call_any();
            expect_pages();
        }
        for (size_t i = 0; i < ORACLE_OBJECTS && test_failures_count == 0; i++) {
            if (oracle.objects[i].is_live) {
                call_free(&oracle.objects[i]);
                expect_pages();
            }
        }
    }
    window_close();
    return steps_count;
}

FUZZ_MAIN(run_program)
