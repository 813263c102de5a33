// Goal: no program of calls makes a colored heap touch a page that it was not given, or take a
// pointer that is not its own.
// Method: random geometries, owners and windows; each handed out page is checked naively. Several
// heaps at once, of which only the runs can be touched. Right and wrong calls; the full walk of
// TLSF after each.
#include "core/tests/checks/check_tlsf.h"
#include "core/tests/kit/fuzz.h"
#include "core/tests/tlb_color/color_world.h"

enum { CALLS_MAX = 300, OBJECTS = 24, BITS = 7 };

static struct fuzz_object objects[PRINCIPALS_MAX][OBJECTS];

static uint32_t choose(uint32_t limit) {
    return (uint32_t)fuzz_choose(limit);
}

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

static void choose_geometry(unsigned principals) {
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
        for (unsigned own = 0; own < principals; own++) {
            world.owned[own][i] = 0;
            world.sets[own][i].taken = choose(2);
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

// Bytes of an object are its own pages' bytes.
static void begin(unsigned own, struct fuzz_object *object, size_t size, size_t alignment) {
    const size_t usable = tau_tlb_color_usable_size(&heaps[own], object->bytes);
    EXPECT(world_in_one_run(own, object->bytes, usable));
    for (uintptr_t page = (uintptr_t)object->bytes / PAGE_BYTES * PAGE_BYTES;
         page < (uintptr_t)object->bytes + usable; page += PAGE_BYTES) {
        EXPECT(world_owns(own, page));
    }
    fuzz_begin(object, usable, size, alignment);
}

static void allocate_or_free(unsigned own) {
    struct tau_tlb_color *const heap = &heaps[own];
    struct fuzz_object *const object = &objects[own][choose(OBJECTS)];
    const size_t size = fuzz_size((size_t)2 << (6 + choose(9)));
    if (object->bytes == NULL) {
        const size_t alignment = choose(4) == 0 ? (size_t)TAU_ALIGNMENT << choose(10) : 1;
        object->bytes = alignment > 1 ? tau_tlb_color_aligned_alloc(heap, alignment, size)
                                      : tau_tlb_color_malloc(heap, size);
        if (object->bytes != NULL) {
            begin(own, object, size, alignment > 1 ? alignment : TAU_ALIGNMENT);
        } else if (alignment == 1 && size != 0) {
            EXPECT(size > tau_tlb_color_object_max_bytes(heap) ||
                   tau_tlsf_statistics(heap->blocks).used_bytes > 0);
        }
        return;
    }
    fuzz_expect_intact(object, object->size);
    if (choose(3) == 0 && size > 0) {
        const size_t kept = size < object->size ? size : object->size;
        unsigned char *const moved = tau_tlb_color_realloc(heap, object->bytes, size);
        if (moved != NULL) {
            object->bytes = moved;
            fuzz_expect_intact(object, kept < FUZZ_EDGE_BYTES ? kept : FUZZ_EDGE_BYTES);
            begin(own, object, size, object->alignment);
        }
        return;
    }
    EXPECT_EQUAL(tau_tlb_color_free(heap, object->bytes), TAU_OK);
    object->bytes = NULL;
}

// A pointer that is no object of heap OWN: of another heap, in a gap, or somewhere.
static void misuse(unsigned own, unsigned principals) {
    const struct tau_tlb_color_window *const window = &world.windows[own];
    struct tau_tlb_color *const heap = &heaps[own];
    uintptr_t pointer = world_start - PAGE_BYTES + choose(1u << 24);
    const unsigned other = choose(principals);
    if (other != own && objects[other][0].bytes != NULL) {
        pointer = (uintptr_t)objects[other][0].bytes;
    } else if (choose(2) == 0) {  // the first byte of a page, or one that a header lies in front of
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
}

// Opens heap OWN; false if there is no page for it.
static bool open_heap(unsigned own) {
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

static size_t run_program(void) {
    const unsigned principals = 1 + choose(PRINCIPALS_MAX);
    bool open[PRINCIPALS_MAX] = {false};
    size_t calls = 0;
    choose_geometry(principals);
    memset(objects, 0, sizeof objects);
    for (unsigned i = 0; i < principals; i++) {
        const uint8_t size_log2 = (uint8_t)(PAGE_LOG2 + 3 + choose(6));
        world.windows[i] = (struct tau_tlb_color_window){
            world_start + (uintptr_t)i * WINDOW_PAGES_MAX * PAGE_BYTES, size_log2, PAGE_LOG2};
    }
    REQUIRE(tau_tlb_color_check(&world.partition) == TAU_OK);
    for (unsigned i = 0; i < principals; i++) {
        open[i] = open_heap(i);
    }
    for (unsigned turn = 0; turn < CALLS_MAX && !fuzz_is_over() && test_failures_count == 0;
         turn++) {
        const unsigned own = choose(principals);
        if (!open[own]) {
            continue;
        }
        calls++;
        if (choose(8) == 0) {
            misuse(own, principals);
        } else {
            allocate_or_free(own);
        }
        EXPECT_EQUAL(check_tlsf(heaps[own].blocks), 0);
    }
    for (unsigned i = 0; i < principals; i++) {
        if (open[i]) {
            world_unmap(i);
        }
    }
    return calls + 1;
}

FUZZ_MAIN(run_program)
