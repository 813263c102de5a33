// Goal: the plain page table does what an array of numbers says, with either walk. Method: random
// calls on two tables that share frames; each status and frame is compared, each refused call must
// leave every byte alone. Full walks on the way [P0-12, P0-34].
//
// Usage: fuzz_pagetable SEED CALLS. What happened is written to the file TAU_FUZZ_LOG, if that is
// set, for the Python model to repeat. Built with -DTAU_FUZZER it is a libFuzzer target instead.
#include "core/tests/checks/check_frames.h"
#include "core/tests/checks/check_pagetable.h"
#include "core/tests/kit/fuzz_pages.h"

enum { TABLES = 2, PAGES_LOG2_MAX = 9, FRAMES_MAX = 200, CALLS_A_PROGRAM_MAX = 3000 };

struct place {
    struct tau_pagetable table;
    uint32_t pages_count;
    uint32_t *memory;
    size_t memory_bytes;
    // The naive account; a frame is its number + 1.
    uint32_t frames[1 << PAGES_LOG2_MAX];
    uint32_t rights[1 << PAGES_LOG2_MAX];
};

static struct {
    uint32_t links[FRAMES_MAX];
    uint32_t frames_count;
    struct tau_frames pool;
    uint32_t ready[FRAMES_MAX];  // rows; the last one is the head
    uint32_t ready_count;
    uint32_t dirty[FRAMES_MAX];
    uint32_t dirty_count;
    struct place places[TABLES];
} machine;

// ---- The naive account -------------------------------------------------------------------------

static enum tau_status expected_map_page(struct place *place, uint32_t page, uint32_t rights) {
    if (page == 0 || page >= place->pages_count) {
        return page == 0 ? TAU_PAGE_ZERO : TAU_PAGE_OUTSIDE;
    }
    if (rights == 0 || (rights & ~TAU_RIGHTS) != 0) {
        return TAU_BAD_ARGUMENT;
    }
    if (place->frames[page] != 0) {
        return TAU_PAGE_MAPPED;
    }
    if (machine.ready_count == 0) {
        if (machine.dirty_count == 0) {
            return TAU_NO_FRAME;
        }
        machine.ready[machine.ready_count++] = machine.dirty[--machine.dirty_count];
    }
    place->frames[page] = machine.ready[--machine.ready_count] + 1;
    place->rights[page] = rights;
    return TAU_OK;
}

static enum tau_status expected_unmap(struct place *place, uint32_t start, uint32_t pages) {
    if (start == 0 || start >= place->pages_count) {
        return start == 0 ? TAU_PAGE_ZERO : TAU_PAGE_OUTSIDE;
    }
    if ((uint64_t)start + pages > place->pages_count) {
        return TAU_REGION_TOO_LARGE;
    }
    for (uint32_t page = start; page < start + pages; page++) {
        if (place->frames[page] != 0) {
            machine.dirty[machine.dirty_count++] = place->frames[page] - 1;
            place->frames[page] = 0;
        }
    }
    return TAU_OK;
}

// ---- Comparing ---------------------------------------------------------------------------------

static void expect_list(const struct tau_frame_list *list, const uint32_t *row, uint32_t count) {
    uint32_t frame = list->head;
    EXPECT_EQUAL(list->count, count);
    for (uint32_t i = 0; i < count && list->count == count; i++) {
        EXPECT_EQUAL(frame, row[count - 1 - i]);
        frame = machine.links[frame];
    }
}

static void expect_page(const struct place *place, uint32_t page, uint32_t access) {
    struct tau_frame frame = {0};
    const bool is_mapped = page < place->pages_count && place->frames[page] != 0;
    const enum tau_status expected = !is_mapped                             ? TAU_NOT_IN_REGION
                                     : (access & ~place->rights[page]) != 0 ? TAU_ACCESS_DENIED
                                                                            : TAU_OK;
    EXPECT_EQUAL(tau_pagetable_translate(&place->table, (struct tau_page){page}, access, &frame),
                 expected);
    EXPECT_EQUAL(frame.number, is_mapped ? place->frames[page] - 1 : 0);
    LOG("T %d %u %u %d %u\n", (int)(place - machine.places), page, access >> 27, (int)expected,
        frame.number);
}

static void expect_all(void) {
    unsigned char places[FRAMES_MAX] = {0};
    expect_list(&machine.pool.ready, machine.ready, machine.ready_count);
    expect_list(&machine.pool.dirty, machine.dirty, machine.dirty_count);
    EXPECT_EQUAL(check_frames(&machine.pool, places), 0);
    for (unsigned i = 0; i < TABLES; i++) {
        EXPECT_EQUAL(check_pagetable(&machine.places[i].table, places), 0);
        for (uint32_t page = 0; page < machine.places[i].pages_count; page++) {
            EXPECT_EQUAL(machine.places[i].table.entries[page] != 0,
                         machine.places[i].frames[page] != 0);
        }
    }
    for (uint32_t frame = 0; frame < machine.frames_count; frame++) {
        EXPECT_EQUAL(places[frame], 1);
    }
}

