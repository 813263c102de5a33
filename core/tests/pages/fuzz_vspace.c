// Goal: address spaces do what the naive account in oracle_vspace.h says, on any memory, in any
// order of calls. Method: random machines with up to four spaces that share frames, some with
// reserved pools; table memory starts hostile; each call's status and frame is compared, each
// refused call must leave every byte alone, every frame handed out must be clean, and what a page
// holds must stay there. Full walks on the way [P0-5 ... P0-12, P0-45].
//
// Usage: fuzz_vspace SEED CALLS. What happened is written to the file TAU_FUZZ_LOG, if that is set,
// for the Python model to repeat. Built with -DTAU_FUZZER it is a libFuzzer target instead.
#include "core/private/pages/frames_inline.h"
#include "core/tests/checks/check_frames.h"
#include "core/tests/checks/check_vspace.h"
#include "core/tests/kit/fuzz_pages.h"
#include "core/tests/pages/fuzz_oracle.h"

enum { SPACES = 4, CALLS_A_PROGRAM_MAX = 6000, PAGES_LOG2_MAX = 10, WALK_EVERY = 64 };

struct place {
    struct tau_vspace space;
    struct oracle_space oracle;
    struct tau_frames pool;  // if it is reserved
    struct oracle_pool oracle_pool;
    bool is_reserved;
    bool is_made;
    uint32_t *tables;
    size_t tables_bytes;
    uint32_t name;  // of the space, never used again
};

static struct {
    uint32_t *links;
    unsigned char *memory;
    uint32_t frames_count;
    struct tau_frames pool;
    struct oracle_pool oracle_pool;
    bool is_handed_in[ORACLE_FRAMES_MAX];
    struct place places[SPACES];
} machine;

static uint32_t names_count;

// ---- What a refused call must not change -------------------------------------------------------

// Every byte that PLACE's calls may reach; PLACE may be NULL.
static void image_walk(const struct place *place, bool compare) {
    image.used_bytes = 0;
    image_part(machine.links, machine.frames_count * sizeof(uint32_t), compare);
    image_part(machine.memory, (size_t)machine.frames_count << TAU_PAGE_LOG2, compare);
    image_part(&machine.pool, sizeof machine.pool, compare);
    if (place != NULL) {
        image_part(place, sizeof *place, compare);
        image_part(place->tables, place->tables_bytes, compare);
    }
}

static void image_take(const struct place *place) {
    image_walk(place, false);
}

static void expect_unchanged(const struct place *place) {
    image_walk(place, true);
}

// ---- Comparing everything ----------------------------------------------------------------------

static void expect_space(const struct place *place, unsigned char *places) {
    const struct oracle_space *const oracle = &place->oracle;
    EXPECT_EQUAL(check_vspace(&place->space, places), 0);
    EXPECT_EQUAL(place->space.mapped_pages, oracle->mapped_pages);
    EXPECT_EQUAL(place->space.committed_pages, oracle->committed_pages);
    for (uint32_t page = 0; page < oracle->pages_count; page++) {
        struct tau_frame frame = {0};
        uint32_t expected = 0;
        EXPECT_EQUAL(tau_vspace_translate(&place->space, (struct tau_page){page}, 0, &frame),
                     oracle_translate(oracle, page, 0, &expected));
        EXPECT_EQUAL(frame.number, expected);
    }
}

static void expect_all(void) {
    unsigned char places[ORACLE_FRAMES_MAX] = {0};
    expect_pool(machine.links, &machine.pool, &machine.oracle_pool, places);
    for (unsigned i = 0; i < SPACES; i++) {
        const struct place *const place = &machine.places[i];
        if (place->is_made) {
            expect_space(place, places);
        }
        if (place->is_made && place->is_reserved) {
            expect_pool(machine.links, &place->pool, &place->oracle_pool, places);
        }
    }
    for (uint32_t frame = 0; frame < machine.frames_count; frame++) {
        EXPECT_EQUAL(places[frame], machine.is_handed_in[frame]);
    }
}

