// Shared by the programs about TLB coloring: a small partition, its indices computed naively, and
// windows of which only the runs can be touched.
#ifndef TAU_COLOR_WORLD_H
#define TAU_COLOR_WORLD_H

#include <sys/mman.h>

#include "core/tests/kit/test.h"
#include "core/tlb_color.h"

enum {
    ARRAYS_MAX = 3,
    STRUCTURES_MAX = 4,
    PRINCIPALS_MAX = 4,
    PAGE_LOG2 = 12,
    PAGE_BYTES = 1 << PAGE_LOG2,
    WINDOW_PAGES_MAX = 256,
    WORDS_MAX = TAU_TLB_COLOR_WORDS(WINDOW_PAGES_MAX),
};

// Far from what the program and its sanitizers have.
static const uintptr_t world_start = (uintptr_t)1 << 45;

static struct {
    struct tau_tlb_color_array arrays[ARRAYS_MAX];
    struct tau_tlb_color_structure structures[STRUCTURES_MAX];
    uintptr_t rows[STRUCTURES_MAX][TAU_TLB_COLOR_ROWS_MAX];
    struct tau_tlb_color_geometry geometry;
    uint32_t owned[PRINCIPALS_MAX][ARRAYS_MAX];  // arrays of at most 32 sets
    struct tau_tlb_color_sets sets[PRINCIPALS_MAX][ARRAYS_MAX];
    struct tau_tlb_color_window windows[PRINCIPALS_MAX];
    struct tau_tlb_color_principal principals[PRINCIPALS_MAX];
    struct tau_tlb_color_partition partition;
} world;

static struct tau_tlb_color heaps[PRINCIPALS_MAX];
static uint32_t bits[PRINCIPALS_MAX][WORDS_MAX];

// Connects the parts. Principal i has window i alone.
static inline void world_connect(unsigned arrays, unsigned structures, unsigned principals) {
    for (unsigned i = 0; i < STRUCTURES_MAX; i++) {
        world.structures[i].rows = world.rows[i];
    }
    for (unsigned i = 0; i < PRINCIPALS_MAX; i++) {
        for (unsigned array = 0; array < ARRAYS_MAX; array++) {
            world.sets[i][array].owned = &world.owned[i][array];
        }
        world.principals[i] = (struct tau_tlb_color_principal){
            .sets = world.sets[i], .windows = &world.windows[i], .windows_count = 1};
    }
    world.geometry = (struct tau_tlb_color_geometry){
        world.arrays, world.structures, (uint8_t)arrays, (uint8_t)structures, PAGE_LOG2};
    world.partition =
        (struct tau_tlb_color_partition){&world.geometry, world.principals, principals};
}

static inline uint32_t world_index(const struct tau_tlb_color_structure *structure,
                                   uintptr_t address) {
    uint32_t index = structure->constant;
    const uint32_t sets_count = world.arrays[structure->array].sets_count;
    for (unsigned bit = 0; 1u << bit < sets_count; bit++) {
        const unsigned ones =
            (unsigned)__builtin_popcountll(address >> PAGE_LOG2 & structure->rows[bit]);
        index ^= (ones & 1u) << bit;
    }
    return index;
}

static inline bool world_translates(const struct tau_tlb_color_structure *structure) {
    return structure->role == TAU_TLB_COLOR_DIRECTORY ||
           (structure->role == TAU_TLB_COLOR_DATA && structure->page_log2 == PAGE_LOG2);
}

// Whether every entry that the page at ADDRESS needs lies in the sets of PRINCIPAL.
static inline bool world_owns(unsigned principal, uintptr_t address) {
    for (unsigned i = 0; i < world.geometry.structures_count; i++) {
        const struct tau_tlb_color_structure *const structure = &world.structures[i];
        const uint32_t owned = world.owned[principal][structure->array];
        const uint32_t index = world_index(structure, address);
        if (world_translates(structure) && world.arrays[structure->array].sets_count > 1 &&
            (owned >> index & 1u) == 0) {
            return false;
        }
    }
    return true;
}

// Pages of 4 KiB of the window of PRINCIPAL.
static inline uint32_t world_pages(unsigned principal) {
    return 1u << (world.windows[principal].size_log2 - PAGE_LOG2);
}

// Pages that are owned, without the last of the window.
static inline uint32_t world_room(unsigned principal) {
    uint32_t count = 0;
    for (uint32_t page = 0; page + 1 < world_pages(principal); page++) {
        count += world_owns(principal, world.windows[principal].start + page * PAGE_BYTES);
    }
    return count;
}

// The runs of the heap are the lowest owned pages of its window, COUNT of them.
static inline void world_expect_runs(unsigned principal, uint32_t count) {
    const struct tau_tlb_color_window *const window = &world.windows[principal];
    struct tau_tlb_color_run run = {0, 0};
    uintptr_t end = 0;
    uint32_t page = 0;
    while (tau_tlb_color_next_run(&heaps[principal], &run)) {
        EXPECT(run.start > end || end == 0);  // never adjacent: a run is a longest row
        end = run.start + run.size_bytes;
        for (; count > 0 && window->start + page * PAGE_BYTES < end; page++) {
            const uintptr_t address = window->start + page * PAGE_BYTES;
            EXPECT_EQUAL(world_owns(principal, address), address >= run.start);
            count -= world_owns(principal, address);
        }
        EXPECT(window->start + page * PAGE_BYTES == end);
        EXPECT(page < world_pages(principal));
    }
    EXPECT_EQUAL(count, 0);
}

static inline enum tau_status world_init(unsigned principal, uint32_t pages,
                                         enum tau_tlb_color_mode mode) {
    world.windows[principal].pages_count = pages;
    world.windows[principal].mode = (uint8_t)mode;
    return tau_tlb_color_init(&heaps[principal], &world.partition, principal, 0, bits[principal],
                              WORDS_MAX);
}

// Maps the runs of a heap; what else is in its window cannot be touched.
static inline void world_map(unsigned principal) {
    const struct tau_tlb_color_window *const window = &world.windows[principal];
    const size_t size_bytes = (size_t)1 << window->size_log2;
    struct tau_tlb_color_run run = {0, 0};
    void *const got = mmap((void *)window->start, size_bytes, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    REQUIRE(got == (void *)window->start);
    while (tau_tlb_color_next_run(&heaps[principal], &run)) {
        REQUIRE(mprotect((void *)run.start, run.size_bytes, PROT_READ | PROT_WRITE) == 0);
    }
}

static inline void world_unmap(unsigned principal) {
    REQUIRE(munmap((void *)world.windows[principal].start,
                   (size_t)1 << world.windows[principal].size_log2) == 0);
}

// Whether BYTES ... BYTES + SIZE_BYTES lie in one run of the heap.
static inline bool world_in_one_run(unsigned principal, const void *bytes, size_t size_bytes) {
    struct tau_tlb_color_run run = {0, 0};
    while (tau_tlb_color_next_run(&heaps[principal], &run)) {
        if ((uintptr_t)bytes > run.start &&
            (uintptr_t)bytes + size_bytes <= run.start + run.size_bytes) {
            return true;
        }
    }
    return false;
}

#endif
