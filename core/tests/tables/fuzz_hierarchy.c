// Goal: hierarchical tables do what the naive account in oracle_vspace.h says, which knows nothing
// of tables, and have a record for exactly the chunks that need one. Method: random machines with
// three spaces that share frames and a short pool of records; all memory starts hostile; each
// call's status and frame is compared, each refused call must leave every byte alone. Full walks on
// the way [P0-7].
//
// Usage: fuzz_hierarchy SEED CALLS. What happened is written to the file TAU_FUZZ_LOG, if that is
// set, for the Python model to repeat. Built with -DTAU_FUZZER it is a libFuzzer target instead.
#include "core/tests/checks/check_frames.h"
#include "core/tests/checks/check_hierarchy.h"
#include "core/tests/kit/fuzz_pages.h"
#include "core/tests/pages/fuzz_oracle.h"

enum { SPACES = 3, CALLS_A_PROGRAM_MAX = 4000, PAGES_LOG2_MAX = 10, WALK_EVERY = 64 };
enum { RECORDS_MAX = 100 };

struct place {
    struct tau_hierarchy space;
    struct oracle_space oracle;
    struct tau_frames pool;  // if it commits
    struct oracle_pool oracle_pool;
    bool commits;
    bool is_made;
    uint32_t *memory;
    size_t memory_bytes;
};

static struct {
    uint32_t *links;
    uint32_t frames_count;
    struct tau_frames pool;
    struct oracle_pool oracle_pool;
    struct tau_hierarchy_tables tables;
    uint32_t *records;
    uint32_t records_count;
    struct place places[SPACES];
} machine;

// ---- What a refused call must not change -------------------------------------------------------

// Every byte that PLACE's calls may reach; COMPARE: is what it was.
static void image_walk(const struct place *place, bool compare) {
    image.used_bytes = 0;
    image_part(machine.links, machine.frames_count * sizeof(uint32_t), compare);
    image_part(&machine.pool, sizeof machine.pool, compare);
    image_part(&machine.tables, sizeof machine.tables, compare);
    image_part(machine.records, tau_hierarchy_tables_size_bytes(machine.records_count), compare);
    image_part(&place->pool, sizeof place->pool, compare);
    image_part(&place->space, sizeof place->space, compare);
    image_part(place->memory, place->memory_bytes, compare);
}

// ---- The naive account of records --------------------------------------------------------------

// Chunks of the space that need a record now, or may need one for a fault that must not fail.
static uint32_t needed_in(const struct place *place) {
    const struct oracle_space *const oracle = &place->oracle;
    uint32_t count = 0;
    for (uint32_t first = 0; first < oracle->pages_count; first += 32) {
        bool is_needed = first == 0;
        for (uint32_t page = first; page < first + 32 && page < oracle->pages_count; page++) {
            const struct oracle_page *const entry = &oracle->pages[page];
            is_needed |= entry->is_mapped || (place->commits && entry->start != 0) ||
                         (page != 0 && entry->start != oracle->pages[page - 1].start);
        }
        count += is_needed;
    }
    return count;
}

static uint32_t needed(void) {
    uint32_t count = 0;
    for (unsigned i = 0; i < SPACES; i++) {
        count += machine.places[i].is_made ? needed_in(&machine.places[i]) : 0;
    }
    return count;
}

static enum tau_status expected_map_region(struct place *place, uint32_t start, uint32_t pages,
                                           uint32_t rights) {
    const enum tau_status status = oracle_map_region(&place->oracle, start, pages, rights);
    if (status != TAU_OK || needed() <= machine.records_count) {
        return status;
    }
    EXPECT_EQUAL(oracle_unmap_region(&place->oracle, start), TAU_OK);
    return TAU_NO_TABLE;
}

static enum tau_status expected_map_page(struct place *place, uint32_t page, uint32_t access) {
    struct oracle_page *const entry = &place->oracle.pages[page % place->oracle.pages_count];
    if (page < place->oracle.pages_count && entry->start != 0 && !entry->is_mapped &&
        (access & ~place->oracle.rights[entry->start]) == 0) {
        entry->is_mapped = true;
        const bool is_short = needed() > machine.records_count;
        entry->is_mapped = false;
        if (is_short) {
            return TAU_NO_TABLE;
        }
    }
    return oracle_map_page(&place->oracle, page, access);
}

