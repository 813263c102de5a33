// Goal: no reachable state of a space of four pages is unsound, whatever its memory held at first.
// Method:
// - Cache, helper and stack of the pages 1 … 3 take each of the four values that the tables can
//   distinguish. Every other number is refused like one of them. So all 4^9 memories are tried.
// - From each memory, every state that calls can reach is visited once.
// - In each state there is a full walk. Every call (map_region, map_page with and without a frame
//   left, unmap_region) is compared with a naive account: status, which page is mapped to which
//   frame, the order of the free frames, and that a refused call changed nothing.
//
// Page 0 takes no part: its entries are read, never trusted [P0-25, P0-26].
//
// An argument N tries every Nth memory only. Prints the number of states. Exits with 0 if no state
// was unsound.
#define ORACLE_PAGES_MAX 4
#define ORACLE_FRAMES_MAX 5
#include "core/private/pages/validity_inline.h"
#include "core/private/pages/vspace_inline.h"
#include "core/tests/checks/check_frames.h"
#include "core/tests/checks/check_vspace.h"
#include "core/tests/kit/test.h"
#include "core/tests/pages/oracle_vspace.h"

enum {
    PAGES = 4,
    FRAMES = 5,
    CELL_BITS = 18,  // cache, helper, stack of three pages, two bits each
    STATE_BITS = CELL_BITS + 12,
    TABLE_WORDS_MAX = 56,
};

// A state as a number: the cells, then for each page two bits of its region (0 free, 1 start, 2
// further page) and two of its stack's height, if it is a start.
typedef uint32_t state_number;

struct call {
    uint32_t kind;  // 0 map_region, 1 map_page, 2 map_page without frames, 3 unmap_region
    uint32_t page;
    uint32_t pages;
};

static uint32_t *visited;  // one bit per state
static state_number *pending;
static size_t pending_count;
static size_t pending_max;
static size_t states_count;
static size_t calls_count;

static uint32_t links[FRAMES];
static uint32_t tables[TABLE_WORDS_MAX];
static uint32_t empty_tables[TABLE_WORDS_MAX];
static struct tau_frames pool;
static struct tau_vspace space;
static struct oracle_pool oracle_pool;
static struct oracle_space oracle;

static uint32_t field(state_number number, unsigned index) {
    return number >> 2 * index & 3u;
}

static void visit(state_number number) {
    if ((visited[number >> 5] >> (number & 31u) & 1u) != 0) {
        return;
    }
    visited[number >> 5] |= UINT32_C(1) << (number & 31u);
    if (pending_count == pending_max) {
        pending_max = 2 * pending_max + 1024;
        pending = realloc(pending, pending_max * sizeof *pending);
        REQUIRE(pending != NULL);
    }
    pending[pending_count++] = number;
}

// ---- A state as a number and back --------------------------------------------------------------

static state_number encode(void) {
    const struct tau_validity *const validity = &space.validity;
    state_number number = 0;
    for (uint32_t page = 1; page < PAGES; page++) {
        const unsigned at = 2 * (page - 1);
        const uint32_t top = validity->regions[page].top;
        const bool is_start = tau_region_tree_is_start(&space.tree, (struct tau_page){page});
        const bool is_free = oracle.pages[page].start == 0;
        number |= (validity->regions[page].cache & 3u) << at;
        number |= (validity->stacks[page].helper & 3u) << (at + 6);
        number |= (validity->stacks[page].page & 3u) << (at + 12);
        number |= (is_free ? 0u : is_start ? 1u : 2u) << (at + 18);
        if (!is_free && is_start) {
            number |= (validity_sp(top) + 1 - page) << (at + 24);
        }
    }
    return number;
}

// The pages that are mapped in a state, in the order of their stacks, get frames 0, 1, ...
static void decode_mapped(state_number number) {
    uint32_t frame = 0;
    for (uint32_t start = 1; start < PAGES; start++) {
        const uint32_t height = field(number, start + 11);
        for (uint32_t place = start; place < start + height; place++) {
            const uint32_t page = field(number, place + 5);
            struct oracle_page *const entry = &oracle.pages[page];
            REQUIRE(entry->start == start && !entry->is_mapped);
            entry->is_mapped = true;
            entry->frame = frame;
            oracle.history[oracle.mapped_pages++] = page;
            space.validity.data[page] = frame | TAU_READ;
            if (place != start) {
                links[frame] = frame - 1;
            }
            frame++;
        }
    }
    space.mapped_pages = oracle.mapped_pages;
    for (uint32_t left = FRAMES; left > frame; left--) {
        frames_splice(&pool, &pool.ready, left - 1, left - 1, 1);
        oracle_pool.ready[oracle_pool.ready_count++] = left - 1;
    }
}

static void decode(state_number number) {
    memcpy(tables, empty_tables, sizeof tables);
    memset(&oracle_pool, 0, sizeof oracle_pool);
    oracle_init(&oracle, PAGES, &oracle_pool, false);
    pool.ready = (struct tau_frame_list){0};
    pool.dirty = (struct tau_frame_list){0};
    space.committed_pages = 0;
    bool was_free = true;
    uint32_t start = 0;
    for (uint32_t page = 1; page < PAGES; page++) {
        const uint32_t kind = field(number, page + 8);
        space.validity.regions[page].cache = field(number, page - 1);
        space.validity.stacks[page].helper = field(number, page + 2);
        space.validity.stacks[page].page = field(number, page + 5);
        if (kind == 1 || (kind == 0 && !was_free)) {
            tau_region_tree_split(&space.tree, (struct tau_page){page});
            vspace_region_empty(&space, page, kind == 1 ? VALIDITY_OPEN | TAU_READ : VALIDITY_FREE);
        }
        start = kind == 1 ? page : kind == 0 ? 0 : start;
        was_free = kind == 0;
        if (kind != 0) {
            oracle.pages[page].start = start;
            oracle.rights[page] = kind == 1 ? TAU_READ : 0;
            oracle.committed_pages++;
        }
        if (kind == 1) {
            space.validity.regions[page].top += field(number, page + 11);
        }
    }
    space.committed_pages = oracle.committed_pages;
    decode_mapped(number);
}

