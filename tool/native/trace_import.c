// The part of an import that all forms share: lines out of pieces, objects to slots, events to the
// writer in blocks.
#include "tool/native/trace_import.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "tool/native/trace_objects.h"

#define LINE_BYTES_MAX (1u << 16)
#define UNPACKED_BYTES (1u << 17)
#define BATCH_EVENTS 4096u

struct batch {
    uint64_t time_ns[BATCH_EVENTS];
    uint64_t size_bytes[BATCH_EVENTS];
    uint32_t slot[BATCH_EVENTS];
    uint32_t thread[BATCH_EVENTS];
    uint32_t site[BATCH_EVENTS];
    uint8_t op[BATCH_EVENTS];
    uint8_t flags[BATCH_EVENTS];
    uint8_t align_log2[BATCH_EVENTS];
    size_t count;
};

struct tau_trace_importer {
    struct tau_trace_writer *writer;
    tau_trace_line_taker *take_line;
    void *state;
    enum tau_trace_import_form form;
    struct tau_trace_import_facts facts;
    struct tau_trace_objects objects;
    struct batch batch;
    enum tau_trace_status status;
    bool failed;
    uint64_t last_ns;
    ZSTD_DStream *unpacker;
    size_t unpack_hint;  // 0: between two zstd frames
    char *unpacked;
    size_t partial_count;
    char partial[LINE_BYTES_MAX];  // a line whose end has not come yet
    char command[4096];
    char message[512];
};

struct tau_trace_importer *tau_trace_importer_open(struct tau_trace_writer *writer,
                                                   enum tau_trace_import_form form) {
    struct tau_trace_importer *importer = calloc(1, sizeof *importer);
    if (importer == NULL) {
        return NULL;
    }
    bool csv = form == TAU_TRACE_IMPORT_CSV;
    importer->writer = writer;
    importer->form = form;
    importer->take_line = csv ? tau_trace_csv_line : tau_trace_heaptrack_line;
    importer->state =
        calloc(1, csv ? tau_trace_csv_state_bytes() : tau_trace_heaptrack_state_bytes());
    if (importer->state == NULL) {
        free(importer);
        return NULL;
    }
    return importer;
}

void tau_trace_importer_close(struct tau_trace_importer *importer) {
    if (importer == NULL) {
        return;
    }
    if (importer->form == TAU_TRACE_IMPORT_HEAPTRACK) {
        tau_trace_heaptrack_close(importer->state);
    }
    tau_trace_objects_close(&importer->objects);
    ZSTD_freeDStream(importer->unpacker);
    free(importer->unpacked);
    free(importer->state);
    free(importer);
}

const struct tau_trace_import_facts *
tau_trace_importer_facts(const struct tau_trace_importer *importer) {
    return &importer->facts;
}

const char *tau_trace_importer_message(const struct tau_trace_importer *importer) {
    return importer->message;
}

const char *tau_trace_importer_command(const struct tau_trace_importer *importer) {
    return importer->command;
}

enum tau_trace_status tau_trace_importer_status(const struct tau_trace_importer *importer) {
    return importer->status;
}

void *tau_trace_import_form_state(struct tau_trace_importer *importer) {
    return importer->state;
}

bool tau_trace_import_fail(struct tau_trace_importer *importer, const char *cause, ...) {
    importer->failed = true;
    int used = snprintf(importer->message, sizeof importer->message,
                        "line %llu: ", (unsigned long long)importer->facts.lines);
    va_list values;
    va_start(values, cause);
    vsnprintf(importer->message + used, sizeof importer->message - (size_t)used, cause, values);
    va_end(values);
    return false;
}

uint32_t tau_trace_import_site(struct tau_trace_importer *importer, const char *module,
                               uint64_t offset) {
    return tau_trace_writer_site(importer->writer, module, offset);
}

void tau_trace_import_command(struct tau_trace_importer *importer, const char *text, size_t count) {
    count = count < sizeof importer->command - 1 ? count : sizeof importer->command - 1;
    memcpy(importer->command, text, count);
    importer->command[count] = '\0';
}

void tau_trace_import_timed(struct tau_trace_importer *importer) {
    importer->facts.timed = 1;
}

// ---- events ---------------------------------------------------------------------------