// ---- Memory that a space starts on -------------------------------------------------------------

static void fill_tables(struct place *place, uint32_t pages_count) {
    const size_t words = place->tables_bytes / sizeof(uint32_t);
    const uint32_t kind = choose(5);
    const struct place *const other = &machine.places[choose(SPACES)];
    for (size_t i = 0; i < words; i++) {
        if (kind == 0) {
            place->tables[i] = (uint32_t)test_random();
        } else if (kind == 1) {
            place->tables[i] = UINT32_MAX;
        } else if (kind == 2 && other != place && other->tables_bytes > i * sizeof(uint32_t)) {
            place->tables[i] = other->tables[i];
        } else {  // numbers of pages, as the tables of an earlier space would hold
            place->tables[i] = (uint32_t)(test_random() % pages_count);
        }
    }
}

static void make_space(unsigned index) {
    struct place *const place = &machine.places[index];
    const unsigned pages_log2 = 1 + choose(choose(4) == 0 ? PAGES_LOG2_MAX : 5);
    const uint32_t kind = choose(4);  // 0, 1: shared; 2: reserved and committed; 3: reserved
    const enum tau_vspace_policy policy = kind == 2 ? TAU_VSPACE_COMMIT : TAU_VSPACE_OVERCOMMIT;
    uint32_t reserved_count = 0;
    place->is_reserved = kind >= 2;
    if (place->is_reserved) {
        reserved_count = choose(24);
        const bool fits = oracle_reserve(&machine.oracle_pool, &place->oracle_pool, reserved_count);
        EXPECT_EQUAL(tau_frames_reserve(&machine.pool, &place->pool, reserved_count),
                     fits ? TAU_OK : TAU_NO_FRAME);
        if (!fits) {
            return;
        }
    }
    LOG("S %u %u %u %u\n", index, pages_log2, kind, reserved_count);
    if (place->tables == NULL || place->tables_bytes != tau_vspace_size_bytes(pages_log2)) {
        free(place->tables);
        place->tables_bytes = tau_vspace_size_bytes(pages_log2);
        place->tables = malloc(place->tables_bytes);
        REQUIRE(place->tables != NULL);
        fill_tables(place, UINT32_C(1) << pages_log2);
    } else if (choose(2) == 0) {  // else on what the space before left
        fill_tables(place, UINT32_C(1) << pages_log2);
    }
    EXPECT_EQUAL(tau_vspace_init(&place->space, place->tables, place->tables_bytes, pages_log2,
                                 place->is_reserved ? &place->pool : &machine.pool, policy),
                 TAU_OK);
    oracle_init(&place->oracle, UINT32_C(1) << pages_log2,
                place->is_reserved ? &place->oracle_pool : &machine.oracle_pool, kind == 2);
    place->name = ++names_count;
    place->is_made = true;
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
        if ((place->oracle.pages[page].start != 0) == is_inside) {
            break;
        }
    }
    return page;
}

static uint32_t some_access(void) {
    return TAU_READ << choose(3);
}

static void call_map_region(unsigned index) {
    struct place *const place = &machine.places[index];
    const uint32_t start = some_page(place, false);
    uint32_t pages = 1 + choose(choose(4) == 0 ? place->oracle.pages_count : 6);
    uint32_t rights = choose(4) == 0 ? choose(8) << 27 : TAU_RIGHTS;
    spoil_region(&place->oracle, &pages, &rights);
    const enum tau_status expected = oracle_map_region(&place->oracle, start, pages, rights);
    if (expected != TAU_OK) {
        image_take(place);
    }
    EXPECT_EQUAL(tau_vspace_map_region(&place->space, (struct tau_page){start}, pages, rights),
                 expected);
    if (expected != TAU_OK) {
        expect_unchanged(place);
    }
    if ((rights & ~TAU_RIGHTS) == 0) {
        LOG("R %u %u %u %u %d\n", index, start, pages, bits(rights), (int)expected);
    }
}

