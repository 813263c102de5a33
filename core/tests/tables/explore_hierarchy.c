// Goal: hierarchical tables are right in every state that a few calls reach around borders of
// chunks. Method: every sequence of up to DEPTH calls, from hostile memory, on pages on either side
// of two borders of a space of 128 pages with few records and frames; after each call its status,
// every page's translation and a full walk are compared with the naive account [P0-7].
//
// Usage: explore_hierarchy DEPTH.
#define ORACLE_PAGES_MAX 128
#define ORACLE_FRAMES_MAX 8
#include "core/tests/checks/check_frames.h"
#include "core/tests/checks/check_hierarchy.h"
#include "core/tests/kit/test.h"
#include "core/tests/pages/oracle_vspace.h"

enum { LOG2 = 7, PAGES = 128, FRAMES = 4, RECORDS = 4, DEPTH_MAX = 8 };

struct state {
    struct tau_hierarchy space;
    struct tau_hierarchy_tables tables;
    struct tau_frames frames;
    struct oracle_space oracle;
    struct oracle_pool pool;
    uint32_t links[FRAMES];
    uint32_t records[RECORDS * 68];
    uint32_t memory[5 * 5 + 70];
};

// The state is copied to and fro, but always used here: it points into itself.
static struct state state;
static struct state saved[DEPTH_MAX];
static unsigned long long calls_count;

static const uint32_t pages[] = {1, 31, 32, 33, 63, 64, 127};
static const uint32_t counts[] = {1, 2, 32, 64};

// Records that chunks need now, by the naive account.
static uint32_t needed(void) {
    uint32_t count = 0;
    for (uint32_t first = 0; first < PAGES; first += 32) {
        bool is_needed = first == 0;
        for (uint32_t page = first; page < first + 32; page++) {
            const struct oracle_page *const entry = &state.oracle.pages[page];
            is_needed |= entry->is_mapped ||
                         (page != 0 && entry->start != state.oracle.pages[page - 1].start);
        }
        count += is_needed;
    }
    return count;
}

static void call_map_region(uint32_t start, uint32_t count) {
    enum tau_status expected = oracle_map_region(&state.oracle, start, count, TAU_READ);
    if (expected == TAU_OK && needed() > RECORDS) {
        (void)oracle_unmap_region(&state.oracle, start);
        expected = TAU_NO_TABLE;
    }
    EXPECT_EQUAL(tau_hierarchy_map_region(&state.space, (struct tau_page){start}, count, TAU_READ),
                 expected);
}

static void call_map_page(uint32_t page) {
    struct oracle_page *const entry = &state.oracle.pages[page];
    enum tau_status expected = TAU_OK;
    if (entry->start != 0 && !entry->is_mapped) {
        entry->is_mapped = true;
        expected = needed() > RECORDS ? TAU_NO_TABLE : TAU_OK;
        entry->is_mapped = false;
    }
    if (expected == TAU_OK) {
        expected = oracle_map_page(&state.oracle, page, TAU_READ);
    }
    EXPECT_EQUAL(tau_hierarchy_map_page(&state.space, (struct tau_page){page}, TAU_READ), expected);
}

static void call_unmap_region(uint32_t start) {
    const enum tau_status expected = oracle_unmap_region(&state.oracle, start);
    EXPECT_EQUAL(tau_hierarchy_unmap_region(&state.space, (struct tau_page){start}), expected);
}

static void expect_as_accounted(void) {
    unsigned char records[RECORDS] = {0};
    unsigned char frames[FRAMES] = {0};
    struct check_hierarchy_places places = {records, frames, 0};
    EXPECT_EQUAL(check_hierarchy(&state.space, &places), 0);
    EXPECT_EQUAL(check_frames(&state.frames, frames), 0);
    EXPECT_EQUAL(check_frames(&state.tables.free, records), 0);
    EXPECT_EQUAL(RECORDS - state.tables.free.ready.count, needed());
    for (uint32_t i = 0; i < FRAMES; i++) {
        EXPECT_EQUAL(frames[i], 1);
        EXPECT_EQUAL(records[i], 1);
    }
    for (uint32_t page = 0; page < PAGES; page++) {
        struct tau_frame frame = {0};
        uint32_t expected = 0;
        EXPECT_EQUAL(
            tau_hierarchy_translate(&state.space, (struct tau_page){page}, TAU_READ, &frame),
            oracle_translate(&state.oracle, page, TAU_READ, &expected));
        EXPECT_EQUAL(frame.number, expected);
    }
}

// Makes the call with NUMBER; false if there is none.
static bool call(unsigned number) {
    const unsigned pages_count = sizeof pages / sizeof pages[0];
    const unsigned regions_count = pages_count * (sizeof counts / sizeof counts[0]);
    if (number < regions_count) {
        call_map_region(pages[number % pages_count], counts[number / pages_count]);
    } else if (number < regions_count + pages_count) {
        call_map_page(pages[number - regions_count]);
    } else if (number < regions_count + 2 * pages_count) {
        call_unmap_region(pages[number - regions_count - pages_count]);
    } else {
        return false;
    }
    return true;
}

static void explore(unsigned depth) {
    saved[depth] = state;
    for (unsigned number = 0; call(number) && test_failures_count == 0; number++) {
        calls_count++;
        const bool is_new = memcmp(&saved[depth], &state, sizeof state) != 0;
        if (is_new) {  // a refused call has changed nothing, so there is nothing behind it
            expect_as_accounted();
            if (depth > 1) {
                explore(depth - 1);
            }
            state = saved[depth];
        }
    }
}

int main(int argc, char **argv) {
    REQUIRE(argc == 2);
    const unsigned depth = (unsigned)strtoul(argv[1], NULL, 0);
    REQUIRE(depth > 0 && depth < DEPTH_MAX);
    for (int byte = 0; byte < 256; byte += 85) {  // what memory holds at first
        memset(&state, byte, sizeof state);
        REQUIRE(tau_frames_init(&state.frames, state.links, FRAMES, NULL) == TAU_OK);
        REQUIRE(tau_frames_add(&state.frames, (struct tau_frame){0}, FRAMES) == TAU_OK);
        REQUIRE(tau_hierarchy_tables_init(&state.tables, state.records, sizeof state.records) ==
                TAU_OK);
        REQUIRE(tau_hierarchy_init(&state.space, state.memory, sizeof state.memory, LOG2,
                                   &state.tables, &state.frames,
                                   TAU_HIERARCHY_OVERCOMMIT) == TAU_OK);
        memset(&state.pool, 0, sizeof state.pool);
        oracle_add(&state.pool, 0, FRAMES);
        oracle_init(&state.oracle, PAGES, &state.pool, false);
        explore(depth);
    }
    printf("%llu calls, %u failures\n", calls_count, test_failures_count);
    return test_failures_count > 0;
}
