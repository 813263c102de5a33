// An object's id in the CSV is its slot. The importer reuses slots in the order of our writers, so
// an import yields equal events.
#include "tool/native/convert/export.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/native/trace/columns.h"

#define TEXT_BYTES (1u << 20)
// The longest line: a module of control characters alone, every number at its longest.
#define LINE_BYTES_MAX (4u * TAU_TRACE_MODULE_BYTES_MAX + 256u)

struct tau_trace_exporter {
    struct tau_trace_reader *reader;
    int file;
    bool is_terminal;  // which a module's name must not steer
    bool headed;
    char *text;
    size_t used;
    struct tau_trace_columns columns;
};

static void release(struct tau_trace_exporter *exporter) {
    tau_trace_columns_close(&exporter->columns);
    free(exporter->text);
    free(exporter);
}

struct tau_trace_exporter *tau_trace_exporter_open(struct tau_trace_reader *reader, int file) {
    struct tau_trace_exporter *exporter = calloc(1, sizeof *exporter);
    if (exporter == NULL) {
        return NULL;
    }
    exporter->reader = reader;
    exporter->file = file;
    exporter->is_terminal = isatty(file) == 1;
    exporter->text = malloc(TEXT_BYTES);
    if (!tau_trace_columns_open(&exporter->columns, TAU_TRACE_BLOCK_EVENTS_MAX) ||
        exporter->text == NULL) {
        release(exporter);
        return NULL;
    }
    return exporter;
}

static enum tau_trace_status flush_text(struct tau_trace_exporter *exporter) {
    size_t done = 0;
    while (done < exporter->used) {
        ssize_t written = write(exporter->file, exporter->text + done, exporter->used - done);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return written == 0 || errno == ENOSPC || errno == EDQUOT || errno == EFBIG
                       ? TAU_TRACE_DISK_FULL
                       : TAU_TRACE_IO_FAILED;
        }
        done += (size_t)written;
    }
    exporter->used = 0;
    return TAU_TRACE_OK;
}

static void put_text(struct tau_trace_exporter *exporter, const char *text) {
    size_t count = strlen(text);
    memcpy(exporter->text + exporter->used, text, count);
    exporter->used += count;
}

static void put_char(struct tau_trace_exporter *exporter, char letter) {
    exporter->text[exporter->used++] = letter;
}

static void put_number(struct tau_trace_exporter *exporter, uint64_t number) {
    char digits[20];
    unsigned count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    while (count > 0) {
        put_char(exporter, digits[--count]);
    }
}

// Writes the site's MODULE+0xOFFSET, quoted if necessary. A newline becomes a space. On a terminal,
// characters other than printable ASCII are escaped. A spreadsheet would run a text that begins
// like a formula, so an apostrophe makes it a text.
static enum tau_trace_status put_site(struct tau_trace_exporter *exporter, uint32_t site) {
    const char *module;
    uint64_t offset;
    uint32_t caller;
    enum tau_trace_status status =
        tau_trace_reader_site(exporter->reader, site, &module, &offset, &caller);
    if (status != TAU_TRACE_OK) {
        return status;
    }
    bool quoted = strpbrk(module, ",\"") != NULL;
    if (quoted) {
        put_char(exporter, '"');
    }
    if (strchr(TAU_TRACE_CSV_FORMULA, module[0] == '\0' ? '+' : module[0]) != NULL) {
        put_char(exporter, '\'');
    }
    for (const char *at = module; *at != '\0'; at++) {
        if (*at == '"') {
            put_char(exporter, '"');
        }
        if (exporter->is_terminal && (*at < ' ' || *at > '~')) {
            exporter->used +=
                (size_t)sprintf(exporter->text + exporter->used, "\\x%02x", (unsigned char)*at);
        } else {
            put_char(exporter, *at == '\n' || *at == '\r' ? ' ' : *at);
        }
    }
    exporter->used +=
        (size_t)sprintf(exporter->text + exporter->used, "+0x%llx", (unsigned long long)offset);
    if (quoted) {
        put_char(exporter, '"');
    }
    return TAU_TRACE_OK;
}

static enum tau_trace_status put_event(struct tau_trace_exporter *exporter, size_t i) {
    const struct tau_trace_columns *columns = &exporter->columns;
    static const char *const op_names[TAU_TRACE_OPS_COUNT] = {"malloc",        "calloc", "realloc",
                                                              "aligned_alloc", "free",   "touch"};
    uint8_t op = columns->op[i], flags = columns->flags[i];
    put_text(exporter, op_names[op]);
    put_char(exporter, ',');
    if (columns->slot[i] != TAU_TRACE_SLOT_NONE) {
        put_number(exporter, columns->slot[i]);
    }
    put_char(exporter, ',');
    if (op != TAU_TRACE_OP_FREE) {
        put_number(exporter, columns->size_bytes[i]);
    }
    put_char(exporter, ',');
    if (op == TAU_TRACE_OP_TOUCH) {
        put_number(exporter, columns->align_log2[i]);
    } else if (columns->align_log2[i] != 0 || op == TAU_TRACE_OP_ALIGNED_ALLOC) {
        put_number(exporter, 1ull << columns->align_log2[i]);
    }
    put_char(exporter, ',');
    put_number(exporter, columns->time_ns[i]);
    put_char(exporter, ',');
    put_number(exporter, columns->thread[i]);
    put_char(exporter, ',');
    enum tau_trace_status status =
        columns->site[i] == 0 ? TAU_TRACE_OK : put_site(exporter, columns->site[i]);
    put_text(exporter, flags == TAU_TRACE_FLAG_UNKNOWN       ? ",unknown\n"
                       : flags == TAU_TRACE_FLAG_INHERITED   ? ",inherited\n"
                       : flags == TAU_TRACE_FLAG_DOUBLE_FREE ? ",double_free\n"
                                                             : ",\n");
    return status;
}

enum tau_trace_status tau_trace_exporter_block(struct tau_trace_exporter *exporter,
                                               uint64_t index) {
    size_t count = 0;
    enum tau_trace_status status =
        tau_trace_reader_block(exporter->reader, index, &exporter->columns, &count);
    if (!exporter->headed) {
        put_text(exporter, TAU_TRACE_CSV_HEADER);
        exporter->headed = true;
    }
    for (size_t i = 0; status == TAU_TRACE_OK && i < count; i++) {
        if (exporter->used + LINE_BYTES_MAX > TEXT_BYTES) {
            status = flush_text(exporter);
        }
        if (status == TAU_TRACE_OK) {
            status = put_event(exporter, i);
        }
    }
    return status;
}

enum tau_trace_status tau_trace_exporter_close(struct tau_trace_exporter *exporter) {
    if (!exporter->headed) {
        put_text(exporter, TAU_TRACE_CSV_HEADER);
    }
    enum tau_trace_status status = flush_text(exporter);
    int cause = errno;
    release(exporter);
    errno = cause;
    return status;
}
