// Goal: heaps on pages place objects, map pages and release them as docs/spec/page_heap.md says.
// - The allocator never touches an unmapped page.
// - No object loses a byte.
// - With any number of frames left, especially none, one and two, a request is served if and only
//   if its frames and its commitment suffice.
// - The pages that our heap has mapped are at each moment a subset of the conventional heap's.
//
// Method: random programs in a window whose pages are closed until their frame is looked up
// (page_window.h), full walks, and the same program on both heaps, step by step, with plenty of
// frames [P0-6, P0-33, P0-34, P0-45]. In some programs all frames but a few are taken out of the
// pool before each call.
//
// Usage: fuzz_page_heap SEED CALLS. If TAU_FUZZ_LOG is set, the calls are written to that file for
// the Python models to repeat: they predict each answer, each place and each mapped page.
#include "core/tests/checks/check_frames.h"
#include "core/tests/checks/check_page_heap.h"
#include "core/tests/checks/check_tlsf.h"
#include "core/tests/checks/check_vspace.h"
#include "core/tests/kit/fuzz_pages.h"
#include "core/tests/kit/page_window.h"
#include "peers/conventional/break_heap.h"

enum {
    PAGES_LOG2 = 8,
    PAGES = 1 << PAGES_LOG2,
    FRAMES_MAX = 2 * PAGES,
    OBJECTS = 40,
    MARKS = 16,
    STEPS_MAX = 400,
    WALK_EVERY = 8,
};

struct mark {
    size_t offset;
    unsigned char value;
};

struct object {
    unsigned char *bytes;
    size_t size;
    unsigned marks_count;
    struct mark marks[MARKS];
};

// One of the two heaps.
struct heap_calls {
    bool is_page_heap;
    void *(*malloc)(size_t size_bytes);
    void *(*aligned_alloc)(size_t alignment, size_t size_bytes);
    bool (*resize)(void *pointer, size_t size_bytes);
    enum tau_status (*free)(void *pointer);
    size_t (*usable_size)(const void *pointer);
    enum tau_status (*map)(uint32_t page);
    uint32_t (*frame_of)(uint32_t page);
};

static struct tau_vspace space;
static struct tau_page_heap page_heap;
static struct tau_pagetable table;
static struct tau_break_heap break_heap;
static uint32_t links[FRAMES_MAX];
static struct tau_frames shared_pool;
static struct tau_frames reserved_pool;
static struct tau_frames *pool;
static const struct heap_calls *heap;
static struct object objects[OBJECTS];
static bool is_committed;  // faults never fail
static bool is_lockstep;   // both heaps run the same program
static bool is_scarce;     // most frames are taken away before each call
static bool is_malloc_logged;
// Results of the first of two runs in lockstep: pointers, and the mapped pages after each step.
static struct {
    void *pointer;
    bool is_mapped[PAGES];
} steps[STEPS_MAX];
static size_t steps_count;

static size_t offset_of(const void *pointer) {
    return pointer == NULL ? 0 : (size_t)((const unsigned char *)pointer - window.base);
}

// ---- The heaps ---------------------------------------------------------------------------------

static void *page_malloc(size_t size_bytes) {
    return tau_page_heap_malloc(&page_heap, size_bytes);
}
static void *page_aligned_alloc(size_t alignment, size_t size_bytes) {
    return tau_page_heap_aligned_alloc(&page_heap, alignment, size_bytes);
}
static bool page_resize(void *pointer, size_t size_bytes) {
    return tau_page_heap_resize(&page_heap, pointer, size_bytes);
}
static enum tau_status page_free(void *pointer) {
    return tau_page_heap_free(&page_heap, pointer);
}
static size_t page_usable_size(const void *pointer) {
    return tau_page_heap_usable_size(&page_heap, pointer);
}
static enum tau_status page_map(uint32_t page) {
    return tau_vspace_map_page(&space, (struct tau_page){page}, TAU_WRITE);
}
static uint32_t page_frame_of(uint32_t page) {
    struct tau_frame frame;
    return tau_vspace_translate(&space, (struct tau_page){page}, TAU_WRITE, &frame) == TAU_OK
               ? frame.number
               : WINDOW_FRAME_NONE;
}

