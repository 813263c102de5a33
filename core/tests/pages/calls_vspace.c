// Goal: address spaces do what the naive account says, on any memory, in any order of calls [P0-5 …
// P0-12, P0-45]. Method: spaces.h, with a full walk of the pages validity arrays on the way.
#include "core/tests/checks/check_vspace.h"
#include "core/vspace.h"

struct tested_space {
    struct tau_vspace core;
};
#define SPACE(verb) tau_vspace_##verb
#include "core/tests/pages/spaces.h"

static void open_tables(void) {
}

static uint32_t log_of_tables(void) {
    return 0;
}

static bool has_room_for_a_space(void) {
    return true;
}

static size_t bytes_of_tables(unsigned pages_log2) {
    return tau_vspace_size_bytes(pages_log2);
}

static enum tau_status init_space(struct place *place, unsigned pages_log2, struct tau_frames *pool,
                                  bool commits) {
    return tau_vspace_init(&place->space.core, place->tables, place->tables_bytes, pages_log2, pool,
                           commits ? TAU_VSPACE_COMMIT : TAU_VSPACE_OVERCOMMIT);
}

static void close_space(struct place *place) {
    (void)place;
}

static bool is_short_of_tables(void) {
    return false;
}

static void parts_of_tables(void) {
}

static void check_spaces(unsigned char *frames) {
    for (unsigned i = 0; i < SPACES; i++) {
        if (machine.places[i].is_made) {
            EXPECT_EQUAL(check_vspace(&machine.places[i].space.core, frames), 0);
        }
    }
}

SPACES_MECHANISM(vspace)
