// Random calls on spaces that share frames, compared with the naive account of oracle_vspace.h:
// what calls_vspace.c and calls_hierarchy.c have in common. Table memory starts hostile; every
// status and frame is compared; every frame that is handed out must be clean, and what a page holds
// must stay there.
//
// The file that includes this defines `struct tested_space` and SPACE(verb), and after it the
// functions declared first.
#ifndef TAU_SPACES_H
#define TAU_SPACES_H

#include "core/private/pages/frames_inline.h"
#include "core/tests/checks/check_frames.h"
#include "core/tests/kit/mechanism.h"
#include "core/tests/pages/oracle_vspace.h"

enum { SPACES = 4, PAGES_LOG2_MAX = 10, TABLE_WORDS_MAX = 8192 };
enum { SHARED = 1, COMMITTED, RESERVED };  // kinds of spaces: the first two are shared

// Tables are places in memory that each space keeps, whatever it held before.
struct place {
    struct tested_space space;
    struct oracle_space oracle;
    struct tau_frames pool;  // if it is reserved
    struct oracle_pool oracle_pool;
    bool is_reserved;
    bool is_made;
    uint32_t name;  // the space's name, never used again
    size_t tables_bytes;
    uint32_t tables[TABLE_WORDS_MAX];
};

static struct {
    uint32_t frames_count;
    struct tau_frames pool;
    struct oracle_pool oracle_pool;
    uint32_t names_count;
    bool is_handed_in[ORACLE_FRAMES_MAX];
    uint32_t links[ORACLE_FRAMES_MAX];
    unsigned char memory[ORACLE_FRAMES_MAX << TAU_PAGE_LOG2];
    struct place places[SPACES];
} machine;

// Operations that differ between kinds of spaces.
static void open_tables(void);        // what spaces share but frames
static uint32_t log_of_tables(void);  // their size, for the log
static bool has_room_for_a_space(void);
static size_t bytes_of_tables(unsigned pages_log2);
static enum tau_status init_space(struct place *place, unsigned pages_log2, struct tau_frames *pool,
                                  bool commits);
static void close_space(struct place *place);  // which has no region
static bool is_short_of_tables(void);          // for what the account says that there is
static void parts_of_tables(void);
static void check_spaces(unsigned char *frames);  // adds those that are mapped

// ---- Choices -----------------------------------------------------------------------------------

// Explored are pages on either side of borders of words, and few sizes.
static const uint32_t few_pages[] = {1, 31, 32, 33, 63, 64, 127};
static const uint32_t few_counts[] = {1, 2, 32, 64};

static uint32_t bits_of(uint32_t rights) {
    return rights >> 27;
}

// Not a page at all, or one of few that are odd.
static uint32_t odd_page(const struct oracle_space *space) {
    const uint32_t count = space->pages_count;
    const uint32_t odd[] = {0, count, count + 1, UINT32_MAX, UINT32_C(1) << 27};
    return odd[choose(5)];
}

// Mostly a page of a region if IS_INSIDE, else mostly one of none; sometimes not a page at all.
static uint32_t some_page(const struct place *place, bool is_inside) {
    const uint32_t count = place->oracle.pages_count;
    uint32_t page = 0;
    if (explores()) {
        return few_pages[choose(sizeof few_pages / sizeof few_pages[0])] % count;
    }
    if (choose(32) == 0) {
        return odd_page(&place->oracle);
    }
    for (unsigned i = 0; i < 4; i++) {
        page = 1 + choose(count - 1);
        if (choose(8) == 0) {  // near a border of words
            page = (page & ~31u) + choose(3) + 31;
            page = page >= count ? count - 1 : page;
        }
        if ((place->oracle.pages[page].start != 0) == is_inside) {
            break;
        }
    }
    return page;
}

static uint32_t some_access(void) {
    return explores() ? TAU_READ : TAU_READ << choose(3);
}

static struct place *some_place(void) {
    return &machine.places[explores() ? 0 : choose(SPACES)];
}

static unsigned index_of(const struct place *place) {
    return (unsigned)(place - machine.places);
}

