// CSV: a header line that names the columns, then one event per line.
//
//   op,id,size[,align][,time][,thread][,site][,flags]     in any order
//
// op is malloc, calloc, realloc, aligned_alloc, free or touch; id names an object and may be used
// again after its free; size and align are bytes, time is nanoseconds since the start. A field may
// be quoted ("a, b", with "" for a quote). Of a touch, size is the byte offset of the first granule
// and align the number of granules. site is MODULE+0xOFFSET, flags are unknown, inherited or
// double_free; `tau export` writes them for an object without an owner. A site may follow an
// apostrophe where it begins like a spreadsheet's formula.
#include <stdlib.h>
#include <string.h>

#include "tool/native/convert/export.h"
#include "tool/native/convert/importer.h"
#include "tool/native/trace/hash.h"

enum column {
    COLUMN_OP,
    COLUMN_ID,
    COLUMN_SIZE,
    COLUMN_ALIGN,
    COLUMN_TIME,
    COLUMN_THREAD,
    COLUMN_SITE,
    COLUMN_FLAGS,
    COLUMNS
};

static const char *const COLUMN_NAMES[COLUMNS] = {"op",   "id",     "size", "align",
                                                  "time", "thread", "site", "flags"};
static const char *const OP_NAMES[TAU_TRACE_OPS_COUNT] = {"malloc",        "calloc", "realloc",
                                                          "aligned_alloc", "free",   "touch"};
#define NO_FIELD UINT32_MAX

struct field {
    const char *text;
    size_t count;
};

struct csv {
    bool started;
    uint32_t fields_count;
    uint32_t field_of[COLUMNS];  // NO_FIELD: the file has no such column
    char site[TAU_TRACE_MODULE_BYTES_MAX + 1];
    // A quoted field that holds quotes is written here without them.
    char unquoted[1u << 16];
};

static bool field_is(const struct field *field, const char *text) {
    return field->count == strlen(text) && memcmp(field->text, text, field->count) == 0;
}

// Cuts the line into at most COLUMNS fields. Returns their number, or COLUMNS + 1 if there are
// more, or 0 for a bad quote.
static uint32_t split(struct csv *csv, const char *line, const char *end,
                      struct field fields[COLUMNS]) {
    uint32_t count = 0;
    char *unquoted = csv->unquoted;
    for (const char *at = line;; at++) {
        struct field field = {.text = at};
        if (at < end && *at == '"') {
            field.text = unquoted;
            for (at++; at < end && !(*at == '"' && (at + 1 == end || at[1] != '"')); at++) {
                at += *at == '"';  // the second of a pair stands for both
                *unquoted++ = *at;
            }
            if (at == end || (at + 1 < end && at[1] != ',')) {
                return 0;
            }
            at++;
            field.count = (size_t)(unquoted - field.text);
        } else {
            const char *comma = memchr(at, ',', (size_t)(end - at));
            at = comma == NULL ? end : comma;
            field.count = (size_t)(at - field.text);
        }
        if (count == COLUMNS) {
            return COLUMNS + 1;
        }
        fields[count++] = field;
        if (at >= end) {
            return count;
        }
    }
}

// Reads a 64-bit number, decimal or hexadecimal with 0x. False iff it is not a number.
static bool parse_number(const struct field *field, uint64_t *number) {
    const char *at = field->text, *end = at + field->count;
    unsigned base = 10;
    if (field->count > 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X')) {
        base = 16;
        at += 2;
    }
    uint64_t value = 0;
    bool any = false;
    for (; at < end; at++, any = true) {
        unsigned digit = *at >= '0' && *at <= '9' ? (unsigned)(*at - '0') : 99u;
        if (base == 16 && digit == 99u) {
            char letter = (char)(*at | 0x20);
            digit = letter >= 'a' && letter <= 'f' ? (unsigned)(letter - 'a') + 10u : 99u;
        }
        if (digit >= base || value > (UINT64_MAX - digit) / base) {
            return false;
        }
        value = value * base + digit;
    }
    *number = value;
    return any;
}