static bool flush_batch(struct tau_trace_importer *importer) {
    struct batch *batch = &importer->batch;
    struct tau_trace_columns columns = {
        .time_ns = batch->time_ns,
        .size_bytes = batch->size_bytes,
        .slot = batch->slot,
        .thread = batch->thread,
        .site = batch->site,
        .op = batch->op,
        .flags = batch->flags,
        .align_log2 = batch->align_log2,
    };
    importer->status = tau_trace_writer_append(importer->writer, &columns, batch->count);
    batch->count = 0;
    if (importer->status == TAU_TRACE_BAD_EVENT) {
        return tau_trace_import_fail(
            importer, "in it or before, event %llu breaks %s",
            (unsigned long long)tau_trace_writer_totals(importer->writer)->events,
            tau_trace_writer_bad_rule(importer->writer));
    }
    if (importer->status != TAU_TRACE_OK) {
        return tau_trace_import_fail(importer, "%s", tau_trace_status_text(importer->status));
    }
    return true;
}

static bool put_event(struct tau_trace_importer *importer,
                      const struct tau_trace_import_event *event, uint8_t op, uint8_t flags,
                      uint32_t slot) {
    struct batch *batch = &importer->batch;
    size_t at = batch->count++;
    bool is_free = op == TAU_TRACE_OP_FREE;
    batch->time_ns[at] = importer->facts.timed ? event->time_ns : importer->facts.events;
    batch->size_bytes[at] = is_free ? 0 : event->size_bytes;
    batch->slot[at] = slot;
    batch->thread[at] = event->thread;
    batch->site[at] = event->site;
    batch->op[at] = op;
    batch->flags[at] = flags;
    batch->align_log2[at] = is_free ? 0 : event->align_log2;
    importer->facts.events++;
    return batch->count < BATCH_EVENTS || flush_batch(importer);
}

// A free (or the freeing half of a realloc) of an object that is not live.
static bool put_misuse(struct tau_trace_importer *importer,
                       const struct tau_trace_import_event *event, uint8_t op, uint8_t flags) {
    struct tau_trace_import_facts *facts = &importer->facts;
    if (flags == TAU_TRACE_FLAG_DOUBLE_FREE) {
        facts->double_free_first_line =
            facts->double_free_count++ == 0 ? facts->lines : facts->double_free_first_line;
    } else if (flags == TAU_TRACE_FLAG_UNKNOWN) {
        facts->unknown_first_line =
            facts->unknown_count++ == 0 ? facts->lines : facts->unknown_first_line;
    }
    return put_event(importer, event, op, flags, TAU_TRACE_SLOT_NONE);
}

static bool put_allocation(struct tau_trace_importer *importer,
                           const struct tau_trace_import_event *event, uint8_t op) {
    uint32_t slot = tau_trace_objects_take(&importer->objects, event->key);
    if (slot == TAU_TRACE_SLOT_NONE) {
        importer->status = TAU_TRACE_NO_MEMORY;
        return tau_trace_import_fail(importer, "memory is short");
    }
    return put_event(importer, event, op, 0, slot);
}

static bool put_free(struct tau_trace_importer *importer,
                     const struct tau_trace_import_event *event) {
    uint32_t slot = tau_trace_objects_give(&importer->objects, event->key);
    if (slot == TAU_TRACE_SLOT_NONE) {
        importer->status = TAU_TRACE_NO_MEMORY;
        return tau_trace_import_fail(importer, "memory is short");
    }
    return put_event(importer, event, TAU_TRACE_OP_FREE, 0, slot);
}

bool tau_trace_import_add(struct tau_trace_importer *importer,
                          const struct tau_trace_import_event *event, bool claim) {
    if (importer->facts.timed) {
        if (event->time_ns < importer->last_ns) {
            return tau_trace_import_fail(
                importer, "time goes back from %llu to %llu: sort the file by time",
                (unsigned long long)importer->last_ns, (unsigned long long)event->time_ns);
        }
        importer->last_ns = event->time_ns;
    }
    if (event->flags != 0) {
        return put_misuse(importer, event, event->op, event->flags);
    }
    uint32_t known = tau_trace_objects_find(&importer->objects, event->key);
    bool live = known != TAU_TRACE_OBJECT_FREED && known != TAU_TRACE_OBJECT_UNKNOWN;
    if (event->op == TAU_TRACE_OP_TOUCH) {
        return live ? put_event(importer, event, TAU_TRACE_OP_TOUCH, 0, known)
                    : tau_trace_import_fail(importer, "this touches an object that is not alive");
    }
    if (event->op == TAU_TRACE_OP_FREE || event->op == TAU_TRACE_OP_REALLOC) {
        if (live) {
            return event->op == TAU_TRACE_OP_FREE
                       ? put_free(importer, event)
                       : put_event(importer, event, TAU_TRACE_OP_REALLOC, 0, known);
        }
        // Whatever the lost object was, a realloc's result is a new one whose size is known.
        uint8_t flags =
            known == TAU_TRACE_OBJECT_FREED ? TAU_TRACE_FLAG_DOUBLE_FREE : TAU_TRACE_FLAG_UNKNOWN;
        return put_misuse(importer, event, TAU_TRACE_OP_FREE, flags) &&
               (event->op == TAU_TRACE_OP_FREE ||
                put_allocation(importer, event, TAU_TRACE_OP_MALLOC));
    }
    if (live) {
        if (!claim) {
            return tau_trace_import_fail(importer, "this id names an object that was not freed");
        }
        importer->facts.implied_frees++;
        if (!put_free(importer, event)) {
            return false;
        }
    }
    return put_allocation(importer, event, event->op);
}