// ---- Calls on a space --------------------------------------------------------------------------

static enum tau_status map_region(struct place *place) {
    const uint32_t start = some_page(place, false);
    uint32_t pages = few_counts[choose(sizeof few_counts / sizeof few_counts[0])];
    uint32_t rights = TAU_READ;
    if (!explores()) {
        pages = 1 + choose(choose(4) == 0 ? place->oracle.pages_count : 6);
        rights = choose(4) == 0 ? choose(8) << 27 : TAU_RIGHTS;
        if (choose(8) == 0 && start < place->oracle.pages_count) {  // ends with a word
            pages = 32 - start % 32 + 32 * choose(3);
        }
        if (choose(32) == 0) {
            const uint32_t odd[] = {0, UINT32_MAX, place->oracle.pages_count, UINT32_C(1) << 27};
            pages = odd[choose(4)];
        }
        if (choose(32) == 0) {
            rights |= UINT32_C(1) << (choose(29) + 30) % 32;
        }
    }
    const uint32_t rights_before = place->oracle.rights[start % place->oracle.pages_count];
    enum tau_status expected = oracle_map_region(&place->oracle, start, pages, rights);
    if (expected == TAU_OK && is_short_of_tables()) {
        EXPECT_EQUAL(oracle_unmap_region(&place->oracle, start), TAU_OK);
        place->oracle.rights[start] = rights_before;
        expected = TAU_NO_TABLE;
    }
    EXPECT_EQUAL(SPACE(map_region)(&place->space.core, (struct tau_page){start}, pages, rights),
                 expected);
    if ((rights & ~TAU_RIGHTS) == 0) {
        LOG("R %u %u %u %u %d\n", index_of(place), start, pages, bits_of(rights), expected);
    }
    return expected;
}

static enum tau_status expected_map_page(struct place *place, uint32_t page, uint32_t access) {
    struct oracle_page *const entry = &place->oracle.pages[page % place->oracle.pages_count];
    if (page < place->oracle.pages_count && entry->start != 0 && !entry->is_mapped &&
        (access & ~place->oracle.rights[entry->start]) == 0) {
        entry->is_mapped = true;
        const bool is_short = is_short_of_tables();
        entry->is_mapped = false;
        if (is_short) {
            return TAU_NO_TABLE;
        }
    }
    return oracle_map_page(&place->oracle, page, access);
}

// The frame is clean, or one that the space itself had before; writes whose it is.
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

static enum tau_status map_page(struct place *place) {
    const uint32_t page = some_page(place, true);
    const uint32_t access = !explores() && choose(8) == 0 ? choose(32) << 25 : some_access();
    const enum tau_status expected = expected_map_page(place, page, access);
    const bool is_committed = place->oracle.commit_max_pages != UINT32_MAX;
    EXPECT(!is_committed || (expected != TAU_NO_FRAME && expected != TAU_NO_TABLE));
    EXPECT_EQUAL(SPACE(map_page)(&place->space.core, (struct tau_page){page}, access), expected);
    uint32_t number = 0;
    if (expected == TAU_OK) {
        struct tau_frame frame = {0};
        EXPECT_EQUAL(SPACE(translate)(&place->space.core, (struct tau_page){page}, access, &frame),
                     TAU_OK);
        number = place->oracle.pages[page].frame;
        EXPECT_EQUAL(frame.number, number);
        use_frame(place, page, number);
    }
    if ((access & ~TAU_RIGHTS) == 0) {
        LOG("P %u %u %u %d %u\n", index_of(place), page, bits_of(access), expected, number);
    }
    return expected;
}

static enum tau_status unmap_region(struct place *place) {
    const uint32_t page = some_page(place, true);
    const uint32_t first = page < place->oracle.pages_count ? place->oracle.pages[page].start : 0;
    const uint32_t start = !explores() && first != 0 && choose(8) != 0 ? first : page;
    const enum tau_status expected = oracle_unmap_region(&place->oracle, start);
    EXPECT_EQUAL(SPACE(unmap_region)(&place->space.core, (struct tau_page){start}), expected);
    LOG("U %u %u %d\n", index_of(place), start, expected);
    return expected;
}