// ---- One call in one state ---------------------------------------------------------------------

static void expect_row(const struct tau_frame_list *list, const uint32_t *row, uint32_t count) {
    uint32_t frame = list->head;
    EXPECT_EQUAL(list->count, count);
    for (uint32_t i = 0; i < count && list->count == count; i++) {
        EXPECT_EQUAL(frame, row[count - 1 - i]);
        frame = links[frame];
    }
}

static void expect_as_oracle(void) {
    for (uint32_t page = 0; page <= PAGES; page++) {
        struct tau_frame frame = {0};
        uint32_t expected = 0;
        EXPECT_EQUAL(tau_vspace_translate(&space, (struct tau_page){page}, TAU_READ, &frame),
                     oracle_translate(&oracle, page, TAU_READ, &expected));
        EXPECT_EQUAL(frame.number, expected);
    }
    EXPECT_EQUAL(space.mapped_pages, oracle.mapped_pages);
    EXPECT_EQUAL(space.committed_pages, oracle.committed_pages);
    expect_row(&pool.ready, oracle_pool.ready, oracle_pool.ready_count);
    expect_row(&pool.dirty, oracle_pool.dirty, oracle_pool.dirty_count);
}

static enum tau_status oracle_run(const struct call *call) {
    if (call->kind == 0) {
        return oracle_map_region(&oracle, call->page, call->pages, TAU_READ);
    }
    return call->kind == 3 ? oracle_unmap_region(&oracle, call->page)
                           : oracle_map_page(&oracle, call->page, TAU_READ);
}

static enum tau_status core_run(const struct call *call) {
    const struct tau_page page = {call->page};
    if (call->kind == 0) {
        return tau_vspace_map_region(&space, page, call->pages, TAU_READ);
    }
    return call->kind == 3 ? tau_vspace_unmap_region(&space, page)
                           : tau_vspace_map_page(&space, page, TAU_READ);
}

static void run(state_number number, const struct call *call) {
    static uint32_t tables_before[TABLE_WORDS_MAX];
    uint32_t links_before[FRAMES];
    decode(number);
    if (call->kind == 2) {
        pool.ready.count = 0;
        oracle_pool.ready_count = 0;
    }
    memcpy(tables_before, tables, sizeof tables);
    memcpy(links_before, links, sizeof links);
    const struct tau_vspace space_before = space;
    const struct tau_frames pool_before = pool;
    const enum tau_status expected = oracle_run(call);
    EXPECT_EQUAL(core_run(call), expected);
    calls_count++;
    if (expected == TAU_OK) {
        expect_as_oracle();
        visit(encode());
    } else {
        EXPECT(memcmp(tables, tables_before, sizeof tables) == 0 &&
               memcmp(links, links_before, sizeof links) == 0 &&
               memcmp(&space, &space_before, sizeof space) == 0 &&
               memcmp(&pool, &pool_before, sizeof pool) == 0);
    }
}

static void explore(state_number number) {
    decode(number);
    EXPECT_EQUAL(check_vspace(&space, NULL), 0);
    expect_as_oracle();
    states_count++;
    // What no state allows is tried in a few of them only.
    const bool is_thorough = states_count % 8 == 0;
    for (uint32_t page = is_thorough ? 0 : 1; page < (is_thorough ? PAGES + 1 : PAGES); page++) {
        for (uint32_t kind = 1; kind <= 3; kind++) {
            run(number, &(struct call){kind, page, 0});
        }
        for (uint32_t pages = is_thorough ? 0 : 1; pages <= PAGES + 1 - page; pages++) {
            run(number, &(struct call){0, page, pages});
        }
    }
}

int main(int count, char **words) {
    const unsigned long step = count > 1 ? strtoul(words[1], NULL, 10) : 1;
    visited = calloc((size_t)1 << (STATE_BITS - 5), sizeof *visited);
    REQUIRE(step != 0 && visited != NULL && tau_vspace_size_bytes(2) <= sizeof tables);
    REQUIRE(tau_frames_init(&pool, links, FRAMES, NULL) == TAU_OK);
    REQUIRE(tau_frames_add(&pool, (struct tau_frame){0}, FRAMES) == TAU_OK);
    REQUIRE(tau_vspace_init(&space, tables, sizeof tables, 2, &pool, TAU_VSPACE_OVERCOMMIT) ==
            TAU_OK);
    // Page 0's own entries, which nothing may trust, say that it is page 1 of region 1.
    space.validity.regions[0].cache = 1;
    space.validity.stacks[0] = (struct tau_validity_stack){1, 1};
    memcpy(empty_tables, tables, sizeof tables);
    for (state_number cells = 0; cells < UINT32_C(1) << CELL_BITS; cells += (state_number)step) {
        visit(cells);
    }
    while (pending_count != 0 && test_failures_count == 0) {
        explore(pending[--pending_count]);
    }
    if (test_failures_count != 0) {
        printf("state 0x%x\n", (unsigned)pending[pending_count]);
    }
    printf("%zu states, %zu calls, %s, %u failures\n", states_count, calls_count,
           pending_count == 0 ? "complete" : "incomplete", test_failures_count);
    free(visited);
    free(pending);
    return test_failures_count != 0;
}