// Remembers what a call on PLACE may reach, or compares it.
static void image_walk(const struct place *place, bool compare) {
    static struct tau_pagetable table;
    static struct tau_frames pool;
    static uint32_t links[FRAMES_MAX];
    static uint32_t memory[(1 << PAGES_LOG2_MAX) + (1 << PAGES_LOG2_MAX) / 32];
    if (compare) {
        EXPECT(memcmp(&table, &place->table, sizeof table) == 0);
        EXPECT(memcmp(&pool, &machine.pool, sizeof pool) == 0);
        EXPECT(memcmp(links, machine.links, sizeof links) == 0);
        EXPECT(memcmp(memory, place->memory, place->memory_bytes) == 0);
    } else {
        table = place->table;
        pool = machine.pool;
        memcpy(links, machine.links, sizeof links);
        memcpy(memory, place->memory, place->memory_bytes);
    }
}

// ---- The calls ---------------------------------------------------------------------------------

static uint32_t some_page(const struct place *place) {
    const uint32_t odd[] = {0, place->pages_count, place->pages_count + 1, UINT32_MAX};
    return choose(32) == 0 ? odd[choose(4)] : 1 + choose(place->pages_count - 1);
}

static void call_map_page(struct place *place, uint32_t page) {
    const uint32_t rights = choose(32) == 0 ? choose(32) << 27 : (1 + choose(7)) << 27;
    image_walk(place, false);
    const enum tau_status expected = expected_map_page(place, page, rights);
    EXPECT_EQUAL(tau_pagetable_map_page(&place->table, (struct tau_page){page}, rights), expected);
    if (expected != TAU_OK) {
        image_walk(place, true);
    }
    LOG("P %d %u %u %d\n", (int)(place - machine.places), page, rights >> 27, (int)expected);
}

static void call_unmap(struct place *place) {
    const uint32_t start = some_page(place);
    uint32_t pages = choose(choose(2) == 0 ? place->pages_count : 40);
    if (choose(32) == 0) {
        pages = UINT32_MAX - choose(2);
    }
    image_walk(place, false);
    const enum tau_status expected = expected_unmap(place, start, pages);
    EXPECT_EQUAL(tau_pagetable_unmap(&place->table, (struct tau_page){start}, pages), expected);
    if (expected != TAU_OK) {
        image_walk(place, true);
    }
    LOG("U %d %u %u %d\n", (int)(place - machine.places), start, pages, (int)expected);
}

static void call_any(void) {
    struct place *const place = &machine.places[choose(TABLES)];
    const uint32_t kind = choose(32);
    if (kind == 0) {  // a run, so that whole words become mapped
        const uint32_t first = some_page(place);
        for (uint32_t i = 0; i < 70 && first < place->pages_count; i++) {
            call_map_page(place, first + i);
        }
    } else if (kind < 4) {
        call_unmap(place);
    } else if (kind < 12) {
        expect_page(place, some_page(place), choose(8) << 27);
    } else {
        call_map_page(place, some_page(place));
    }
}

static void open_table(unsigned index) {
    struct place *const place = &machine.places[index];
    const unsigned pages_log2 = 1 + choose(PAGES_LOG2_MAX);
    const enum tau_pagetable_walk walk =
        choose(2) == 0 ? TAU_PAGETABLE_RESERVED : TAU_PAGETABLE_MAPPED;
    *place = (struct place){.pages_count = UINT32_C(1) << pages_log2};
    place->memory_bytes = tau_pagetable_size_bytes(pages_log2, walk);
    place->memory = malloc(place->memory_bytes);
    REQUIRE(place->memory != NULL);
    memset(place->memory, 0xa5, place->memory_bytes);
    EXPECT_EQUAL(tau_pagetable_init(&place->table, place->memory, place->memory_bytes, pages_log2,
                                    &machine.pool, walk),
                 TAU_OK);
    LOG("S %u %u\n", index, pages_log2);
}

static size_t run_program(void) {
    const size_t calls_count = 1 + choose(CALLS_A_PROGRAM_MAX);
    size_t calls = 0;
    log_open();
    machine.frames_count = 1 + choose(FRAMES_MAX);
    machine.ready_count = 0;
    machine.dirty_count = machine.frames_count;
    for (uint32_t i = 0; i < machine.frames_count; i++) {
        machine.dirty[i] = machine.frames_count - 1 - i;
    }
    EXPECT_EQUAL(tau_frames_init(&machine.pool, machine.links, machine.frames_count, NULL), TAU_OK);
    EXPECT_EQUAL(tau_frames_add(&machine.pool, (struct tau_frame){0}, machine.frames_count),
                 TAU_OK);
    LOG("M %u\n", machine.frames_count);
    for (unsigned i = 0; i < TABLES; i++) {
        open_table(i);
    }
    for (; calls < calls_count && !fuzz_is_over() && test_failures_count == 0; calls++) {
        call_any();
        if (calls % 64 == 0) {
            expect_all();
        }
    }
    expect_all();
    for (unsigned i = 0; i < TABLES; i++) {
        free(machine.places[i].memory);
    }
    return calls;
}

FUZZ_MAIN(run_program)