static enum tau_status translate(const struct place *place) {
    const uint32_t page = some_page(place, true);
    const uint32_t access = some_access();
    struct tau_frame frame = {0};
    uint32_t number = 0;
    const enum tau_status expected = oracle_translate(&place->oracle, page, access, &number);
    EXPECT_EQUAL(SPACE(translate)(&place->space.core, (struct tau_page){page}, access, &frame),
                 expected);
    EXPECT_EQUAL(frame.number, number);
    if (expected == TAU_OK) {
        uint32_t mark[2];
        memcpy(mark, machine.memory + ((size_t)number << TAU_PAGE_LOG2), sizeof mark);
        EXPECT(mark[0] == place->name && mark[1] == page);
    }
    LOG("T %u %u %u %d %u\n", index_of(place), page, bits_of(access), expected, number);
    return expected;
}

// ---- Spaces come and go ------------------------------------------------------------------------

static void fill_tables(struct place *place, uint32_t pages_count) {
    const uint32_t kind = choose(explores() ? 4 : 5);
    const struct place *const other = &machine.places[choose(explores() ? 1 : SPACES)];
    const size_t words = place->tables_bytes / sizeof(uint32_t);
    REQUIRE(words <= TABLE_WORDS_MAX);
    for (size_t i = 0; i < words; i++) {
        place->tables[i] = explores()  ? kind * 0x55555555u
                           : kind == 0 ? (uint32_t)test_random()
                           : kind == 1 ? UINT32_MAX
                           : kind == 2 ? other->tables[i]
                                       : (uint32_t)(test_random() % pages_count);
    }
}

static enum tau_status make_space(struct place *place) {
    const unsigned pages_log2 =
        explores() ? mechanism_argument(0) : 1 + choose(choose(2) == 0 ? PAGES_LOG2_MAX : 5);
    const uint32_t kind = explores() ? SHARED : choose(4);
    const uint32_t reserved_count = kind >= COMMITTED ? choose(40) : 0;
    if (!has_room_for_a_space()) {
        return TAU_OK;
    }
    place->is_reserved = kind >= COMMITTED;
    if (place->is_reserved) {
        const bool fits = oracle_reserve(&machine.oracle_pool, &place->oracle_pool, reserved_count);
        EXPECT_EQUAL(tau_frames_reserve(&machine.pool, &place->pool, reserved_count),
                     fits ? TAU_OK : TAU_NO_FRAME);
        if (!fits) {
            return TAU_OK;
        }
    }
    LOG("S %u %u %u %u\n", index_of(place), pages_log2, kind, reserved_count);
    place->tables_bytes = bytes_of_tables(pages_log2);
    if (explores() || choose(4) != 0) {  // else on what the space before left
        fill_tables(place, UINT32_C(1) << pages_log2);
    }
    EXPECT_EQUAL(init_space(place, pages_log2, place->is_reserved ? &place->pool : &machine.pool,
                            kind == COMMITTED),
                 TAU_OK);
    oracle_init(&place->oracle, UINT32_C(1) << pages_log2,
                place->is_reserved ? &place->oracle_pool : &machine.oracle_pool, kind == COMMITTED);
    place->name = ++machine.names_count;
    place->is_made = true;
    return TAU_OK;
}

static enum tau_status give_up_space(struct place *place) {
    for (uint32_t page = 1; page < place->oracle.pages_count; page++) {
        if (place->oracle.pages[page].start == page) {
            LOG("U %u %u %d\n", index_of(place), page, TAU_OK);
            EXPECT_EQUAL(oracle_unmap_region(&place->oracle, page), TAU_OK);
            EXPECT_EQUAL(SPACE(unmap_region)(&place->space.core, (struct tau_page){page}), TAU_OK);
        }
    }
    EXPECT_EQUAL(place->space.core.mapped_pages + place->space.core.committed_pages, 0);
    close_space(place);
    LOG("G %u\n", index_of(place));
    if (place->is_reserved) {
        oracle_return(&machine.oracle_pool, &place->oracle_pool);
        tau_frames_return(&machine.pool, &place->pool);
    }
    place->is_made = false;
    return TAU_OK;
}

