// The check runs the writer's ledger over the events that the reader unpacks.
#include "tool/native/trace/check.h"

#include <stdlib.h>
#include <string.h>

#include "tool/native/trace/chunk.h"
#include "tool/native/trace/columns.h"
#include "tool/native/trace/totals.h"

struct tau_trace_checker {
    struct tau_trace_reader *reader;
    struct tau_trace_ledger *ledger;
    bool lost;  // an event is missing: the ledger stands still
    uint64_t bad_event;
    struct tau_trace_columns columns;
};

struct tau_trace_checker *tau_trace_checker_open(struct tau_trace_reader *reader) {
    struct tau_trace_checker *checker = calloc(1, sizeof *checker);
    if (checker == NULL) {
        return NULL;
    }
    checker->reader = reader;
    checker->ledger = tau_trace_ledger_open();
    if (!tau_trace_columns_open(&checker->columns, TAU_TRACE_BLOCK_EVENTS_MAX) ||
        checker->ledger == NULL) {
        tau_trace_checker_close(checker);
        return NULL;
    }
    return checker;
}

void tau_trace_checker_close(struct tau_trace_checker *checker) {
    if (checker != NULL) {
        tau_trace_ledger_close(checker->ledger);
        tau_trace_columns_close(&checker->columns);
        free(checker);
    }
}

enum tau_trace_status tau_trace_checker_block(struct tau_trace_checker *checker, uint64_t index) {
    size_t count = 0;
    enum tau_trace_status status =
        tau_trace_reader_block(checker->reader, index, &checker->columns, &count);
    if (status != TAU_TRACE_OK) {
        checker->lost = true;
        return status;
    }
    if (checker->lost) {
        return TAU_TRACE_OK;
    }
    uint64_t sites = tau_trace_reader_totals(checker->reader)->sites;
    (void)tau_trace_ledger_take(checker->ledger, &checker->columns, count, sites, &status);
    if (status == TAU_TRACE_BAD_EVENT) {
        checker->lost = true;
        checker->bad_event = tau_trace_ledger_totals(checker->ledger)->events;
    }
    return status;
}

const char *tau_trace_checker_rule(const struct tau_trace_checker *checker) {
    return tau_trace_ledger_bad_rule(checker->ledger);
}

uint64_t tau_trace_checker_event(const struct tau_trace_checker *checker) {
    return checker->bad_event;
}

static bool sizes_same(const struct tau_trace_checker *checker) {
    size_t said_count = 0, found_count = 0;
    const struct tau_trace_size *said = tau_trace_reader_sizes(checker->reader, &said_count);
    struct tau_trace_size *found = tau_trace_ledger_sizes(checker->ledger, &found_count);
    bool same = found != NULL && said_count == found_count &&
                memcmp(said, found, found_count * sizeof *found) == 0;
    free(found);
    return same;
}

const char *tau_trace_checker_totals(const struct tau_trace_checker *checker) {
    const struct tau_trace_totals *said = tau_trace_reader_totals(checker->reader);
    const struct tau_trace_totals *found = tau_trace_ledger_totals(checker->ledger);
    for (unsigned i = 0; i < TAU_TRACE_STORED_TOTALS; i++) {
        if (tau_trace_stored_totals[i].follows_from_events &&
            tau_trace_stored_total(said, i) != tau_trace_stored_total(found, i)) {
            return tau_trace_stored_totals[i].name;
        }
    }
    return sizes_same(checker) ? NULL : "sizes";
}
