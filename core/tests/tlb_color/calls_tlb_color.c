// Goal: no calls make a colored heap touch a page that it was not given, or take a pointer that is
// not its own.
// Method: random geometries, owners and windows; each page that is handed out is checked naively.
// Several heaps at once, of which only the runs can be touched. Right and wrong calls; the full
// walk of TLSF after each.
#include "core/tests/checks/check_tlsf.h"
#include "core/tests/kit/mechanism.h"
#include "core/tests/kit/objects.h"
#include "core/tests/tlb_color/color_world.h"

enum { OBJECTS = 24, BITS = 7 };

static struct fuzz_object objects[PRINCIPALS_MAX][OBJECTS];
static bool is_open[PRINCIPALS_MAX];
static unsigned principals;
static unsigned own;  // whose heap the next call is made on

// Rows that are independent: each has a highest bit of its own.
static void choose_rows(uintptr_t *rows, unsigned count, unsigned low) {
    uint32_t tops = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned top = low + choose(BITS - low);
        while ((tops >> top & 1u) != 0) {
            top = top + 1 < BITS ? top + 1 : low;
        }
        tops |= 1u << top;
        rows[i] = ((uintptr_t)1 << top | choose(1u << top)) >> low << low;
        rows[i] |= (uintptr_t)choose(2) << (45 - PAGE_LOG2);  // the highest bit of all windows
    }
}

static void choose_geometry(void) {
    const unsigned arrays = 1 + choose(ARRAYS_MAX);
    unsigned structures = 0;
    for (unsigned i = 0; i < arrays; i++) {
        const unsigned sets_log2 = i == 0 ? 2 + choose(3) : choose(5);
        const uint32_t ways = 1 + choose(8);
        const uint32_t sets_count = 1u << sets_log2;
        world.arrays[i] = (struct tau_tlb_color_array){sets_count, ways, 1 + choose(ways)};
        world.structures[structures] = (struct tau_tlb_color_structure){
            .constant = choose(sets_count), .page_log2 = PAGE_LOG2, .array = (uint8_t)i};
        choose_rows(world.rows[structures++], sets_log2, 0);
        for (unsigned each = 0; each < principals; each++) {
            world.owned[each][i] = 0;
            world.sets[each][i].taken = choose(2);
        }
        const uint32_t share = 1 + choose(sets_count);
        for (uint32_t set = 0; set < sets_count; set++) {
            const unsigned owner = choose(4) != 0 ? set / share : choose(PRINCIPALS_MAX);
            world.owned[owner % principals][i] |= 1u << set;
        }
    }
    const unsigned array = choose(arrays);
    unsigned sets_log2 = 0;
    for (; 1u << sets_log2 < world.arrays[array].sets_count; sets_log2++) {
    }
    if (sets_log2 <= BITS - 3 && choose(2) == 0) {
        world.structures[structures] =
            (struct tau_tlb_color_structure){.constant = choose(world.arrays[array].sets_count),
                                             .role = TAU_TLB_COLOR_DIRECTORY,
                                             .page_log2 = PAGE_LOG2 + 3,
                                             .array = (uint8_t)array};
        choose_rows(world.rows[structures++], sets_log2, 3);
    }
    world_connect(arrays, structures, principals);
}

// ---- Calls -------------------------------------------------------------------------------------

static size_t choose_size(void) {
    return fuzz_size((size_t)2 << (6 + choose(9)));
}

static size_t choose_alignment(void) {
    return (size_t)TAU_ALIGNMENT << choose(10);
}

static void *call_malloc(size_t size) {
    return tau_tlb_color_malloc(&heaps[own], size);
}

static void *call_aligned_alloc(size_t alignment, size_t size) {
    return tau_tlb_color_aligned_alloc(&heaps[own], alignment, size);
}

static void *call_realloc(void *pointer, size_t size) {
    return tau_tlb_color_realloc(&heaps[own], pointer, size);
}

static enum tau_status call_free(void *pointer) {
    return tau_tlb_color_free(&heaps[own], pointer);
}

static size_t call_usable_size(void *pointer) {
    return tau_tlb_color_usable_size(&heaps[own], pointer);
}

// Bytes of an object are bytes of its owner's pages.
static void given(const struct fuzz_object *object, size_t usable) {
    EXPECT(world_in_one_run(own, object->bytes, usable));
    for (uintptr_t page = (uintptr_t)object->bytes / PAGE_BYTES * PAGE_BYTES;
         page < (uintptr_t)object->bytes + usable; page += PAGE_BYTES) {
        EXPECT(world_owns(own, page));
    }
}

static void refused(size_t size, size_t alignment) {
    if (alignment <= TAU_ALIGNMENT && size != 0) {
        EXPECT(size > tau_tlb_color_object_max_bytes(&heaps[own]) ||
               tau_tlsf_statistics(heaps[own].blocks).used_bytes > 0);
    }
}

