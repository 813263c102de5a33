// Shared by the forms of an import (import.h): an importer, and how a form adds events to it.
// Private to this folder.
#ifndef TAU_TRACE_IMPORTER_H
#define TAU_TRACE_IMPORTER_H

#include <zstd.h>

#include "tool/native/convert/import.h"
#include "tool/native/convert/objects.h"

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

// A form reads one line of the text, without newline. False after tau_trace_import_fail.
typedef bool tau_trace_line_taker(struct tau_trace_importer *importer, const char *line,
                                  const char *end);
struct tau_trace_import_batch {
    uint64_t time_ns[TAU_TRACE_IMPORT_BATCH_EVENTS];
    uint64_t size_bytes[TAU_TRACE_IMPORT_BATCH_EVENTS];
    uint32_t slot[TAU_TRACE_IMPORT_BATCH_EVENTS];
    uint32_t thread[TAU_TRACE_IMPORT_BATCH_EVENTS];
    uint32_t site[TAU_TRACE_IMPORT_BATCH_EVENTS];
    uint8_t op[TAU_TRACE_IMPORT_BATCH_EVENTS];
    uint8_t flags[TAU_TRACE_IMPORT_BATCH_EVENTS];
    uint8_t align_log2[TAU_TRACE_IMPORT_BATCH_EVENTS];
    size_t count;
};

struct tau_trace_importer {
    struct tau_trace_writer *writer;
    tau_trace_line_taker *take_line;
    void *state;
    enum tau_trace_import_form form;
    struct tau_trace_import_facts facts;
    struct tau_trace_objects objects;
    struct tau_trace_import_batch batch;
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

// The form's own memory, zeroed at the start and freed by the importer after form_close.
void *tau_trace_import_form_state(struct tau_trace_importer *importer);

// Adds an event with its slot, and flags an object without an owner. With CLAIM, an allocation of a
// live object frees it first; without, that is an error.
bool tau_trace_import_add(struct tau_trace_importer *importer,
                          const struct tau_trace_import_event *event, bool claim);
uint32_t tau_trace_import_site(struct tau_trace_importer *importer, const char *module,
                               uint64_t offset);
void tau_trace_import_command(struct tau_trace_importer *importer, const char *text, size_t count);
void tau_trace_import_timed(struct tau_trace_importer *importer);
// Notes "line N: CAUSE" and returns false. A printf format.
__attribute__((format(printf, 2, 3))) bool
tau_trace_import_fail(struct tau_trace_importer *importer, const char *cause, ...);

// Hands the events that are kept to the writer; false after tau_trace_import_fail.
bool tau_trace_import_flush(struct tau_trace_importer *importer);

#endif