static bool take_header(struct tau_trace_importer *importer, struct csv *csv, const char *line,
                        const char *end) {
    if (end - line >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0) {
        line += 3;  // a byte order mark
    }
    struct field fields[COLUMNS];
    uint32_t count = split(csv, line, end, fields);
    if (count == 0 || count > COLUMNS) {
        return tau_trace_import_fail(
            importer, "the header must name op,id,size and may name align,time,thread,site,flags");
    }
    memset(csv->field_of, 0xff, sizeof csv->field_of);
    for (uint32_t i = 0; i < count; i++) {
        unsigned column = 0;
        while (column < COLUMNS && !field_is(&fields[i], COLUMN_NAMES[column])) {
            column++;
        }
        if (column == COLUMNS) {
            return tau_trace_import_fail(
                importer,
                "unknown column \"%.*s\": the header must name op,id,size and may name "
                "align,time,thread,site,flags",
                (int)(fields[i].count < 60 ? fields[i].count : 60), fields[i].text);
        }
        if (csv->field_of[column] != NO_FIELD) {
            return tau_trace_import_fail(importer, "the header names %s twice",
                                         COLUMN_NAMES[column]);
        }
        csv->field_of[column] = i;
    }
    for (unsigned column = COLUMN_OP; column <= COLUMN_SIZE; column++) {
        if (csv->field_of[column] == NO_FIELD) {
            return tau_trace_import_fail(importer, "the header lacks %s: it must name op,id,size",
                                         COLUMN_NAMES[column]);
        }
    }
    csv->fields_count = count;
    csv->started = true;
    if (csv->field_of[COLUMN_TIME] != NO_FIELD) {
        importer->facts.timed = 1;
    }
    return true;
}

// A column's field; an empty one if the file has no such column.
static struct field field_of(const struct csv *csv, const struct field fields[COLUMNS],
                             enum column column) {
    uint32_t index = csv->field_of[column];
    return index == NO_FIELD ? (struct field){.text = "", .count = 0} : fields[index];
}

static bool bad_field(struct tau_trace_importer *importer, enum column column,
                      const struct field *field, const char *wanted) {
    return tau_trace_import_fail(importer, "%s \"%.*s\" is not %s", COLUMN_NAMES[column],
                                 (int)(field->count < 60 ? field->count : 60), field->text, wanted);
}

static bool take_op(struct tau_trace_importer *importer, const struct field *field, uint8_t *op) {
    for (uint8_t i = 0; i < TAU_TRACE_OPS_COUNT; i++) {
        if (field_is(field, OP_NAMES[i])) {
            *op = i;
            return true;
        }
    }
    return bad_field(importer, COLUMN_OP, field,
                     "malloc, calloc, realloc, aligned_alloc, free or touch");
}

static bool take_align(struct tau_trace_importer *importer, const struct field *field, uint8_t op,
                       uint8_t *align_log2) {
    uint64_t align = 0;
    if (op == TAU_TRACE_OP_FREE) {
        return true;
    }
    if (op == TAU_TRACE_OP_TOUCH) {
        if (!parse_number(field, &align) || align == 0 || align > TAU_TRACE_TOUCH_GRANULES_MAX) {
            return bad_field(importer, COLUMN_ALIGN, field, "a touch's granules, 1 to 255");
        }
        *align_log2 = (uint8_t)align;
        return true;
    }
    if (field->count == 0 && op == TAU_TRACE_OP_ALIGNED_ALLOC) {
        return tau_trace_import_fail(importer, "aligned_alloc needs an align");
    }
    if (field->count > 0 && (!parse_number(field, &align) || (align & (align - 1)) != 0)) {
        return bad_field(importer, COLUMN_ALIGN, field, "a power of two");
    }
    *align_log2 = align == 0 ? 0 : (uint8_t)__builtin_ctzll(align);
    return true;
}

static bool take_flags(struct tau_trace_importer *importer, const struct field *field, uint8_t op,
                       uint8_t *flags) {
    if (field->count == 0) {
        return true;
    }
    *flags = field_is(field, "unknown")       ? TAU_TRACE_FLAG_UNKNOWN
             : field_is(field, "inherited")   ? TAU_TRACE_FLAG_INHERITED
             : field_is(field, "double_free") ? TAU_TRACE_FLAG_DOUBLE_FREE
                                              : 0;
    if (*flags == 0 || (op != TAU_TRACE_OP_FREE && op != TAU_TRACE_OP_REALLOC)) {
        return bad_field(importer, COLUMN_FLAGS, field,
                         "unknown, inherited or double_free of a free or realloc");
    }
    return true;
}