static const struct heap_calls calls = {
    .malloc = call_malloc,
    .aligned_alloc = call_aligned_alloc,
    .realloc = call_realloc,
    .free = call_free,
    .usable_size = call_usable_size,
    .choose_size = choose_size,
    .choose_alignment = choose_alignment,
    .given = given,
    .refused = refused,
};

static enum tau_status use_object(void) {
    own = choose(principals);
    if (is_open[own]) {
        objects_call(&calls, objects[own], OBJECTS);
    }
    return TAU_OK;
}

// A pointer that is not an object of the heap: of another heap, in a gap, or somewhere.
static enum tau_status misuse(void) {
    own = choose(principals);
    const struct tau_tlb_color_window *const window = &world.windows[own];
    struct tau_tlb_color *const heap = &heaps[own];
    uintptr_t pointer = world_start - PAGE_BYTES + choose(1u << 24);
    const unsigned other = choose(principals);
    if (!is_open[own]) {
        return TAU_OK;
    }
    if (other != own && objects[other][0].bytes != NULL) {
        pointer = (uintptr_t)objects[other][0].bytes;
    } else if (choose(2) == 0) {  // the first byte of a page, or one that a header lies before
        pointer = window->start + choose(world_pages(own)) * PAGE_BYTES + choose(2) * TAU_ALIGNMENT;
    }
    const uintptr_t header = pointer - sizeof(tau_word);
    const bool inside = header >> window->size_log2 == window->start >> window->size_log2 &&
                        world_in_one_run(own, (void *)(header + 1), 0);
    if (!inside) {
        EXPECT_EQUAL(tau_tlb_color_free(heap, (void *)pointer), TAU_FOREIGN_POINTER);
        EXPECT(tau_tlb_color_realloc(heap, (void *)pointer, 100) == NULL);
        EXPECT_EQUAL(tau_tlb_color_usable_size(heap, (void *)pointer), 0);
    }
    return TAU_OK;
}

// ---- Worlds ------------------------------------------------------------------------------------

// Opens heap OWN; false if it gets no page.
static bool open_heap(void) {
    const uint32_t room = world_room(own);
    const uint32_t pages = 1 + choose(room + 1);
    const enum tau_tlb_color_mode mode = choose(2);
    const enum tau_status status = world_init(own, pages, mode);
    EXPECT_EQUAL(status == TAU_WINDOW_FULL, pages > room);
    EXPECT(status == TAU_OK || status == TAU_WINDOW_FULL || mode == TAU_TLB_COLOR_NO_MISS);
    if (status != TAU_OK) {
        return false;
    }
    world_expect_runs(own, pages);
    world_map(own);
    EXPECT_EQUAL(tau_tlb_color_start(&heaps[own]), TAU_OK);
    const size_t most = tau_tlb_color_object_max_bytes(&heaps[own]);
    EXPECT(tau_tlb_color_malloc(&heaps[own], most + 1) == NULL);
    void *const largest = tau_tlb_color_malloc(&heaps[own], most);
    EXPECT(largest != NULL && world_in_one_run(own, largest, most));
    EXPECT_EQUAL(tau_tlb_color_free(&heaps[own], largest), TAU_OK);
    return true;
}

static void open_world(void) {
    principals = 1 + choose(PRINCIPALS_MAX);
    choose_geometry();
    memset(objects, 0, sizeof objects);
    for (unsigned i = 0; i < principals; i++) {
        const uint8_t size_log2 = (uint8_t)(PAGE_LOG2 + 3 + choose(6));
        world.windows[i] = (struct tau_tlb_color_window){
            world_start + (uintptr_t)i * WINDOW_PAGES_MAX * PAGE_BYTES, size_log2, PAGE_LOG2, 0, 0};
    }
    REQUIRE(tau_tlb_color_check(&world.partition) == TAU_OK);
    for (own = 0; own < principals; own++) {
        is_open[own] = open_heap();
    }
    own = 0;
}

static void check(void) {
    if (is_open[own]) {
        EXPECT_EQUAL(check_tlsf(heaps[own].blocks), 0);
    }
}

static void close_world(void) {
    for (unsigned i = 0; i < principals; i++) {
        if (is_open[i]) {
            world_unmap(i);
        }
    }
}

static const struct operation operations[] = {{7, use_object}, {1, misuse}, {0, NULL}};

static struct mechanism calls_of_tlb_color = {
    .name = "tlb_color",
    .operations = operations,
    .calls_max = 600,
    .check_every = 1,
    .open = open_world,
    .check = check,
    .close = close_world,
};

MECHANISM(calls_of_tlb_color)
