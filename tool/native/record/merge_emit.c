// Turns rows in order into events: live objects, reallocs under way, and columns for the writer.
#include "tool/native/record/merge_emit.h"

#include <stdlib.h>
#include <string.h>

#define THREADS_MAX (TAU_TRACE_THREADS_MAX - 1u)

static bool fail(struct tau_merge_emit *emit, enum tau_merge_status status) {
    if (emit->status == TAU_MERGE_OK) {
        emit->status = status;
    }
    return false;
}

static bool flush(struct tau_merge_emit *emit) {
    const enum tau_trace_status status =
        tau_trace_writer_append(emit->writer, &emit->columns, emit->count);
    emit->count = 0;
    if (status != TAU_TRACE_OK) {
        return fail(emit, (enum tau_merge_status)(TAU_MERGE_TRACE_FAILED + (int)status));
    }
    if (emit->progress != NULL &&
        !emit->progress(emit->context, emit->done_bytes, emit->total_bytes)) {
        return fail(emit, TAU_MERGE_STOPPED);
    }
    return true;
}

static bool put(struct tau_merge_emit *emit, uint64_t time_ns, struct tau_trace_event event) {
    // Rows come by time. A late row of a damaged chunk gets the time of the last written one.
    emit->last_ns = time_ns > emit->last_ns ? time_ns : emit->last_ns;
    event.time_ns = emit->last_ns;
    tau_trace_columns_put(&emit->columns, emit->count++, &event);
    return emit->count < TAU_TRACE_BLOCK_EVENTS_MAX || flush(emit);
}

// ---- Threads ----

// The recorder numbers threads from 1 without gaps, so its numbers index the table. A number far
// out of range comes from a damaged chunk, or from a firmware that uses handles; it shares the last
// entry.
static uint32_t thread_of(struct tau_merge_emit *emit, uint32_t number) {
    if (number > THREADS_MAX) {
        return THREADS_MAX;
    }
    if (number >= emit->threads_room) {
        size_t room = emit->threads_room == 0 ? 64 : emit->threads_room;
        while (room <= number) {
            room *= 2;
        }
        uint32_t *threads = realloc(emit->threads, room * sizeof(*threads));
        if (threads == NULL) {
            fail(emit, TAU_MERGE_NO_MEMORY);
            return 0;
        }
        memset(threads + emit->threads_room, 0, (room - emit->threads_room) * sizeof(*threads));
        emit->threads = threads;
        emit->threads_room = room;
    }
    if (emit->threads[number] == 0) {
        emit->threads[number] = (uint32_t)++emit->threads_count;
    }
    return emit->threads[number] - 1;
}

// ---- Objects ----

static uint8_t flag_of(const struct tau_merge_emit *emit, uint64_t address) {
    if (tau_merge_objects_was_freed(&emit->objects, address)) {
        return TAU_TRACE_DOUBLE_FREE;
    }
    return emit->forked ? TAU_TRACE_INHERITED : TAU_TRACE_UNKNOWN;
}

// An object that is still live where a new one begins was freed without a row.
static bool imply_free(struct tau_merge_emit *emit, uint64_t address, uint64_t time_ns,
                       uint32_t thread) {
    const uint32_t slot = tau_merge_objects_find(&emit->objects, address);
    if (slot == TAU_MERGE_SLOT_NONE) {
        return true;
    }
    tau_merge_objects_remove(&emit->objects, slot);
    emit->result->implied_frees++;
    return put(emit, time_ns,
               (struct tau_trace_event){.op = TAU_TRACE_FREE, .slot = slot, .thread = thread});
}

static bool begin_object(struct tau_merge_emit *emit, const struct tau_merge_row *row,
                         struct tau_trace_event event, uint64_t time_ns) {
    if (!imply_free(emit, row->address, time_ns, event.thread)) {
        return false;
    }
    if (!tau_merge_objects_add(&emit->objects, row->address, row->size_bytes, &event.slot)) {
        return fail(emit, TAU_MERGE_NO_MEMORY);
    }
    event.size_bytes = row->size_bytes;
    event.align_log2 = row->align_log2;
    return put(emit, time_ns, event);
}

static bool end_object(struct tau_merge_emit *emit, uint64_t address, uint32_t slot,
                       struct tau_trace_event event, uint64_t time_ns) {
    event.op = TAU_TRACE_FREE;
    event.slot = slot;
    if (slot == TAU_MERGE_SLOT_NONE) {
        event.flags = flag_of(emit, address);
    } else {
        tau_merge_objects_remove(&emit->objects, slot);
    }
    tau_merge_objects_note_freed(&emit->objects, address);
    return put(emit, time_ns, event);
}

