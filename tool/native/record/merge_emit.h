// Converts rows to the trace's events: addresses to slots, and misuse to flags.
#ifndef TAU_MERGE_EMIT_H
#define TAU_MERGE_EMIT_H

#include "tool/native/record/merge.h"
#include "tool/native/record/merge_modules.h"
#include "tool/native/record/merge_objects.h"
#include "tool/native/record/merge_rows.h"
#include "tool/native/record/merge_stacks.h"
#include "tool/native/trace/columns.h"

// The most realloc calls under way at once. Beyond it, the object counts as freed.
#define TAU_MERGE_MOVES_MAX 4096u

// An object between REALLOC_BEGIN and its end; the thread's latest is the one that ends first.
struct tau_merge_move {
    uint64_t address;
    uint64_t time_ns;
    uint32_t slot;  // TAU_MERGE_SLOT_NONE: not an object that we know
    uint32_t thread;
    uint32_t site;
};

// The most mallocs of live addresses that wait for their thread's next row. Beyond it, the oldest
// is decided without that row.
#define TAU_MERGE_CLAIMS_MAX 64u

// A malloc where an object is alive. If the thread's next row frees the address, the two are a
// realloc in place; if not, the object's free was not seen.
struct tau_merge_claim {
    struct tau_merge_row row;
    uint64_t time_ns;
    uint32_t number;  // the thread's, as in the recording
    uint32_t thread;  // and in the trace
    uint32_t site;
};

struct tau_merge_emit {
    struct tau_trace_writer *writer;
    struct tau_trace_columns columns;
    size_t count;  // events in the columns
    struct tau_merge_objects objects;
    struct tau_merge_modules modules;
    struct tau_merge_stacks stacks;
    struct tau_merge_move *moves;
    size_t moves_count;
    bool joins;  // a realloc in place may come as a malloc and a free: a target's listener does so
    struct tau_merge_claim claims[TAU_MERGE_CLAIMS_MAX];
    size_t claims_count;
    // The recording's thread numbers, renumbered by first appearance.
    uint32_t *threads;
    size_t threads_count;
    size_t threads_room;
    uint64_t last_ns;
    bool forked;                   // unknown objects may be the parent's
    enum tau_merge_status status;  // the first failure
    struct tau_merge_result *result;
    tau_merge_progress progress;
    void *context;
    uint64_t done_bytes, total_bytes;
};

// False, with emit->status, if the trace cannot be created or memory is short. Close it in any
// case.
bool tau_merge_emit_open(struct tau_merge_emit *emit, const char *out, const char *header_json);
// One row of ROWS, at TIME_NS. False if emit->status says so.
bool tau_merge_emit_row(struct tau_merge_emit *emit, struct tau_merge_rows *rows, uint64_t time_ns);
// Rows are missing here, so the next row of a thread may not be the one that followed.
bool tau_merge_emit_gap(struct tau_merge_emit *emit);
// Frees every live object, because the machine restarted.
bool tau_merge_emit_restart(struct tau_merge_emit *emit);
// Writes the remaining events, fills the result and frees everything.
enum tau_merge_status tau_merge_emit_close(struct tau_merge_emit *emit);

#endif