// ---- Comparing everything ----------------------------------------------------------------------

static void expect_space(const struct place *place, struct check_hierarchy_places *places) {
    const struct oracle_space *const oracle = &place->oracle;
    EXPECT_EQUAL(check_hierarchy(&place->space, places), 0);
    EXPECT_EQUAL(place->space.mapped_pages, oracle->mapped_pages);
    EXPECT_EQUAL(place->space.committed_pages, oracle->committed_pages);
    for (uint32_t page = 0; page < oracle->pages_count; page++) {
        struct tau_frame frame = {0};
        uint32_t expected = 0;
        EXPECT_EQUAL(tau_hierarchy_translate(&place->space, (struct tau_page){page}, 0, &frame),
                     oracle_translate(oracle, page, 0, &expected));
        EXPECT_EQUAL(frame.number, expected);
    }
}

static void expect_all(void) {
    unsigned char records[RECORDS_MAX] = {0};
    unsigned char frames[ORACLE_FRAMES_MAX] = {0};
    struct check_hierarchy_places places = {records, frames, 0};
    expect_pool(machine.links, &machine.pool, &machine.oracle_pool, frames);
    for (unsigned i = 0; i < SPACES; i++) {
        const struct place *const place = &machine.places[i];
        if (place->is_made) {
            expect_space(place, &places);
        }
        if (place->is_made && place->commits) {
            expect_pool(machine.links, &place->pool, &place->oracle_pool, frames);
        }
    }
    for (uint32_t frame = 0; frame < machine.frames_count; frame++) {
        EXPECT_EQUAL(frames[frame], 1);
    }
    EXPECT_EQUAL(places.promised, machine.tables.promised);
    EXPECT_EQUAL(machine.records_count - machine.tables.free.ready.count + places.promised,
                 needed());
    EXPECT_EQUAL(check_frames(&machine.tables.free, records), 0);
    for (uint32_t record = 0; record < machine.records_count; record++) {
        EXPECT_EQUAL(records[record], 1);
    }
}

// ---- Spaces ------------------------------------------------------------------------------------

// Memory as power-up, an attacker or the space before may leave it.
static void fill_hostile(uint32_t *words, size_t count, uint32_t limit) {
    const uint32_t kind = choose(4);
    for (size_t i = 0; i < count && kind != 3; i++) {
        words[i] = kind == 0   ? (uint32_t)test_random()
                   : kind == 1 ? UINT32_MAX
                               : (uint32_t)(test_random() % limit);
    }
}

static void make_space(unsigned index) {
    struct place *const place = &machine.places[index];
    const unsigned pages_log2 = 1 + choose(PAGES_LOG2_MAX);
    const uint32_t reserved_count = choose(40);
    const bool commits = choose(3) == 0;
    if (needed() == machine.records_count ||
        (commits && oracle_free_count(&machine.oracle_pool) < reserved_count)) {
        return;
    }
    place->commits = commits;
    if (commits) {
        REQUIRE(oracle_reserve(&machine.oracle_pool, &place->oracle_pool, reserved_count));
        EXPECT_EQUAL(tau_frames_reserve(&machine.pool, &place->pool, reserved_count), TAU_OK);
    }
    LOG("S %u %u %d %u\n", index, pages_log2, commits, reserved_count);
    place->memory_bytes = tau_hierarchy_size_bytes(pages_log2);
    place->memory = realloc(place->memory, place->memory_bytes);
    REQUIRE(place->memory != NULL);
    fill_hostile(place->memory, place->memory_bytes / sizeof(uint32_t), 40);
    EXPECT_EQUAL(tau_hierarchy_init(&place->space, place->memory, place->memory_bytes, pages_log2,
                                    &machine.tables, commits ? &place->pool : &machine.pool,
                                    commits ? TAU_HIERARCHY_COMMIT : TAU_HIERARCHY_OVERCOMMIT),
                 TAU_OK);
    oracle_init(&place->oracle, UINT32_C(1) << pages_log2,
                commits ? &place->oracle_pool : &machine.oracle_pool, commits);
    place->is_made = true;
}

