// See accesses.h. The file is mapped and read once; events are passed to the writer in batches.
#include "tool/native/record/accesses.h"

#include <stdlib.h>
#include <string.h>

#include "facts/accesses.h"
#include "tool/native/record/mapped_file.h"
#include "tool/native/trace/bytes.h"
#include "tool/native/trace/columns.h"

#define BATCH_EVENTS 4096u

struct conversion {
    const uint8_t *at, *end;
    struct tau_trace_writer *writer;  // NULL: only the facts are wanted
    struct tau_accesses_facts *facts;
    enum tau_trace_status status;
    uint64_t clock;
    uint32_t slot;    // the slot of the event before
    uint32_t thread;  // the thread of the rows from here on
    uint32_t *sites;  // the writer's index of each site of the file, which counts from 1
    size_t sites_count, sites_room;
    size_t batch_count;
    struct tau_trace_columns batch;
};

_Static_assert(1 << TAU_ACCESSES_GRANULE_LOG2 == TAU_TRACE_GRANULE_BYTES, "granules are alike");

// ---- events

// False: the writer refused an event or failed; the status says which.
static bool flush_batch(struct conversion *run) {
    if (run->writer != NULL && run->batch_count > 0) {
        run->status = tau_trace_writer_append(run->writer, &run->batch, run->batch_count);
    }
    run->batch_count = 0;
    return run->status == TAU_TRACE_OK;
}

static bool put_event(struct conversion *run, struct tau_trace_event event) {
    event.time_ns = run->clock;
    event.thread = run->thread;
    tau_trace_columns_put(&run->batch, run->batch_count++, &event);
    run->facts->events++;
    return run->batch_count < BATCH_EVENTS || flush_batch(run);
}

// ---- rows

// The result of reading a row.
enum row {
    ROW_DONE,
    ROW_CUT,      // the file ends in it
    ROW_DAMAGED,  // no recorder writes it
    ROW_FAILED,   // the writer failed
};

// Reads COUNT varints to NUMBERS.
static enum row take_numbers(struct conversion *run, unsigned count, uint64_t *numbers) {
    for (unsigned i = 0; i < count; i++) {
        if (!tau_trace_get_varint(&run->at, run->end, &numbers[i])) {
            return run->end - run->at < TAU_TRACE_VARINT_BYTES_MAX ? ROW_CUT : ROW_DAMAGED;
        }
    }
    return ROW_DONE;
}

// Time and slot, with which most events begin.
static void take_place(struct conversion *run, uint64_t distance, uint64_t folded) {
    run->clock += distance;
    run->slot += (uint32_t)(folded >> 1) ^ (0u - (uint32_t)(folded & 1u));
}

static bool site_index(const struct conversion *run, uint64_t site, uint32_t *index) {
    if (site > run->sites_count) {
        return false;
    }
    *index = site == 0 ? 0 : run->sites[site - 1];
    return true;
}

static enum row take_allocation(struct conversion *run, unsigned kind) {
    static const uint8_t ops[] = {
        [TAU_ACCESSES_MALLOC] = TAU_TRACE_OP_MALLOC,
        [TAU_ACCESSES_CALLOC] = TAU_TRACE_OP_CALLOC,
        [TAU_ACCESSES_REALLOC] = TAU_TRACE_OP_REALLOC,
        [TAU_ACCESSES_ALIGNED_ALLOC] = TAU_TRACE_OP_ALIGNED_ALLOC,
    };
    uint64_t numbers[5] = {0};
    const unsigned count = kind == TAU_ACCESSES_ALIGNED_ALLOC ? 5 : 4;
    const enum row taken = take_numbers(run, count, numbers);
    struct tau_trace_event event = {.op = ops[kind], .size_bytes = numbers[3]};
    if (taken != ROW_DONE) {
        return taken;
    }
    if (numbers[4] > 63 || !site_index(run, numbers[2], &event.site)) {
        return ROW_DAMAGED;
    }
    take_place(run, numbers[0], numbers[1]);
    event.slot = run->slot;
    event.align_log2 = (uint8_t)numbers[4];
    return put_event(run, event) ? ROW_DONE : ROW_FAILED;
}