static bool take_site(struct tau_trace_importer *importer, struct csv *csv,
                      const struct field *field, uint32_t *site) {
    if (field->count == 0) {
        return true;
    }
    const char *text = field->text;
    size_t plus = field->count;
    if (plus > 1 && text[0] == '\'' && strchr(TAU_TRACE_CSV_FORMULA, text[1]) != NULL) {
        text++;  // a text that would else be a formula
        plus--;
    }
    const char *end = text + plus;
    while (plus > 0 && text[plus - 1] != '+') {
        plus--;
    }
    uint64_t offset = 0;
    struct field number = {.text = text + plus, .count = (size_t)(end - text) - plus};
    if (plus == 0 || plus - 1 > TAU_TRACE_MODULE_BYTES_MAX || !parse_number(&number, &offset)) {
        return bad_field(importer, COLUMN_SITE, field, "MODULE+0xOFFSET");
    }
    memcpy(csv->site, text, plus - 1);
    csv->site[plus - 1] = '\0';
    *site = tau_trace_writer_site(importer->writer, csv->site, offset, 0);
    return *site != 0 || tau_trace_import_fail(importer, "memory is short");
}

// Names become 96-bit hashes. The chance of a collision among ten million names is one in 10^15.
static struct tau_trace_object_key key_of(const struct field *field) {
    return (struct tau_trace_object_key){
        .low = tau_trace_hash((const uint8_t *)field->text, field->count, 0),
        .high = (uint32_t)tau_trace_hash((const uint8_t *)field->text, field->count, 1),
    };
}

static bool take_line(struct tau_trace_importer *importer, const char *line, const char *end) {
    struct csv *csv = importer->state;
    if (line == end) {
        return true;  // an empty line says nothing
    }
    if (!csv->started) {
        return take_header(importer, csv, line, end);
    }
    struct field fields[COLUMNS];
    uint32_t count = split(csv, line, end, fields);
    if (count != csv->fields_count) {
        return count == 0 ? tau_trace_import_fail(importer, "a quote is not closed")
                          : tau_trace_import_fail(importer, "%s fields than the header's %u",
                                                  count > csv->fields_count ? "more" : "fewer",
                                                  csv->fields_count);
    }
    struct tau_trace_import_event event = {0};
    struct field id = field_of(csv, fields, COLUMN_ID), size = field_of(csv, fields, COLUMN_SIZE);
    struct field op = field_of(csv, fields, COLUMN_OP), align = field_of(csv, fields, COLUMN_ALIGN);
    struct field time = field_of(csv, fields, COLUMN_TIME),
                 thread = field_of(csv, fields, COLUMN_THREAD);
    struct field site = field_of(csv, fields, COLUMN_SITE),
                 flags = field_of(csv, fields, COLUMN_FLAGS);
    if (!take_op(importer, &op, &event.op) ||
        !take_align(importer, &align, event.op, &event.align_log2) ||
        !take_flags(importer, &flags, event.op, &event.flags) ||
        !take_site(importer, csv, &site, &event.site)) {
        return false;
    }
    if (id.count == 0 && event.flags == 0) {
        return tau_trace_import_fail(importer, "id is empty");
    }
    bool sized = event.op != TAU_TRACE_OP_FREE || size.count > 0;
    if (sized && !parse_number(&size, &event.size_bytes)) {
        return bad_field(importer, COLUMN_SIZE, &size, "a number of bytes below 2^64");
    }
    if (csv->field_of[COLUMN_TIME] != NO_FIELD && !parse_number(&time, &event.time_ns)) {
        return bad_field(importer, COLUMN_TIME, &time, "a whole number of nanoseconds");
    }
    uint64_t thread_number = 0;
    if (thread.count > 0 &&
        (!parse_number(&thread, &thread_number) || thread_number >= TAU_TRACE_THREADS_MAX)) {
        return bad_field(importer, COLUMN_THREAD, &thread, "a number below 1048576");
    }
    event.thread = (uint32_t)thread_number;
    event.key = key_of(&id);
    return tau_trace_import_add(importer, &event, false);
}

static bool is_complete(struct tau_trace_importer *importer) {
    struct csv *csv = importer->state;
    return csv->started ||
           tau_trace_import_fail(importer, "the file is empty: the header must name op,id,size");
}

const struct tau_trace_import_form tau_trace_import_csv = {
    .state_bytes = sizeof(struct csv),
    .line = take_line,
    .end = is_complete,
};