static void use_frame(const struct place *place, uint32_t page, uint32_t number) {
    unsigned char *const bytes = machine.memory + ((size_t)number << TAU_PAGE_LOG2);
    uint32_t mark[2];
    memcpy(mark, bytes, sizeof mark);
    for (size_t i = place->is_reserved ? sizeof mark : 0; i < TAU_PAGE_BYTES; i++) {
        EXPECT_EQUAL(bytes[i], 0);
    }
    EXPECT(mark[0] == 0 || (place->is_reserved && mark[0] == place->name));
    mark[0] = place->name;
    mark[1] = page;
    memcpy(bytes, mark, sizeof mark);
}

static void call_map_page(unsigned index) {
    struct place *const place = &machine.places[index];
    const uint32_t page = some_page(place, true);
    const uint32_t access = choose(8) == 0 ? choose(32) << 25 : some_access();
    const struct oracle_pool before = *place->oracle.pool;
    const enum tau_status expected = oracle_map_page(&place->oracle, page, access);
    const bool is_committed = place->oracle.commit_max_pages != UINT32_MAX;
    EXPECT(!is_committed || expected != TAU_NO_FRAME);
    if (expected != TAU_OK) {
        EXPECT(memcmp(&before, place->oracle.pool, sizeof before) == 0);
        image_take(place);
    }
    EXPECT_EQUAL(tau_vspace_map_page(&place->space, (struct tau_page){page}, access), expected);
    uint32_t number = 0;
    if (expected == TAU_OK) {
        struct tau_frame frame = {0};
        EXPECT_EQUAL(tau_vspace_translate(&place->space, (struct tau_page){page}, access, &frame),
                     TAU_OK);
        number = place->oracle.pages[page].frame;
        EXPECT_EQUAL(frame.number, number);
        use_frame(place, page, number);
    } else {
        expect_unchanged(place);
    }
    if ((access & ~TAU_RIGHTS) == 0) {
        LOG("P %u %u %u %d %u\n", index, page, bits(access), (int)expected, number);
    }
}

static void call_unmap_region(unsigned index) {
    struct place *const place = &machine.places[index];
    const uint32_t page = some_page(place, true);
    const uint32_t pages_count = place->oracle.pages_count;
    const uint32_t first = page < pages_count ? place->oracle.pages[page].start : 0;
    const uint32_t start = first != 0 && choose(8) != 0 ? first : page;
    const enum tau_status expected = oracle_unmap_region(&place->oracle, start);
    if (expected != TAU_OK) {
        image_take(place);
    }
    EXPECT_EQUAL(tau_vspace_unmap_region(&place->space, (struct tau_page){start}), expected);
    if (expected != TAU_OK) {
        expect_unchanged(place);
    }
    LOG("U %u %u %d\n", index, start, (int)expected);
}

static void call_translate(unsigned index) {
    const struct place *const place = &machine.places[index];
    const uint32_t page = some_page(place, true);
    const uint32_t access = some_access();
    struct tau_frame frame = {0};
    uint32_t number = 0;
    const enum tau_status expected = oracle_translate(&place->oracle, page, access, &number);
    EXPECT_EQUAL(tau_vspace_translate(&place->space, (struct tau_page){page}, access, &frame),
                 expected);
    EXPECT_EQUAL(frame.number, number);
    if (expected == TAU_OK) {
        uint32_t mark[2];
        memcpy(mark, machine.memory + ((size_t)number << TAU_PAGE_LOG2), sizeof mark);
        EXPECT(mark[0] == place->name && mark[1] == page);
    }
    LOG("T %u %u %u %d %u\n", index, page, bits(access), (int)expected, number);
}