static void give_up_space(unsigned index) {
    struct place *const place = &machine.places[index];
    for (uint32_t page = 1; page < place->oracle.pages_count; page++) {
        if (place->oracle.pages[page].start == page) {
            LOG("U %u %u %d\n", index, page, (int)TAU_OK);
            EXPECT_EQUAL(tau_hierarchy_close(&place->space), TAU_BAD_ARGUMENT);
            EXPECT_EQUAL(oracle_unmap_region(&place->oracle, page), TAU_OK);
            EXPECT_EQUAL(tau_hierarchy_unmap_region(&place->space, (struct tau_page){page}),
                         TAU_OK);
        }
    }
    EXPECT_EQUAL(needed_in(place), 1);
    EXPECT_EQUAL(tau_hierarchy_close(&place->space), TAU_OK);
    LOG("G %u\n", index);
    if (place->commits) {
        oracle_return(&machine.oracle_pool, &place->oracle_pool);
        tau_frames_return(&machine.pool, &place->pool);
    }
    place->is_made = false;
}

// ---- The calls ---------------------------------------------------------------------------------

// Mostly a page of a region if IS_INSIDE, else mostly one of none; sometimes no page at all.
static uint32_t some_page(const struct place *place, bool is_inside) {
    const uint32_t count = place->oracle.pages_count;
    uint32_t page = 0;
    if (choose(32) == 0) {
        return odd_page(&place->oracle);
    }
    for (unsigned i = 0; i < 4; i++) {
        page = 1 + choose(count - 1);
        if (choose(4) == 0) {  // near a border of chunks
            page = (page & ~31u) + choose(3) + 31;
            page = page >= count ? count - 1 : page;
        }
        if ((place->oracle.pages[page].start != 0) == is_inside) {
            break;
        }
    }
    return page;
}

static void call_map_region(unsigned index) {
    struct place *const place = &machine.places[index];
    const uint32_t start = some_page(place, false);
    uint32_t pages = 1 + choose(choose(3) == 0 ? place->oracle.pages_count : 6);
    uint32_t rights = choose(4) == 0 ? choose(8) << 27 : TAU_RIGHTS;
    if (choose(4) == 0 && start < place->oracle.pages_count) {  // ends with a chunk
        pages = 32 - start % 32 + 32 * choose(3);
    }
    spoil_region(&place->oracle, &pages, &rights);
    image_walk(place, false);
    const enum tau_status expected = expected_map_region(place, start, pages, rights);
    EXPECT_EQUAL(tau_hierarchy_map_region(&place->space, (struct tau_page){start}, pages, rights),
                 expected);
    if (expected != TAU_OK) {
        image_walk(place, true);
    }
    if ((rights & ~TAU_RIGHTS) == 0) {
        LOG("R %u %u %u %u %d\n", index, start, pages, bits(rights), (int)expected);
    }
}

static void call_map_page(unsigned index) {
    struct place *const place = &machine.places[index];
    const uint32_t page = some_page(place, true);
    const uint32_t access = choose(8) == 0 ? choose(32) << 25 : TAU_READ << choose(3);
    image_walk(place, false);
    const enum tau_status expected = expected_map_page(place, page, access);
    EXPECT(!place->commits || (expected != TAU_NO_FRAME && expected != TAU_NO_TABLE));
    EXPECT_EQUAL(tau_hierarchy_map_page(&place->space, (struct tau_page){page}, access), expected);
    uint32_t number = 0;
    if (expected == TAU_OK) {
        struct tau_frame frame = {0};
        EXPECT_EQUAL(
            tau_hierarchy_translate(&place->space, (struct tau_page){page}, access, &frame),
            TAU_OK);
        number = place->oracle.pages[page].frame;
        EXPECT_EQUAL(frame.number, number);
    } else {
        image_walk(place, true);
    }
    if ((access & ~TAU_RIGHTS) == 0) {
        LOG("P %u %u %u %d %u\n", index, page, bits(access), (int)expected, number);
    }
}

