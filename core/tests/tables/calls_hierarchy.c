// Goal: hierarchical tables do what the naive account says, which knows nothing of tables, and have
// a record for exactly the chunks that need one [P0-7]. Method: pages/spaces.h, with a short pool
// of records and a full walk of the tables on the way.
#include "core/hierarchy.h"
#include "core/tests/checks/check_hierarchy.h"

struct tested_space {
    struct tau_hierarchy core;
};
#define SPACE(verb) tau_hierarchy_##verb
#include "core/tests/pages/spaces.h"

enum { RECORDS_MAX = 100, CHUNK = 32, RECORDS_BYTES_MAX = 68 * 4 * RECORDS_MAX + 272 };

static struct tau_hierarchy_tables tables;
static uint32_t records[RECORDS_BYTES_MAX / 4];
static uint32_t records_count;

static void open_tables(void) {
    records_count = explores() ? mechanism_argument(2) : 1 + choose(RECORDS_MAX);
    const size_t bytes = tau_hierarchy_tables_size_bytes(records_count);
    const uint32_t kind = explores() ? 0 : choose(3);
    for (size_t i = 0; i < sizeof records / sizeof records[0]; i++) {
        records[i] = kind == 0   ? 0xa5a5a5a5u
                     : kind == 1 ? (uint32_t)test_random()
                                 : (uint32_t)test_random() % 40;
    }
    EXPECT_EQUAL(
        tau_hierarchy_tables_init(&tables, records, bytes + (explores() ? 0 : choose(272))),
        TAU_OK);
}

static uint32_t log_of_tables(void) {
    return records_count;
}

// Chunks of a space that need a record now, or may need one for a fault that must not fail.
static uint32_t needed_in(const struct place *place) {
    const struct oracle_space *const oracle = &place->oracle;
    const bool commits = oracle->commit_max_pages != UINT32_MAX;
    uint32_t count = 0;
    for (uint32_t first = 0; first < oracle->pages_count; first += CHUNK) {
        bool is_needed = first == 0;
        for (uint32_t page = first; page < first + CHUNK && page < oracle->pages_count; page++) {
            const struct oracle_page *const entry = &oracle->pages[page];
            is_needed |= entry->is_mapped || (commits && entry->start != 0) ||
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

static bool has_room_for_a_space(void) {
    return needed() < records_count;
}

static size_t bytes_of_tables(unsigned pages_log2) {
    return tau_hierarchy_size_bytes(pages_log2);
}

static enum tau_status init_space(struct place *place, unsigned pages_log2, struct tau_frames *pool,
                                  bool commits) {
    return tau_hierarchy_init(&place->space.core, place->tables, place->tables_bytes, pages_log2,
                              &tables, pool,
                              commits ? TAU_HIERARCHY_COMMIT : TAU_HIERARCHY_OVERCOMMIT);
}

static void close_space(struct place *place) {
    EXPECT_EQUAL(needed_in(place), 1);
    EXPECT_EQUAL(tau_hierarchy_close(&place->space.core), TAU_OK);
}

static bool is_short_of_tables(void) {
    return needed() > records_count;
}

static void parts_of_tables(void) {
    mechanism_part(&tables, sizeof tables);
    mechanism_part(records, tau_hierarchy_tables_size_bytes(records_count));
}

static void check_spaces(unsigned char *frames) {
    unsigned char seen[RECORDS_MAX] = {0};
    struct check_hierarchy_places found = {seen, frames, 0};
    for (unsigned i = 0; i < SPACES; i++) {
        struct place *const place = &machine.places[i];
        if (place->is_made) {
            EXPECT_EQUAL(check_hierarchy(&place->space.core, &found), 0);
        }
        if (place->is_made && place->oracle.committed_pages != 0) {
            EXPECT_EQUAL(tau_hierarchy_close(&place->space.core), TAU_BAD_ARGUMENT);
        }
    }
    EXPECT_EQUAL(found.promised, tables.promised);
    EXPECT_EQUAL(records_count - tables.free.ready.count + found.promised, needed());
    EXPECT_EQUAL(check_frames(&tables.free, seen), 0);
    for (uint32_t record = 0; record < records_count; record++) {
        EXPECT_EQUAL(seen[record], 1);
    }
}

SPACES_MECHANISM(hierarchy)