// ---- Moves ----

static bool move_begin(struct tau_merge_emit *emit, const struct tau_merge_row *row,
                       struct tau_trace_event event, uint64_t time_ns) {
    const uint32_t slot = tau_merge_objects_find(&emit->objects, row->address);
    if (emit->moves_count == TAU_MERGE_MOVES_MAX) {
        return end_object(emit, row->address, slot, event, time_ns);
    }
    tau_merge_objects_detach(&emit->objects, row->address);
    emit->moves[emit->moves_count++] =
        (struct tau_merge_move){row->address, time_ns, slot, event.thread, event.site};
    return true;
}

// Takes the thread's latest move; false if it has none.
static bool move_take(struct tau_merge_emit *emit, uint32_t thread, struct tau_merge_move *move) {
    for (size_t i = emit->moves_count; i > 0; i--) {
        if (emit->moves[i - 1].thread == thread) {
            *move = emit->moves[i - 1];
            emit->moves_count--;
            memmove(&emit->moves[i - 1], &emit->moves[i],
                    (emit->moves_count - (i - 1)) * sizeof(*move));
            return true;
        }
    }
    return false;
}

static bool move_end(struct tau_merge_emit *emit, const struct tau_merge_row *row,
                     struct tau_trace_event event, uint64_t time_ns) {
    struct tau_merge_move move;
    event.op = TAU_TRACE_REALLOC;
    event.size_bytes = row->size_bytes;
    const bool begun = move_take(emit, event.thread, &move);
    if (!imply_free(emit, row->address, time_ns, event.thread)) {
        return false;
    }
    if (begun && move.slot != TAU_MERGE_SLOT_NONE) {
        event.slot = move.slot;
        if (!tau_merge_objects_attach(&emit->objects, move.slot, row->address, row->size_bytes)) {
            return fail(emit, TAU_MERGE_NO_MEMORY);
        }
        if (move.address != row->address) {
            tau_merge_objects_note_freed(&emit->objects, move.address);
        }
        return put(emit, time_ns, event);
    }
    event.slot = TAU_TRACE_SLOT_NONE;
    // Where a signal handler forked within a realloc, its beginning is in the parent's recording.
    event.flags = begun          ? flag_of(emit, move.address)
                  : emit->forked ? TAU_TRACE_INHERITED
                                 : TAU_TRACE_UNKNOWN;
    if (!put(emit, time_ns, event)) {
        return false;
    }
    event.op = TAU_TRACE_MALLOC;
    event.flags = 0;
    return begin_object(emit, row, event, time_ns);
}

// The realloc failed and the object stays where it is, or the realloc freed the object.
static bool move_undo(struct tau_merge_emit *emit, const struct tau_merge_row *row, uint32_t thread,
                      uint64_t time_ns) {
    struct tau_merge_move move;
    if (!move_take(emit, thread, &move)) {
        return true;
    }
    struct tau_trace_event event = {.op = TAU_TRACE_FREE, .thread = thread, .site = move.site};
    if (row->control == TAU_RECORD_REALLOC_FREED) {
        return end_object(emit, move.address, move.slot, event, time_ns);
    }
    if (move.slot == TAU_MERGE_SLOT_NONE) {
        return true;
    }
    if (!imply_free(emit, move.address, time_ns, thread)) {
        return false;
    }
    const uint64_t size_bytes = emit->objects.slot_size_bytes[move.slot];
    return tau_merge_objects_attach(&emit->objects, move.slot, move.address, size_bytes) ||
           fail(emit, TAU_MERGE_NO_MEMORY);
}

// ---- Claims ----

static struct tau_merge_claim claim_take(struct tau_merge_emit *emit, size_t i) {
    const struct tau_merge_claim claim = emit->claims[i];
    emit->claims_count--;
    memmove(&emit->claims[i], &emit->claims[i + 1],
            (emit->claims_count - i) * sizeof(*emit->claims));
    return claim;
}

// The live object's free was not recorded, and the malloc is a new object.
static bool claim_settle(struct tau_merge_emit *emit, size_t i) {
    const struct tau_merge_claim claim = claim_take(emit, i);
    const struct tau_trace_event event = {
        .op = TAU_TRACE_MALLOC, .thread = claim.thread, .site = claim.site};
    return begin_object(emit, &claim.row, event, claim.time_ns);
}