static void call_unmap_region(unsigned index) {
    struct place *const place = &machine.places[index];
    const uint32_t page = some_page(place, true);
    const uint32_t first = page < place->oracle.pages_count ? place->oracle.pages[page].start : 0;
    const uint32_t start = first != 0 && choose(8) != 0 ? first : page;
    image_walk(place, false);
    const enum tau_status expected = oracle_unmap_region(&place->oracle, start);
    EXPECT_EQUAL(tau_hierarchy_unmap_region(&place->space, (struct tau_page){start}), expected);
    if (expected != TAU_OK) {
        image_walk(place, true);
    }
    LOG("U %u %u %d\n", index, start, (int)expected);
}

static void call_translate(unsigned index) {
    const struct place *const place = &machine.places[index];
    const uint32_t page = some_page(place, true);
    const uint32_t access = TAU_READ << choose(3);
    struct tau_frame frame = {0};
    uint32_t number = 0;
    const enum tau_status expected = oracle_translate(&place->oracle, page, access, &number);
    EXPECT_EQUAL(tau_hierarchy_translate(&place->space, (struct tau_page){page}, access, &frame),
                 expected);
    EXPECT_EQUAL(frame.number, number);
    LOG("T %u %u %u %d %u\n", index, page, bits(access), (int)expected, number);
}

static void call_any(void) {
    const unsigned index = choose(SPACES);
    const uint32_t kind = choose(64);
    if (!machine.places[index].is_made) {
        make_space(index);
    } else if (kind == 0 && choose(4) == 0) {
        give_up_space(index);
    } else if (kind < 9) {
        call_unmap_region(index);
    } else if (kind < 24) {
        call_map_region(index);
    } else if (kind < 32) {
        call_translate(index);
    } else {
        call_map_page(index);
    }
}

// ---- Programs ----------------------------------------------------------------------------------

static void open_machine(void) {
    log_open();
    machine.frames_count = 1 + choose(ORACLE_FRAMES_MAX);
    machine.records_count = 1 + choose(RECORDS_MAX);
    const size_t records_bytes = tau_hierarchy_tables_size_bytes(machine.records_count);
    machine.links = malloc(machine.frames_count * sizeof *machine.links);
    machine.records = malloc(records_bytes);
    REQUIRE(machine.links != NULL && machine.records != NULL);
    memset(&machine.oracle_pool, 0, sizeof machine.oracle_pool);
    memset(machine.records, 0xa5, records_bytes);
    fill_hostile(machine.records, records_bytes / sizeof(uint32_t), 40);
    EXPECT_EQUAL(tau_frames_init(&machine.pool, machine.links, machine.frames_count, NULL), TAU_OK);
    EXPECT_EQUAL(tau_frames_add(&machine.pool, (struct tau_frame){0}, machine.frames_count),
                 TAU_OK);
    oracle_add(&machine.oracle_pool, 0, machine.frames_count);
    EXPECT_EQUAL(
        tau_hierarchy_tables_init(&machine.tables, machine.records, records_bytes + choose(272)),
        TAU_OK);
    LOG("M %u %u\n", machine.frames_count, machine.records_count);
}

static void close_machine(void) {
    for (unsigned i = 0; i < SPACES; i++) {
        if (machine.places[i].is_made) {
            give_up_space(i);
        }
        free(machine.places[i].memory);
        machine.places[i] = (struct place){0};
    }
    expect_all();
    EXPECT_EQUAL(machine.tables.free.ready.count, machine.records_count);
    free(machine.links);
    free(machine.records);
}

static size_t run_program(void) {
    const size_t calls_count = 1 + choose(CALLS_A_PROGRAM_MAX);
    size_t calls = 0;
    open_machine();
    for (; calls < calls_count && !fuzz_is_over() && test_failures_count == 0; calls++) {
        call_any();
        if (calls % WALK_EVERY == 0) {
            expect_all();
        }
    }
    close_machine();
    return calls;
}

FUZZ_MAIN(run_program)
