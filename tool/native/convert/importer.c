// Shared by all forms of an import: maps objects to slots and passes events to the writer in
// batches.
#include "tool/native/convert/importer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

// ---- events ---------------------------------------------------------------------------

bool tau_trace_import_flush(struct tau_trace_importer *importer) {
    importer->status =
        tau_trace_writer_append(importer->writer, &importer->batch, importer->batch_count);
    importer->batch_count = 0;
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
    const bool is_free = op == TAU_TRACE_OP_FREE;
    const struct tau_trace_event row = {
        .time_ns = importer->facts.timed ? event->time_ns : importer->facts.events,
        .size_bytes = is_free ? 0 : event->size_bytes,
        .slot = slot,
        .thread = event->thread,
        .site = event->site,
        .op = op,
        .flags = flags,
        .align_log2 = is_free ? 0 : event->align_log2,
    };
    tau_trace_columns_put(&importer->batch, importer->batch_count++, &row);
    importer->facts.events++;
    return importer->batch_count < TAU_TRACE_IMPORT_BATCH_EVENTS ||
           tau_trace_import_flush(importer);
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
        // The result of realloc is a new object with a known size, whatever the lost object was.
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
