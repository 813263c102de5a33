// Goal: an MMU caches translations by region, and drops a region's when the core calls
// TAU_PORT_FORGET_REGION. Such an MMU never translates what the tables do not. Method: the test's
// MMU caches everything that is mapped, as early and as long as it may: after each call, and in the
// hook itself. A word that is stored only after the hook is thus cached with its old value. Random
// calls use a heap on pages and regions next to it in one space. After each call, all cached
// translations are compared with the tables.
//
// Usage: fuzz_forget SEED CALLS.
#include "core/page_heap.h"
#include "core/tests/checks/check_vspace.h"
#include "core/tests/kit/fuzz.h"
#include "core/tests/kit/port_test.h"

enum {
    PAGES_LOG2 = 8,
    PAGES = 1 << PAGES_LOG2,
    HEAP_PAGES = 160,  // from page 1; the regions lie after
    OBJECTS = 24,
    STEPS_MAX = 400,
    FORGETS_A_CALL_MAX = 2,
};

static struct {
    bool is_kept;
    uint32_t entry;
    uint32_t start;
} kept[PAGES];
static unsigned forgets_count;
static struct tau_vspace space;
static struct tau_page_heap heap;
static unsigned char *objects[OBJECTS];
static size_t sizes[OBJECTS];
static _Alignas(TAU_PAGE_BYTES) unsigned char memory[(size_t)PAGES * TAU_PAGE_BYTES];

// Keeps what the tables translate, as a TLB with an entry for every page would.
static void keep(void) {
    for (uint32_t page = 0; page < PAGES; page++) {
        uint32_t entry;
        if (!kept[page].is_kept &&
            tau_validity_lookup(&space.validity, (struct tau_page){page}, &entry)) {
            kept[page].is_kept = true;
            kept[page].entry = entry;
            kept[page].start = space.validity.regions[page].cache;
        }
    }
}

static void forget_region(const void *of, uint32_t start) {
    EXPECT(of == &space);
    for (uint32_t page = 0; page < PAGES; page++) {
        if (kept[page].start == start) {
            kept[page].is_kept = false;
        }
    }
    forgets_count++;
    keep();
}

// All that is kept is so in the tables, and under the region that has the page now: else the next
// call that unmaps it would not reach it.
static void expect_nothing_stale(void) {
    for (uint32_t page = 0; page < PAGES; page++) {
        uint32_t entry = 0;
        if (kept[page].is_kept) {
            EXPECT(tau_validity_lookup(&space.validity, (struct tau_page){page}, &entry));
            EXPECT_EQUAL(entry, kept[page].entry);
            EXPECT_EQUAL(kept[page].start, space.validity.regions[page].cache);
        }
    }
}

static void call_heap(void) {
    const size_t index = fuzz_choose(OBJECTS);
    const size_t kind = fuzz_choose(8);
    if (objects[index] == NULL) {
        const size_t size = 1 + fuzz_choose((size_t)1 << (4 + fuzz_choose(13)));
        const size_t alignment = (size_t)1 << (3 + fuzz_choose(12));
        objects[index] = kind == 0 ? tau_page_heap_aligned_alloc(&heap, alignment, size)
                                   : tau_page_heap_malloc(&heap, size);
        sizes[index] = size;
    } else if (kind < 3) {
        const uintptr_t address = (uintptr_t)objects[index] + fuzz_choose(sizes[index]);
        const uintptr_t page = (address - (uintptr_t)memory) / TAU_PAGE_BYTES;
        const enum tau_status status =
            tau_vspace_map_page(&space, (struct tau_page){(uint32_t)page}, TAU_WRITE);
        EXPECT(status == TAU_OK || status == TAU_PAGE_MAPPED);
    } else if (kind < 5) {
        const size_t size = 1 + fuzz_choose(2 * sizes[index]);
        if (tau_page_heap_resize(&heap, objects[index], size)) {
            sizes[index] = size;
        }
    } else {
        EXPECT_EQUAL(tau_page_heap_free(&heap, objects[index]), TAU_OK);
        objects[index] = NULL;
    }
}

static void call_regions(void) {
    const struct tau_page page = {1 + HEAP_PAGES + (uint32_t)fuzz_choose(PAGES - HEAP_PAGES - 1)};
    const size_t kind = fuzz_choose(8);
    const uint32_t rights = fuzz_choose(2) == 0 ? TAU_READ : TAU_READ | TAU_WRITE;
    if (kind == 0) {
        (void)tau_vspace_map_region(&space, page, 1 + (uint32_t)fuzz_choose(40), rights);
    } else if (kind == 1) {
        (void)tau_vspace_unmap_region(&space, tau_region_tree_find(&space.tree, page));
    } else {
        (void)tau_vspace_map_page(&space, page, TAU_READ);
    }
}

static size_t run_program(void) {
    static uint32_t tables[(PAGES * 5 + PAGES) * 4], links[PAGES];
    struct tau_frames frames;
    const size_t steps_count = 1 + fuzz_choose(STEPS_MAX);
    memset(&test_port, 0, sizeof test_port);
    memset(kept, 0, sizeof kept);
    memset(objects, 0, sizeof objects);
    memset(tables, 0xff, sizeof tables);
    REQUIRE(tau_frames_init(&frames, links, PAGES, NULL) == TAU_OK);
    REQUIRE(tau_frames_add(&frames, (struct tau_frame){0}, PAGES) == TAU_OK);
    REQUIRE(tau_vspace_init(&space, tables, sizeof tables, PAGES_LOG2, &frames,
                            TAU_VSPACE_OVERCOMMIT) == TAU_OK);
    test_port.on_forget = forget_region;
    REQUIRE(tau_page_heap_init(&heap, &space, (uintptr_t)memory, (struct tau_page){1}, HEAP_PAGES,
                               UINT32_MAX) == TAU_OK);
    for (size_t i = 0; i < steps_count && test_failures_count == 0; i++) {
        forgets_count = 0;
        if (fuzz_choose(3) == 0) {
            call_regions();
        } else {
            call_heap();
        }
        EXPECT(forgets_count <= FORGETS_A_CALL_MAX);
        expect_nothing_stale();
        keep();
    }
    tau_vspace_close(&space);
    expect_nothing_stale();
    return steps_count;
}

FUZZ_MAIN(run_program)
