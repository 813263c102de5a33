// Shared by the forms of an import (import.h): an importer, and how a form adds events to it.
// Private to this folder.
#ifndef TAU_TRACE_IMPORTER_H
#define TAU_TRACE_IMPORTER_H

#include <zstd.h>

#include "tool/native/convert/import.h"
#include "tool/native/convert/objects.h"
#include "tool/native/trace/columns.h"

#define TAU_TRACE_IMPORT_LINE_BYTES_MAX (1u << 16)
#define TAU_TRACE_IMPORT_BATCH_EVENTS 4096u

struct tau_trace_import_event {
    struct tau_trace_object_key key;
    uint64_t size_bytes;
    uint64_t time_ns;
    uint32_t thread;
    uint32_t site;
    uint8_t op;
    uint8_t flags;  // not 0: the file says itself that the object is nobody's
    uint8_t align_log2;
};

// One format of the input.
struct tau_trace_import_form {
    size_t state_bytes;  // the form's own memory, zeroed at the start
    // Reads one line, without its newline. False after tau_trace_import_fail, like `end`.
    bool (*line)(struct tau_trace_importer *importer, const char *line, const char *end);
    bool (*end)(struct tau_trace_importer *importer);  // whether the input was complete
    void (*close)(void *state);  // frees what the state points to; may be NULL
};

extern const struct tau_trace_import_form tau_trace_import_csv;
extern const struct tau_trace_import_form tau_trace_import_heaptrack;

struct tau_trace_importer {
    struct tau_trace_writer *writer;
    const struct tau_trace_import_form *form;
    void *state;  // the form's
    struct tau_trace_import_facts facts;
    struct tau_trace_objects objects;
    struct tau_trace_columns batch;
    size_t batch_count;
    enum tau_trace_status status;
    bool failed;
    uint64_t last_ns;
    ZSTD_DStream *unpacker;
    size_t unpack_hint;  // 0: between two zstd frames
    char *unpacked;
    size_t partial_count;
    char partial[TAU_TRACE_IMPORT_LINE_BYTES_MAX];  // a line whose end has not come yet
    char command[4096];
    char message[512];
};

// Adds an event with its slot, and flags an object without an owner. With CLAIM, an allocation of a
// live object frees it first; without, that is an error.
bool tau_trace_import_add(struct tau_trace_importer *importer,
                          const struct tau_trace_import_event *event, bool claim);
// Notes "line N: CAUSE" and returns false. A printf format.
__attribute__((format(printf, 2, 3))) bool
tau_trace_import_fail(struct tau_trace_importer *importer, const char *cause, ...);

// Hands the events that are kept to the writer; false after tau_trace_import_fail.
bool tau_trace_import_flush(struct tau_trace_importer *importer);

#endif