// ---- lines ----------------------------------------------------------------------------

static bool take_line(struct tau_trace_importer *importer, const char *line, const char *end) {
    importer->facts.lines++;
    if (end - line > (ptrdiff_t)LINE_BYTES_MAX) {
        return tau_trace_import_fail(importer, "longer than %u bytes: this is not such a file",
                                     LINE_BYTES_MAX);
    }
    if (end > line && end[-1] == '\r') {
        end--;
    }
    return importer->take_line(importer, line, end);
}

bool tau_trace_importer_feed(struct tau_trace_importer *importer, const char *text, size_t count) {
    const char *at = text, *end = text + count;
    while (!importer->failed && at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline == NULL ? end : newline;
        if (importer->partial_count > 0 || newline == NULL) {
            size_t piece = (size_t)(stop - at);
            if (piece > LINE_BYTES_MAX - importer->partial_count) {
                importer->facts.lines++;
                return tau_trace_import_fail(
                    importer, "longer than %u bytes: this is not such a file", LINE_BYTES_MAX);
            }
            memcpy(importer->partial + importer->partial_count, at, piece);
            importer->partial_count += piece;
            if (newline != NULL) {
                size_t whole = importer->partial_count;
                importer->partial_count = 0;
                (void)take_line(importer, importer->partial, importer->partial + whole);
            }
        } else {
            (void)take_line(importer, at, newline);
        }
        at = newline == NULL ? end : newline + 1;
    }
    return !importer->failed;
}

bool tau_trace_importer_feed_zstd(struct tau_trace_importer *importer, const char *bytes,
                                  size_t count) {
    if (importer->unpacker == NULL) {
        importer->unpacker = ZSTD_createDStream();
        importer->unpacked = malloc(UNPACKED_BYTES);
    }
    if (importer->unpacker == NULL || importer->unpacked == NULL) {
        importer->status = TAU_TRACE_NO_MEMORY;
        return tau_trace_import_fail(importer, "memory is short");
    }
    ZSTD_inBuffer in = {.src = bytes, .size = count};
    bool full = false;  // a full output buffer may hide more output
    while (!importer->failed && (in.pos < in.size || full)) {
        ZSTD_outBuffer out = {.dst = importer->unpacked, .size = UNPACKED_BYTES};
        size_t left = ZSTD_decompressStream(importer->unpacker, &out, &in);
        if (ZSTD_isError(left)) {
            return tau_trace_import_fail(importer,
                                         "the compressed data is damaged after this line: %s",
                                         ZSTD_getErrorName(left));
        }
        importer->unpack_hint = left;
        full = out.pos == out.size;
        (void)tau_trace_importer_feed(importer, importer->unpacked, out.pos);
    }
    return !importer->failed;
}

bool tau_trace_importer_end(struct tau_trace_importer *importer) {
    if (!importer->failed && importer->unpack_hint != 0) {
        return tau_trace_import_fail(
            importer, "the compressed data ends here in the middle: the file is cut");
    }
    if (!importer->failed && importer->partial_count > 0) {
        size_t whole = importer->partial_count;
        importer->partial_count = 0;
        (void)take_line(importer, importer->partial, importer->partial + whole);
    }
    if (importer->failed) {
        return false;
    }
    bool csv = importer->form == TAU_TRACE_IMPORT_CSV;
    return (csv ? tau_trace_csv_end(importer) : tau_trace_heaptrack_end(importer)) &&
           flush_batch(importer);
}