static void *break_malloc(size_t size_bytes) {
    return tau_break_heap_malloc(&break_heap, size_bytes);
}
static void *break_aligned_alloc(size_t alignment, size_t size_bytes) {
    return tau_break_heap_aligned_alloc(&break_heap, alignment, size_bytes);
}
static bool break_resize(void *pointer, size_t size_bytes) {
    return tau_break_heap_resize(&break_heap, pointer, size_bytes);
}
static enum tau_status break_free(void *pointer) {
    return tau_break_heap_free(&break_heap, pointer);
}
static size_t break_usable_size(const void *pointer) {
    return tau_break_heap_usable_size(&break_heap, pointer);
}
static enum tau_status break_map(uint32_t page) {
    return tau_break_heap_map_page(&break_heap, (struct tau_page){page});
}
static uint32_t break_frame_of(uint32_t page) {
    struct tau_frame frame;
    return tau_pagetable_translate(&table, (struct tau_page){page}, TAU_WRITE, &frame) == TAU_OK
               ? frame.number
               : WINDOW_FRAME_NONE;
}

static const struct heap_calls heaps[] = {
    {true, page_malloc, page_aligned_alloc, page_resize, page_free, page_usable_size, page_map,
     page_frame_of},
    {false, break_malloc, break_aligned_alloc, break_resize, break_free, break_usable_size,
     break_map, break_frame_of},
};

// ---- Logging and comparing ---------------------------------------------------------------------

static void log_region(uint32_t page) {
    const uint32_t top = space.validity.regions[page].top;
    const uint32_t sp = top & TAU_NUMBER_MASK;
    LOG(" %u:%u:", (unsigned)page, (unsigned)(top >> 30));
    for (uint32_t place = page; place <= sp; place++) {
        const uint32_t mapped = space.validity.stacks[place].page;
        LOG("%s%u=%u", place == page ? "" : ",", (unsigned)mapped,
            (unsigned)(space.validity.data[mapped] & TAU_NUMBER_MASK));
    }
}

// The state as far as the models tell it.
static void log_state(void) {
    if (log_file == NULL) {
        return;
    }
    LOG("D");
    if (heap->is_page_heap) {
        LOG(" %u", (unsigned)page_heap.committed_pages);
        for (uint32_t page = 1; page < PAGES; page++) {
            const uint32_t state = space.validity.regions[page].top >> 30;
            if (tau_region_tree_is_start(&space.tree, (struct tau_page){page}) && state != 0) {
                log_region(page);
            }
        }
    } else {
        LOG(" %u", (unsigned)break_heap.break_page);
        for (uint32_t page = 1; page < PAGES; page++) {
            const uint32_t frame = break_frame_of(page);
            if (frame != WINDOW_FRAME_NONE) {
                LOG(" %u=%u", (unsigned)page, (unsigned)frame);
            }
        }
    }
    LOG("\n");
}

// A call that hands out an object and then touches it is logged before its faults.
static void log_malloc(void) {
    if (!is_malloc_logged) {
        is_malloc_logged = true;
        LOG("m %zu %zu\n", test_port.trace_size_bytes, offset_of(test_port.trace_pointer));
    }
}

// A fault. A frame that the shared pool hands out is cleared; a reserved one is the space's own.
static enum tau_status map_page(uint32_t page) {
    const enum tau_status status = heap->map(page);
    LOG("t %u %d\n", (unsigned)page, (int)status);
    if (status == TAU_OK && pool == &shared_pool) {
        const unsigned char *const frame = window.frames + heap->frame_of(page) * TAU_PAGE_BYTES;
        EXPECT(frame[0] == 0 && memcmp(frame, frame + 1, TAU_PAGE_BYTES - 1) == 0);
    }
    return status;
}

static enum tau_status map_for_window(uint32_t page) {
    if (window.user == WINDOW_CALL) {
        log_malloc();
    }
    return map_page(page);
}

static void expect_sound(void) {
    unsigned char places[FRAMES_MAX] = {0};
    if (heap->is_page_heap) {
        unsigned broken = 0;
        WINDOW_RUN(WINDOW_ALLOCATOR, broken = check_page_heap(&page_heap));
        EXPECT_EQUAL(broken, 0);
        (void)check_vspace(&space, places);
    } else {
        unsigned broken = 0;
        WINDOW_RUN(WINDOW_ALLOCATOR, broken = check_tlsf(break_heap.blocks));
        EXPECT_EQUAL(broken, 0);
        for (uint32_t page = 0; page < PAGES; page++) {
            const uint32_t frame = break_frame_of(page);
            if (frame != WINDOW_FRAME_NONE) {
                places[frame]++;
            }
        }
    }
    EXPECT_EQUAL(check_frames(&shared_pool, places), 0);
    if (pool == &reserved_pool) {
        EXPECT_EQUAL(check_frames(&reserved_pool, places), 0);
    }
    for (uint32_t frame = 0; frame < shared_pool.frames_count; frame++) {
        EXPECT_EQUAL(places[frame], 1);
    }
    EXPECT_EQUAL(test_port.lock_depth + test_port.nested_count, 0);
}