// The object goes on where it is, with the malloc's size.
static bool claim_join(struct tau_merge_emit *emit, size_t i) {
    const struct tau_merge_claim claim = claim_take(emit, i);
    const uint64_t address = claim.row.address;
    const uint32_t slot = tau_merge_objects_find(&emit->objects, address);
    tau_merge_objects_detach(&emit->objects, address);
    if (!tau_merge_objects_attach(&emit->objects, slot, address, claim.row.size_bytes)) {
        return fail(emit, TAU_MERGE_NO_MEMORY);
    }
    return put(emit, claim.time_ns,
               (struct tau_trace_event){.op = TAU_TRACE_REALLOC,
                                        .slot = slot,
                                        .thread = claim.thread,
                                        .site = claim.site,
                                        .size_bytes = claim.row.size_bytes});
}

// Decides what ROW, of thread NUMBER, decides. *JOINED: it was the second half of a realloc.
static bool claims_decide(struct tau_merge_emit *emit, const struct tau_merge_row *row,
                          uint32_t number, bool *joined) {
    const bool is_control = row->op == TAU_RECORD_CONTROL;
    for (size_t i = emit->claims_count; i > 0; i--) {
        const struct tau_merge_claim *claim = &emit->claims[i - 1];
        const bool names = !is_control && claim->row.address == row->address;
        if (claim->number == number && names && row->op == TAU_RECORD_FREE) {
            *joined = true;
            return claim_join(emit, i - 1);
        }
        if ((claim->number == number || names) && !claim_settle(emit, i - 1)) {
            return false;
        }
    }
    return true;
}

static bool claim_begin(struct tau_merge_emit *emit, const struct tau_merge_row *row,
                        uint32_t number, struct tau_trace_event event, uint64_t time_ns) {
    if (emit->claims_count == TAU_MERGE_CLAIMS_MAX && !claim_settle(emit, 0)) {
        return false;
    }
    emit->claims[emit->claims_count++] =
        (struct tau_merge_claim){*row, time_ns, number, event.thread, event.site};
    return true;
}

// ---- Public ----

bool tau_merge_emit_open(struct tau_merge_emit *emit, const char *out, const char *header_json) {
    enum tau_trace_status status = TAU_TRACE_OK;
    const bool complete = tau_trace_columns_open(&emit->columns, TAU_TRACE_BLOCK_EVENTS_MAX);
    emit->moves = calloc(TAU_MERGE_MOVES_MAX, sizeof(*emit->moves));
    if (!tau_merge_objects_open(&emit->objects) || !complete || emit->moves == NULL) {
        return fail(emit, TAU_MERGE_NO_MEMORY);
    }
    emit->writer = tau_trace_writer_open(out, header_json, &status);
    if (emit->writer == NULL) {
        return fail(emit, (enum tau_merge_status)(TAU_MERGE_TRACE_FAILED + (int)status));
    }
    return true;
}

static uint32_t address_site(struct tau_merge_emit *emit, uint64_t ticks, uint64_t address,
                             uint32_t caller) {
    uint64_t offset;
    const char *module = tau_merge_modules_find(&emit->modules, ticks, address, &offset);
    return tau_trace_writer_site(emit->writer, module, offset, caller);
}

// The innermost site of a stack, after those of its callers; 0 if the stack is lost.
static uint32_t stack_site(struct tau_merge_emit *emit, uint64_t ticks, uint64_t stack) {
    const uint64_t *frames;
    uint32_t site = 0;
    for (size_t i = tau_merge_stacks_find(&emit->stacks, stack, &frames); i > 0; i--) {
        site = address_site(emit, ticks, frames[i - 1], site);
    }
    return site;
}

static uint32_t site_of(struct tau_merge_emit *emit, struct tau_merge_rows *rows) {
    const struct tau_merge_row *row = &rows->row;
    if (row->site_is_new && row->site_address == 0) {
        rows->site_index[row->site] = 0;  // none
    } else if (row->site_is_new) {
        rows->site_index[row->site] = (row->site_address & TAU_RAW_STACK_BIT) != 0
                                          ? stack_site(emit, row->ticks, row->site_address)
                                          : address_site(emit, row->ticks, row->site_address, 0);
    }
    return rows->site_index[row->site];
}

static void note_refusal(struct tau_merge_emit *emit, uint64_t size_bytes, uint32_t thread,
                         uint32_t site) {
    struct tau_merge_result *result = emit->result;
    if (result->refused_count++ == 0) {
        result->refused_bytes = size_bytes;
        result->refused_thread = thread;
        result->refused_site = site;
        result->refused_event = tau_trace_writer_totals(emit->writer)->events + emit->count;
        for (uint32_t slot = 0; slot < emit->objects.slots_count; slot++) {
            const bool is_live = emit->objects.slot_address[slot] != 0;
            result->refused_live_bytes += is_live ? emit->objects.slot_size_bytes[slot] : 0;
        }
    }
}

