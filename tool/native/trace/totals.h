// The ledger: checks every event against the rules of SPEC and keeps totals and the size table. The
// writer, the recovery of a crashed trace and `tau check` all use it, so they cannot disagree.
#ifndef TAU_TRACE_TOTALS_H
#define TAU_TRACE_TOTALS_H

#include "tool/native/trace/trace.h"

struct tau_trace_ledger;

// NULL iff memory is short. Grows by 4 bytes a slot (12 if large objects use it).
struct tau_trace_ledger *tau_trace_ledger_open(void);
void tau_trace_ledger_close(struct tau_trace_ledger *ledger);

// Takes events in order until the first that breaks a rule; returns how many it took. *status tells
// why it stopped: TAU_TRACE_OK, TAU_TRACE_BAD_EVENT (see tau_trace_ledger_bad_rule) or
// TAU_TRACE_NO_MEMORY. sites_count bounds the sites.
size_t tau_trace_ledger_take(struct tau_trace_ledger *ledger,
                             const struct tau_trace_columns *columns, size_t count,
                             uint64_t sites_count, enum tau_trace_status *status);

// The rule that the event after the last one taken broke: its number in SPEC and a sentence.
const char *tau_trace_ledger_bad_rule(const struct tau_trace_ledger *ledger);

// events … end_live_bytes and sizes_rounded_count; the caller fills in the rest. The caller may
// change those.
struct tau_trace_totals *tau_trace_ledger_totals(struct tau_trace_ledger *ledger);

// The size table so far, by size, in memory that the caller frees. NULL iff memory is short.
struct tau_trace_size *tau_trace_ledger_sizes(const struct tau_trace_ledger *ledger, size_t *count);

#endif