// In lockstep: the conventional heap follows the one on pages, and has at least its pages.
static void compare_step(void *pointer) {
    if (!is_lockstep || steps_count == STEPS_MAX) {
        return;
    }
    if (!heap->is_page_heap) {
        EXPECT(steps[steps_count].pointer == pointer);
    }
    steps[steps_count].pointer = pointer;
    for (uint32_t page = 0; page < PAGES; page++) {
        const bool is_mapped = heap->frame_of(page) != WINDOW_FRAME_NONE;
        EXPECT(heap->is_page_heap || is_mapped || !steps[steps_count].is_mapped[page]);
        if (heap->is_page_heap) {
            steps[steps_count].is_mapped[page] = is_mapped;
        }
    }
    steps_count++;
}

// ---- The program's calls -----------------------------------------------------------------------

static void expect_marks(const struct object *object) {
    for (unsigned i = 0; i < object->marks_count; i++) {
        EXPECT_EQUAL(object->bytes[object->marks[i].offset], object->marks[i].value);
    }
}

// The object has SIZE bytes from now on: bytes beyond are no longer its own.
static void resize_object(struct object *object, size_t size) {
    unsigned kept = 0;
    for (unsigned i = 0; i < object->marks_count; i++) {
        if (object->marks[i].offset < size) {
            object->marks[kept++] = object->marks[i];
        }
    }
    object->marks_count = kept;
    object->size = size;
}

static void begin_object(struct object *object, void *pointer, size_t size, size_t alignment) {
    object->bytes = pointer;
    object->size = size;
    object->marks_count = 0;
    size_t usable = 0;
    WINDOW_RUN(WINDOW_ALLOCATOR, usable = heap->usable_size(pointer));
    LOG("u %zu %zu\n", offset_of(pointer), usable);
    EXPECT(usable >= size);
    EXPECT_EQUAL((uintptr_t)pointer % alignment, 0);
}

static size_t some_size(void) {
    const size_t kind = fuzz_choose(16);
    if (kind == 0) {
        return SIZE_MAX >> fuzz_choose(50);
    }
    if (kind < 4) {
        return fuzz_choose(24 * TAU_PAGE_BYTES) + 1;
    }
    if (kind < 8) {  // whole pages or nearly
        return (1 + fuzz_choose(6)) * TAU_PAGE_BYTES - 8 * fuzz_choose(6);
    }
    return fuzz_choose((size_t)1 << (1 + fuzz_choose(13))) + (kind == 8 ? 0 : 1);
}

static void call_allocate(struct object *object) {
    const size_t size = some_size();
    const size_t kind = fuzz_choose(8);
    const size_t alignment = (size_t)1 << fuzz_choose(15);
    const uint32_t frames_left = tau_frames_free_count(pool);
    void *pointer = NULL;
    if (kind == 0) {
        WINDOW_RUN(WINDOW_ALLOCATOR, pointer = heap->aligned_alloc(alignment, size));
        LOG("a %zu %zu %zu\n", alignment, size, offset_of(pointer));
    } else if (kind == 1 && heap->is_page_heap && !is_lockstep && size < 8 * TAU_PAGE_BYTES &&
               frames_left > 12) {
        is_malloc_logged = false;
        WINDOW_RUN(WINDOW_CALL, pointer = tau_page_heap_calloc(&page_heap, 1, size));
        if (pointer == NULL) {
            LOG("m %zu 0\n", size);
        } else {
            log_malloc();
            WINDOW_RUN(WINDOW_PROGRAM, {
                for (size_t i = 0; i < size; i++) {
                    EXPECT_EQUAL(((unsigned char *)pointer)[i], 0);
                }
            });
        }
    } else {
        WINDOW_RUN(WINDOW_ALLOCATOR, pointer = heap->malloc(size));
        LOG("m %zu %zu\n", size, offset_of(pointer));
    }
    if (pointer != NULL) {
        begin_object(object, pointer, size, kind == 0 ? alignment : TAU_ALIGNMENT);
    }
    compare_step(pointer);
}

static void call_touch(struct object *object) {
    const size_t offset = fuzz_choose(object->size);
    const uint32_t page = (uint32_t)(offset_of(object->bytes + offset) / TAU_PAGE_BYTES);
    if (heap->frame_of(page) == WINDOW_FRAME_NONE && tau_frames_free_count(pool) == 0) {
        EXPECT(!is_committed);
        EXPECT_EQUAL(map_page(page), TAU_NO_FRAME);
        return;
    }
    struct mark *const mark = &object->marks[object->marks_count % MARKS];
    WINDOW_RUN(WINDOW_PROGRAM, {
        expect_marks(object);
        for (unsigned i = 0; i < object->marks_count; i++) {
            if (object->marks[i].offset == offset) {
                object->marks[i].value = 0x5c;
            }
        }
        object->bytes[offset] = 0x5c;
    });
    if (object->marks_count < MARKS) {
        *mark = (struct mark){offset, 0x5c};
        object->marks_count++;
    }
    compare_step(NULL);
}