static enum row take_free(struct conversion *run) {
    uint64_t numbers[3];
    const enum row taken = take_numbers(run, 3, numbers);
    struct tau_trace_event event = {.op = TAU_TRACE_OP_FREE};
    if (taken != ROW_DONE) {
        return taken;
    }
    if (!site_index(run, numbers[2], &event.site)) {
        return ROW_DAMAGED;
    }
    take_place(run, numbers[0], numbers[1]);
    event.slot = run->slot;
    return put_event(run, event) ? ROW_DONE : ROW_FAILED;
}

static enum row take_touch(struct conversion *run, unsigned small) {
    uint64_t numbers[4];
    const enum row taken = take_numbers(run, small == 0 ? 4 : 3, numbers);
    const uint64_t granules = small == 0 ? numbers[3] : small;
    if (taken != ROW_DONE) {
        return taken;
    }
    if (granules == 0 || granules > TAU_TRACE_TOUCH_GRANULES_MAX ||
        numbers[2] > UINT64_MAX >> TAU_ACCESSES_GRANULE_LOG2) {
        return ROW_DAMAGED;
    }
    take_place(run, numbers[0], numbers[1]);
    const struct tau_trace_event event = {.op = TAU_TRACE_OP_TOUCH,
                                          .slot = run->slot,
                                          .size_bytes = numbers[2] << TAU_ACCESSES_GRANULE_LOG2,
                                          .align_log2 = (uint8_t)granules};
    return put_event(run, event) ? ROW_DONE : ROW_FAILED;
}

static enum row take_misuse(struct conversion *run, unsigned flag) {
    uint64_t numbers[2];
    const enum row taken = take_numbers(run, 2, numbers);
    struct tau_trace_event event = {
        .op = TAU_TRACE_OP_FREE, .flags = (uint8_t)flag, .slot = TAU_TRACE_SLOT_NONE};
    if (taken != ROW_DONE) {
        return taken;
    }
    if (!site_index(run, numbers[1], &event.site)) {
        return ROW_DAMAGED;
    }
    run->clock += numbers[0];
    return put_event(run, event) ? ROW_DONE : ROW_FAILED;
}

// A text of the file: its bytes and their number.
static enum row take_text(struct conversion *run, const char **text, size_t *bytes) {
    uint64_t count;
    const enum row taken = take_numbers(run, 1, &count);
    if (taken != ROW_DONE) {
        return taken;
    }
    if (count > TAU_TRACE_MODULE_BYTES_MAX) {
        return ROW_DAMAGED;
    }
    if (count > (uint64_t)(run->end - run->at)) {
        return ROW_CUT;
    }
    *text = (const char *)run->at;
    *bytes = (size_t)count;
    run->at += count;
    return ROW_DONE;
}

static enum row take_site(struct conversion *run) {
    char module[TAU_TRACE_MODULE_BYTES_MAX + 1];
    const char *text = NULL;
    size_t bytes = 0;
    uint64_t offset = 0;
    enum row taken = take_text(run, &text, &bytes);
    if (taken == ROW_DONE) {
        taken = take_numbers(run, 1, &offset);
    }
    if (taken != ROW_DONE) {
        return taken;
    }
    if (run->sites_count == run->sites_room) {
        const size_t room = run->sites_room == 0 ? 256 : 2 * run->sites_room;
        uint32_t *sites = realloc(run->sites, room * sizeof *sites);
        if (sites == NULL) {
            run->status = TAU_TRACE_NO_MEMORY;
            return ROW_FAILED;
        }
        run->sites = sites;
        run->sites_room = room;
    }
    memcpy(module, text, bytes);
    module[bytes] = '\0';
    uint32_t index = 0;
    if (run->writer != NULL) {
        index = tau_trace_writer_site(run->writer, module, offset, 0);
        run->status = index == 0 ? TAU_TRACE_NO_MEMORY : TAU_TRACE_OK;
    }
    run->sites[run->sites_count++] = index;
    return run->status == TAU_TRACE_OK ? ROW_DONE : ROW_FAILED;
}