bool tau_merge_emit_row(struct tau_merge_emit *emit, struct tau_merge_rows *rows,
                        uint64_t time_ns) {
    static const uint8_t op_of[8] = {
        [TAU_RECORD_MALLOC] = TAU_TRACE_MALLOC,
        [TAU_RECORD_CALLOC] = TAU_TRACE_CALLOC,
        [TAU_RECORD_ALIGNED_ALLOC] = TAU_TRACE_ALIGNED_ALLOC,
    };
    const struct tau_merge_row *row = &rows->row;
    struct tau_trace_event event = {.op = op_of[row->op], .thread = thread_of(emit, rows->thread)};
    bool joined = false;
    if (!claims_decide(emit, row, rows->thread, &joined)) {
        return false;
    }
    if (row->op == TAU_RECORD_CONTROL && row->control == TAU_RECORD_REFUSED) {
        note_refusal(emit, row->size_bytes, event.thread, site_of(emit, rows));
        return true;
    }
    if (row->op == TAU_RECORD_CONTROL) {
        return move_undo(emit, row, event.thread, time_ns);
    }
    event.site = site_of(emit, rows);
    if (joined) {
        return true;
    }
    switch (row->op) {
    case TAU_RECORD_FREE:
        return end_object(emit, row->address, tau_merge_objects_find(&emit->objects, row->address),
                          event, time_ns);
    case TAU_RECORD_REALLOC_BEGIN:
        return move_begin(emit, row, event, time_ns);
    case TAU_RECORD_REALLOC_END:
        return move_end(emit, row, event, time_ns);
    default:
        if (emit->joins && row->op == TAU_RECORD_MALLOC &&
            tau_merge_objects_find(&emit->objects, row->address) != TAU_MERGE_SLOT_NONE) {
            return claim_begin(emit, row, rows->thread, event, time_ns);
        }
        return begin_object(emit, row, event, time_ns);
    }
}

bool tau_merge_emit_gap(struct tau_merge_emit *emit) {
    while (emit->claims_count > 0) {
        if (!claim_settle(emit, 0)) {
            return false;
        }
    }
    return true;
}

bool tau_merge_emit_restart(struct tau_merge_emit *emit) {
    if (!tau_merge_emit_gap(emit)) {
        return false;
    }
    for (uint32_t slot = 0; slot < emit->objects.slots_count; slot++) {
        if (emit->objects.slot_address[slot] != 0 &&
            !imply_free(emit, emit->objects.slot_address[slot], emit->last_ns, 0)) {
            return false;
        }
    }
    for (; emit->moves_count > 0; emit->moves_count--) {
        const uint32_t slot = emit->moves[emit->moves_count - 1].slot;
        if (slot != TAU_MERGE_SLOT_NONE) {
            tau_merge_objects_remove(&emit->objects, slot);
            emit->result->implied_frees++;
            if (!put(emit, emit->last_ns,
                     (struct tau_trace_event){.op = TAU_TRACE_FREE, .slot = slot})) {
                return false;
            }
        }
    }
    return true;
}

static void result_fill(struct tau_merge_emit *emit) {
    const struct tau_trace_totals *totals = tau_trace_writer_totals(emit->writer);
    emit->result->events = totals->events;
    emit->result->unknown_count = totals->unknown_count;
    emit->result->inherited_count = totals->inherited_count;
    emit->result->double_free_count = totals->double_free_count;
    emit->result->peak_live_bytes = totals->peak_live_bytes;
    emit->result->peak_live_objects = totals->peak_live_objects;
    emit->result->threads = totals->threads;
    emit->result->duration_ns = totals->duration_ns;
}

enum tau_merge_status tau_merge_emit_close(struct tau_merge_emit *emit) {
    if (emit->writer != NULL) {
        if (emit->status == TAU_MERGE_OK && tau_merge_emit_gap(emit) && emit->count > 0) {
            flush(emit);
        }
        result_fill(emit);
        const enum tau_trace_status status = tau_trace_writer_close(emit->writer);
        if (status != TAU_TRACE_OK) {
            fail(emit, (enum tau_merge_status)(TAU_MERGE_TRACE_FAILED + (int)status));
        }
    }
    tau_trace_columns_close(&emit->columns);
    tau_merge_objects_close(&emit->objects);
    tau_merge_modules_close(&emit->modules);
    tau_merge_stacks_close(&emit->stacks);
    free(emit->moves);
    free(emit->threads);
    return emit->status;
}