// A page of the heap that no object reaches cannot be touched.
static void call_touch_anywhere(void) {
    const uint32_t page = (uint32_t)fuzz_choose(PAGES + 2);
    if (page < PAGES && heap->frame_of(page) != WINDOW_FRAME_NONE) {
        return;
    }
    (void)map_page(page);
}

static void call_resize(struct object *object) {
    const size_t size = fuzz_choose(2) == 0 ? some_size() : fuzz_choose(2 * object->size) + 1;
    bool is_resized = false;
    WINDOW_RUN(WINDOW_ALLOCATOR, is_resized = heap->resize(object->bytes, size));
    LOG("z %zu %zu %d\n", offset_of(object->bytes), size, is_resized);
    if (is_resized) {
        resize_object(object, size);
    }
    WINDOW_RUN(WINDOW_PROGRAM, expect_marks(object));
    compare_step(is_resized ? object->bytes : NULL);
}

static void call_realloc(struct object *object) {
    const size_t size = fuzz_choose(6 * TAU_PAGE_BYTES) + 1;
    const size_t old = offset_of(object->bytes);
    if (tau_frames_free_count(pool) < 16 || object->size > 8 * TAU_PAGE_BYTES) {
        return;
    }
    void *moved = NULL;
    is_malloc_logged = false;
    const unsigned moves_count = test_port.moves_count;
    test_port.on_move = log_malloc;
    LOG("Z %zu %zu\n", old, size);
    WINDOW_RUN(WINDOW_CALL, moved = tau_page_heap_realloc(&page_heap, object->bytes, size));
    test_port.on_move = NULL;
    LOG("%c %zu\n", test_port.moves_count != moves_count ? 'F' : moved != NULL ? 'K' : 'N', old);
    if (moved != NULL) {
        object->bytes = moved;
        resize_object(object, size);
        WINDOW_RUN(WINDOW_PROGRAM, expect_marks(object));
    }
}

static void call_free(struct object *object) {
    enum tau_status status = TAU_OK;
    WINDOW_RUN(WINDOW_PROGRAM, expect_marks(object));
    WINDOW_RUN(WINDOW_ALLOCATOR, status = heap->free(object->bytes));
    EXPECT_EQUAL(status, TAU_OK);
    LOG("f %zu\n", offset_of(object->bytes));
    if (TAU_CHECK_LEVEL >= 1) {
        WINDOW_RUN(WINDOW_ALLOCATOR, status = heap->free(object->bytes));
        EXPECT(status == TAU_DOUBLE_FREE || status == TAU_FOREIGN_POINTER ||
               status == TAU_OVERWRITTEN);
        EXPECT_EQUAL(test_port.misuse_count, 1);
        test_port.misuse_count = 0;
    }
    object->bytes = NULL;
    compare_step(NULL);
}

// Takes all frames but LEFT out of the shared pool.
static void take_all_but(uint32_t left, struct tau_frames *taken) {
    const uint32_t free_count = tau_frames_free_count(&shared_pool);
    const uint32_t count = free_count > left ? free_count - left : 0;
    REQUIRE(tau_frames_reserve(&shared_pool, taken, count) == TAU_OK);
    LOG("P %u\n", (unsigned)count);
}

static void call_any(void) {
    struct object *const object = &objects[fuzz_choose(OBJECTS)];
    const size_t kind = fuzz_choose(64);
    if (kind == 0) {
        if (!is_lockstep) {
            call_touch_anywhere();
        }
    } else if (object->bytes == NULL) {
        call_allocate(object);
    } else if (kind < 30) {
        call_touch(object);
    } else if (kind < 38) {
        call_resize(object);
    } else if (kind < 42 && heap->is_page_heap && !is_lockstep) {
        call_realloc(object);
    } else {
        call_free(object);
    }
}

// ---- Programs ----------------------------------------------------------------------------------

