// The entry points of an import: selects the form and cuts the input into lines.
#include "tool/native/convert/import.h"

#include <stdlib.h>
#include <string.h>

#include "tool/native/convert/importer.h"

#define UNPACKED_BYTES (1u << 17)

struct tau_trace_importer *tau_trace_importer_open(struct tau_trace_writer *writer,
                                                   enum tau_trace_import_format format) {
    struct tau_trace_importer *importer = calloc(1, sizeof *importer);
    if (importer == NULL) {
        return NULL;
    }
    importer->writer = writer;
    importer->form =
        format == TAU_TRACE_IMPORT_CSV ? &tau_trace_import_csv : &tau_trace_import_heaptrack;
    importer->state = calloc(1, importer->form->state_bytes);
    if (!tau_trace_columns_open(&importer->batch, TAU_TRACE_IMPORT_BATCH_EVENTS) ||
        importer->state == NULL) {
        tau_trace_importer_close(importer);
        return NULL;
    }
    return importer;
}

void tau_trace_importer_close(struct tau_trace_importer *importer) {
    if (importer == NULL) {
        return;
    }
    if (importer->form->close != NULL && importer->state != NULL) {
        importer->form->close(importer->state);
    }
    tau_trace_objects_close(&importer->objects);
    tau_trace_columns_close(&importer->batch);
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

// ---- lines ----------------------------------------------------------------------------

static bool take_line(struct tau_trace_importer *importer, const char *line, const char *end) {
    importer->facts.lines++;
    if (end - line > (ptrdiff_t)TAU_TRACE_IMPORT_LINE_BYTES_MAX) {
        return tau_trace_import_fail(importer, "longer than %u bytes: this is not such a file",
                                     TAU_TRACE_IMPORT_LINE_BYTES_MAX);
    }
    if (end > line && end[-1] == '\r') {
        end--;
    }
    return importer->form->line(importer, line, end);
}

bool tau_trace_importer_feed(struct tau_trace_importer *importer, const char *text, size_t count) {
    const char *at = text, *end = text + count;
    while (!importer->failed && at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline == NULL ? end : newline;
        if (importer->partial_count > 0 || newline == NULL) {
            size_t piece = (size_t)(stop - at);
            if (piece > TAU_TRACE_IMPORT_LINE_BYTES_MAX - importer->partial_count) {
                importer->facts.lines++;
                return tau_trace_import_fail(importer,
                                             "longer than %u bytes: this is not such a file",
                                             TAU_TRACE_IMPORT_LINE_BYTES_MAX);
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
    return importer->form->end(importer) && tau_trace_import_flush(importer);
}