// ---- Frames ------------------------------------------------------------------------------------

static enum tau_status hand_in(uint32_t first, uint32_t count) {
    enum tau_status expected = count == 0                             ? TAU_BAD_ARGUMENT
                               : first + count > machine.frames_count ? TAU_FRAME_OUTSIDE
                                                                      : TAU_OK;
    for (uint32_t i = 0; expected == TAU_OK && i < count; i++) {
        expected = machine.is_handed_in[first + i] ? TAU_FRAME_TWICE : TAU_OK;
    }
    EXPECT_EQUAL(tau_frames_add(&machine.pool, (struct tau_frame){first}, count), expected);
    LOG("A %u %u %d\n", first, count, expected);
    if (expected == TAU_OK) {
        oracle_add(&machine.oracle_pool, first, count);
        memset(machine.is_handed_in + first, true, count);
    }
    return expected;
}

static enum tau_status add_frames(void) {
    const uint32_t first = choose(machine.frames_count + 2);
    return explores() ? TAU_OK : hand_in(first, choose(8));
}

static enum tau_status clean_one(void) {
    const bool expected = oracle_clean_one(&machine.oracle_pool);
    EXPECT_EQUAL(tau_frames_clean_one(&machine.pool), expected);
    LOG("C %d\n", expected);
    return TAU_OK;
}

// ---- The mechanism -----------------------------------------------------------------------------

// A call on a space; on one that is not there, its beginning.
#define SPACE_OPERATION(verb)                                                                      \
    static enum tau_status call_##verb(void) {                                                     \
        struct place *const place = some_place();                                                  \
        return place->is_made ? verb(place) : make_space(place);                                   \
    }

SPACE_OPERATION(map_region)
SPACE_OPERATION(map_page)
SPACE_OPERATION(unmap_region)
SPACE_OPERATION(translate)

static enum tau_status call_give_up(void) {
    struct place *const place = some_place();
    return !explores() && place->is_made ? give_up_space(place) : TAU_OK;
}

static const struct operation operations[] = {
    {120, call_map_page}, {52, call_map_region}, {32, call_translate}, {32, call_unmap_region},
    {10, clean_one},      {4, add_frames},       {1, call_give_up},    {0, NULL},
};

static void open_machine(void) {
    memset(&machine.oracle_pool, 0, sizeof machine.oracle_pool);
    memset(machine.is_handed_in, 0, sizeof machine.is_handed_in);
    machine.names_count = 0;
    machine.frames_count = explores() ? mechanism_argument(1) : 1 + choose(ORACLE_FRAMES_MAX);
    memset(machine.memory, 0xc3, (size_t)machine.frames_count << TAU_PAGE_LOG2);
    memset(machine.links, choose(2) != 0 ? 0xff : 0, sizeof machine.links);
    REQUIRE(tau_frames_init(&machine.pool, machine.links, machine.frames_count, machine.memory) ==
            TAU_OK);
    open_tables();
    LOG("M %u %u\n", machine.frames_count, log_of_tables());
    (void)hand_in(0, explores() ? machine.frames_count : choose(machine.frames_count + 1));
    for (unsigned i = 0; i < SPACES; i++) {
        machine.places[i].is_made = false;
    }
    if (explores()) {
        (void)make_space(&machine.places[0]);
    }
}

static void expect_list(const struct tau_frame_list *list, const uint32_t *row, uint32_t count) {
    uint32_t frame = list->head;
    EXPECT_EQUAL(list->count, count);
    for (uint32_t i = 0; i < count && list->count == count; i++) {
        EXPECT_EQUAL(frame, row[count - 1 - i]);
        frame = machine.links[frame];
    }
}

// Adds the frames of POOL to FRAMES, as check_frames does.
static void expect_pool(const struct tau_frames *pool, const struct oracle_pool *oracle,
                        unsigned char *frames) {
    EXPECT_EQUAL(check_frames(pool, frames), 0);
    EXPECT(tau_frames_invariants_hold(pool));
    expect_list(&pool->ready, oracle->ready, oracle->ready_count);
    expect_list(&pool->dirty, oracle->dirty, oracle->dirty_count);
}