// Makes the machine and one heap; false if the heap is refused, which is compared, too.
static bool open_heap(void) {
    static uint32_t tables[(PAGES * 5 + PAGES) * 4];
    const bool is_plenty = is_lockstep || fuzz_choose(2) == 0;
    const uint32_t frames_count = is_plenty ? FRAMES_MAX : 4 + (uint32_t)fuzz_choose(60);
    const struct tau_page first = {1 + (uint32_t)fuzz_choose(20)};
    const uint32_t pages = 4 + (uint32_t)fuzz_choose(PAGES - 24);
    uint32_t commit =
        fuzz_choose(3) == 0 && !is_lockstep ? 4 + (uint32_t)fuzz_choose(60) : UINT32_MAX;
    enum tau_status status = TAU_OK;
    window_open(PAGES, frames_count);
    window.frame_of = heap->frame_of;
    window.map = map_for_window;
    memset(&test_port, 0, sizeof test_port);
    memset(tables, 0xff, sizeof tables);
    REQUIRE(tau_frames_init(&shared_pool, links, frames_count, window.frames) == TAU_OK);
    REQUIRE(tau_frames_add(&shared_pool, (struct tau_frame){0}, frames_count) == TAU_OK);
    pool = &shared_pool;
    is_committed = heap->is_page_heap && !is_lockstep && fuzz_choose(3) == 0;
    if (is_committed) {
        commit = 4 + (uint32_t)fuzz_choose(frames_count - 3);
        REQUIRE(tau_frames_reserve(&shared_pool, &reserved_pool, commit) == TAU_OK);
        pool = &reserved_pool;
    }
    if (heap->is_page_heap) {
        REQUIRE(tau_vspace_init(&space, tables, sizeof tables, PAGES_LOG2, pool,
                                is_committed ? TAU_VSPACE_COMMIT : TAU_VSPACE_OVERCOMMIT) ==
                TAU_OK);
        WINDOW_RUN(WINDOW_ALLOCATOR,
                   status = tau_page_heap_init(&page_heap, &space, (uintptr_t)window.base, first,
                                               pages, commit));
    } else {
        REQUIRE(tau_pagetable_init(&table, tables, sizeof tables, PAGES_LOG2, pool,
                                   TAU_PAGETABLE_RESERVED) == TAU_OK);
        WINDOW_RUN(WINDOW_ALLOCATOR,
                   status = tau_break_heap_init(&break_heap, &table, (uintptr_t)window.base, first,
                                                pages));
    }
    struct tau_tlsf *const blocks = heap->is_page_heap ? page_heap.blocks : break_heap.blocks;
    struct tau_tlsf_statistics now = {0};
    if (status == TAU_OK) {
        WINDOW_RUN(WINDOW_ALLOCATOR, now = tau_tlsf_statistics(blocks));
    }
    LOG("H %d %u %u %u %u %u %d %zu %u %u %d\n", heap->is_page_heap, PAGES_LOG2,
        (unsigned)first.number, (unsigned)pages, (unsigned)commit, (unsigned)frames_count,
        is_committed, now.control_bytes, (unsigned)TAU_WORD_BITS, (unsigned)TAU_CHECK_LEVEL,
        (int)status);
    return status == TAU_OK;
}

static void run_steps(size_t steps_max) {
    for (size_t i = 0; i < steps_max && test_failures_count == 0; i++) {
        struct tau_frames taken;
        if (is_scarce) {
            take_all_but(fuzz_choose(4) == 0 ? FRAMES_MAX : (uint32_t)fuzz_choose(4), &taken);
        }
        call_any();
        if (is_scarce) {
            tau_frames_return(&shared_pool, &taken);
            LOG("R\n");
        }
        if (i % WALK_EVERY == 0) {
            expect_sound();
        }
        log_state();
    }
    for (size_t i = 0; i < OBJECTS && test_failures_count == 0; i++) {
        if (objects[i].bytes != NULL) {
            call_free(&objects[i]);
        }
    }
    expect_sound();
    log_state();
}

// One program, on one heap or on both. Returns its number of calls.
static size_t run_program(void) {
    log_open();
    const size_t steps_max = 1 + fuzz_choose(STEPS_MAX - OBJECTS - 1);
    const size_t which = fuzz_choose(4);  // page heap alone twice as often
    const uint64_t state = test_random_state;
    is_lockstep = which == 0;
    for (size_t i = which == 1 ? 1 : 0; i < (is_lockstep || which == 1 ? 2 : 1); i++) {
        test_random_state = state;
        heap = &heaps[i];
        steps_count = 0;
        memset(objects, 0, sizeof objects);
        if (open_heap()) {
            is_scarce = heap->is_page_heap && !is_lockstep && !is_committed && fuzz_choose(2) == 0;
            run_steps(steps_max);
        }
        window_close();
    }
    return steps_max;
}

FUZZ_MAIN(run_program)