static enum row take_totals(struct conversion *run) {
    uint64_t numbers[5];
    const enum row taken = take_numbers(run, 5, numbers);
    if (taken == ROW_DONE) {
        run->facts->heap_loads = numbers[0];
        run->facts->heap_stores = numbers[1];
        run->facts->all_loads = numbers[2];
        run->facts->all_stores = numbers[3];
        run->facts->stack_accesses = numbers[4];
    }
    return taken;
}

static enum row take_thread(struct conversion *run) {
    uint64_t thread;
    const enum row taken = take_numbers(run, 1, &thread);
    if (taken == ROW_DONE && thread >= TAU_TRACE_THREADS_MAX) {
        return ROW_DAMAGED;
    }
    run->thread = taken == ROW_DONE ? (uint32_t)thread : run->thread;
    return taken;
}

static enum row take_row(struct conversion *run) {
    const unsigned tag = *run->at++, high = tag >> 4;
    const char *text = NULL;
    size_t bytes = 0;
    switch (tag & 15u) {
    case TAU_ACCESSES_FACT:
        return take_text(run, &text, &bytes);
    case TAU_ACCESSES_MALLOC:
    case TAU_ACCESSES_CALLOC:
    case TAU_ACCESSES_REALLOC:
    case TAU_ACCESSES_ALIGNED_ALLOC:
        return take_allocation(run, tag & 15u);
    case TAU_ACCESSES_FREE:
        return take_free(run);
    case TAU_ACCESSES_TOUCH:
        return take_touch(run, high);
    case TAU_ACCESSES_MISUSE:
        return take_misuse(run, high);
    case TAU_ACCESSES_THREAD:
        return take_thread(run);
    case TAU_ACCESSES_SITE:
        return take_site(run);
    case TAU_ACCESSES_TOTALS:
        return take_totals(run);
    case TAU_ACCESSES_STOPPED:
        run->facts->stopped = 1;
        return ROW_DONE;
    case TAU_ACCESSES_END:
        run->facts->ended = 1;
        return take_numbers(run, 1, &run->facts->exit_status);
    default:
        return ROW_DAMAGED;
    }
}

static enum tau_trace_status convert(struct conversion *run) {
    enum row taken = ROW_DONE;
    const uint8_t *row_start = run->at;
    while (taken == ROW_DONE && run->at < run->end) {
        row_start = run->at;
        taken = take_row(run);
    }
    if (taken == ROW_CUT || taken == ROW_DAMAGED) {
        run->facts->lost_bytes = (uint64_t)(run->end - row_start);
        run->facts->damaged = taken == ROW_DAMAGED;
    }
    if (taken != ROW_FAILED) {
        (void)flush_batch(run);
    }
    return run->status;
}

enum tau_trace_status tau_accesses_convert(const char *path, struct tau_trace_writer *writer,
                                           struct tau_accesses_facts *facts) {
    struct conversion run = {.writer = writer, .facts = facts};
    struct tau_mapped_file file;
    *facts = (struct tau_accesses_facts){0};
    if (!tau_mapped_file_open(&file, path)) {
        return TAU_TRACE_IO_FAILED;
    }
    if (file.size_bytes < TAU_ACCESSES_HEADER_BYTES) {
        tau_mapped_file_close(&file);
        return TAU_TRACE_NOT_A_TRACE;
    }
    const uint8_t *all = file.bytes;
    const uint8_t version = all[TAU_ACCESSES_HEADER_BYTES - 1];
    enum tau_trace_status status = TAU_TRACE_NO_MEMORY;
    run.at = all + TAU_ACCESSES_HEADER_BYTES;
    run.end = all + file.size_bytes;
    if (memcmp(all, TAU_ACCESSES_MAGIC, TAU_ACCESSES_HEADER_BYTES - 1) != 0 || version == 0) {
        status = TAU_TRACE_NOT_A_TRACE;
    } else if (version > TAU_ACCESSES_VERSION) {
        status = TAU_TRACE_NEWER_VERSION;
    } else if (tau_trace_columns_open(&run.batch, BATCH_EVENTS)) {
        status = convert(&run);
    }
    tau_trace_columns_close(&run.batch);
    free(run.sites);
    tau_mapped_file_close(&file);
    return status;
}