static void expect_space(const struct place *place) {
    const struct oracle_space *const oracle = &place->oracle;
    EXPECT_EQUAL(place->space.core.mapped_pages, oracle->mapped_pages);
    EXPECT_EQUAL(place->space.core.committed_pages, oracle->committed_pages);
    for (uint32_t page = 0; page < oracle->pages_count; page++) {
        struct tau_frame frame = {0};
        uint32_t expected = 0;
        EXPECT_EQUAL(SPACE(translate)(&place->space.core, (struct tau_page){page}, 0, &frame),
                     oracle_translate(oracle, page, 0, &expected));
        EXPECT_EQUAL(frame.number, expected);
    }
}

static void check(void) {
    unsigned char frames[ORACLE_FRAMES_MAX] = {0};
    expect_pool(&machine.pool, &machine.oracle_pool, frames);
    check_spaces(frames);
    for (unsigned i = 0; i < SPACES; i++) {
        const struct place *const place = &machine.places[i];
        if (place->is_made) {
            expect_space(place);
        }
        if (place->is_made && place->is_reserved) {
            expect_pool(&place->pool, &place->oracle_pool, frames);
        }
    }
    for (uint32_t frame = 0; frame < machine.frames_count; frame++) {
        EXPECT_EQUAL(frames[frame], machine.is_handed_in[frame]);
    }
}

static void close_machine(void) {
    for (unsigned i = 0; i < SPACES && test_failures_count == 0 && !explores(); i++) {
        if (machine.places[i].is_made) {
            (void)give_up_space(&machine.places[i]);
            check();
        }
    }
}

static void parts_of_pool(struct tau_frames *pool, struct oracle_pool *oracle) {
    mechanism_part(pool, sizeof *pool);
    mechanism_part(&oracle->ready_count, sizeof oracle->ready_count);
    mechanism_part(&oracle->dirty_count, sizeof oracle->dirty_count);
    mechanism_part(oracle->ready, machine.frames_count * sizeof oracle->ready[0]);
    mechanism_part(oracle->dirty, machine.frames_count * sizeof oracle->dirty[0]);
}

static void parts(void) {
    parts_of_pool(&machine.pool, &machine.oracle_pool);
    parts_of_tables();
    mechanism_part(machine.links, machine.frames_count * sizeof machine.links[0]);
    if (TAU_PAGE_LOG2 <= 8) {
        mechanism_part(machine.memory, (size_t)machine.frames_count << TAU_PAGE_LOG2);
    }
    for (unsigned i = 0; i < (explores() ? 1 : SPACES); i++) {
        struct place *const place = &machine.places[i];
        if (!place->is_made) {
            continue;
        }
        struct oracle_space *const oracle = &place->oracle;
        mechanism_part(&place->space, sizeof place->space);
        mechanism_part(place->tables, place->tables_bytes);
        mechanism_part(&oracle->committed_pages, sizeof oracle->committed_pages);
        mechanism_part(&oracle->mapped_pages, sizeof oracle->mapped_pages);
        mechanism_part(oracle->pages, oracle->pages_count * sizeof oracle->pages[0]);
        mechanism_part(oracle->rights, oracle->pages_count * sizeof oracle->rights[0]);
        mechanism_part(oracle->history, oracle->pages_count * sizeof oracle->history[0]);
        if (place->is_reserved) {
            parts_of_pool(&place->pool, &place->oracle_pool);
        }
    }
}

// The content of frames is as their history; two states differ by more.
#define SPACES_MECHANISM(noun)                                                                     \
    static struct mechanism calls_of_##noun = {                                                    \
        .name = #noun,                                                                             \
        .operations = operations,                                                                  \
        .calls_max = 6000,                                                                         \
        .check_every = 64,                                                                         \
        .open = open_machine,                                                                      \
        .check = check,                                                                            \
        .parts = parts,                                                                            \
        .close = close_machine,                                                                    \
    };                                                                                             \
    MECHANISM(calls_of_##noun)

#endif