static void give_up_space(unsigned index) {
    struct place *const place = &machine.places[index];
    for (uint32_t page = 1; page < place->oracle.pages_count; page++) {
        if (place->oracle.pages[page].start == page) {
            LOG("U %u %u %d\n", index, page, (int)TAU_OK);
            EXPECT_EQUAL(oracle_unmap_region(&place->oracle, page), TAU_OK);
            EXPECT_EQUAL(tau_vspace_unmap_region(&place->space, (struct tau_page){page}), TAU_OK);
        }
    }
    EXPECT_EQUAL(place->space.mapped_pages + place->space.committed_pages, 0);
    if (place->is_reserved) {
        LOG("G %u\n", index);
        oracle_return(&machine.oracle_pool, &place->oracle_pool);
        tau_frames_return(&machine.pool, &place->pool);
    }
    place->is_made = false;
}

static void hand_in(uint32_t first, uint32_t count) {
    enum tau_status expected = TAU_OK;
    if (count == 0) {
        expected = TAU_BAD_ARGUMENT;
    } else if (first + count > machine.frames_count) {
        expected = TAU_FRAME_OUTSIDE;
    } else {
        for (uint32_t i = 0; i < count; i++) {
            expected = machine.is_handed_in[first + i] ? TAU_FRAME_TWICE : expected;
        }
    }
    image_take(NULL);
    EXPECT_EQUAL(tau_frames_add(&machine.pool, (struct tau_frame){first}, count), expected);
    if (expected == TAU_OK) {
        oracle_add(&machine.oracle_pool, first, count);
        memset(machine.is_handed_in + first, true, count);
    } else {
        expect_unchanged(NULL);
    }
    LOG("A %u %u %d\n", first, count, (int)expected);
}

static void call_add(void) {
    const uint32_t first = choose(machine.frames_count + 2);
    hand_in(first, choose(8));
}

static void call_clean_one(void) {
    const bool expected = oracle_clean_one(&machine.oracle_pool);
    EXPECT_EQUAL(tau_frames_clean_one(&machine.pool), expected);
    LOG("C %d\n", expected);
}

static void call_any(void) {
    const unsigned index = choose(SPACES);
    const uint32_t kind = choose(64);
    if (kind == 0) {
        call_add();
    } else if (kind < 3) {
        call_clean_one();
    } else if (!machine.places[index].is_made) {
        make_space(index);
    } else if (kind == 3 && choose(4) == 0) {
        give_up_space(index);
    } else if (kind < 11) {
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
    memset(&machine, 0, sizeof machine);
    machine.frames_count = 1 + choose(ORACLE_FRAMES_MAX);
    const size_t bytes = (size_t)machine.frames_count << TAU_PAGE_LOG2;
    machine.links = malloc(machine.frames_count * sizeof(uint32_t));
    machine.memory = malloc(bytes);
    REQUIRE(machine.links != NULL && machine.memory != NULL);
    memset(machine.memory, 0xc3, bytes);
    memset(machine.links, choose(2) != 0 ? 0xff : 0, machine.frames_count * sizeof(uint32_t));
    EXPECT_EQUAL(
        tau_frames_init(&machine.pool, machine.links, machine.frames_count, machine.memory),
        TAU_OK);
    LOG("M %u\n", machine.frames_count);
    hand_in(0, choose(machine.frames_count + 1));
}

static void close_machine(void) {
    for (unsigned i = 0; i < SPACES; i++) {
        if (machine.places[i].is_made) {
            give_up_space(i);
        }
    }
    expect_all();
    for (unsigned i = 0; i < SPACES; i++) {
        free(machine.places[i].tables);
    }
    free(machine.links);
    free(machine.memory);
}

// One machine. Returns its number of calls.
static size_t run_program(void) {
    const size_t calls_max = 1 + choose(CALLS_A_PROGRAM_MAX);
    size_t calls = 0;
    open_machine();
    for (; calls < calls_max && !fuzz_is_over(); calls++) {
        call_any();
        if (calls % WALK_EVERY == 0 || (calls_max < 300 && calls % 4 == 0)) {
            expect_all();
        }
        if (test_failures_count > 0) {
            return calls;
        }
    }
    close_machine();
    return calls;
}

FUZZ_MAIN(run_program)
