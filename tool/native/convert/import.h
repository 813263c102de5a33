// Converts other programs' records to a trace, one piece of text at a time: CSV (csv.c) and
// heaptrack (heaptrack.c).
//
// Objects in the input have names (any text, or an address); in a trace they have slots. The
// importer keeps the names of live objects. It also keeps the names of the last million freed ones,
// to distinguish a double free from a free of an unknown object.
#ifndef TAU_TRACE_IMPORT_H
#define TAU_TRACE_IMPORT_H

#include "tool/native/trace/trace.h"

struct tau_trace_importer;

enum tau_trace_import_format {
    TAU_TRACE_IMPORT_CSV = 0,
    TAU_TRACE_IMPORT_HEAPTRACK = 1,
};

// The facts of an import. Lines count from 1. "First" fields are 0 while the count is 0.
struct tau_trace_import_facts {
    uint64_t lines;
    uint64_t events;
    uint64_t unknown_count, unknown_first_line;
    uint64_t double_free_count, double_free_first_line;
    uint64_t implied_frees;  // heaptrack: an address came back without a free in between
    uint64_t timed;          // 1 if the file has times; else an event's number stands for it
};

// The importer appends to WRITER, which the caller keeps. NULL iff memory is short.
TAU_TRACE_EXPORT struct tau_trace_importer *
tau_trace_importer_open(struct tau_trace_writer *writer, enum tau_trace_import_format format);
// Reads COUNT bytes of text, cut anywhere. False: see tau_trace_importer_message; later input is
// ignored.
TAU_TRACE_EXPORT bool tau_trace_importer_feed(struct tau_trace_importer *importer, const char *text,
                                              size_t count);
// The same for bytes of a zstd stream, cut anywhere.
TAU_TRACE_EXPORT bool tau_trace_importer_feed_zstd(struct tau_trace_importer *importer,
                                                   const char *bytes, size_t count);
// Reads the last line, even without its newline, and passes all events to the writer.
TAU_TRACE_EXPORT bool tau_trace_importer_end(struct tau_trace_importer *importer);
TAU_TRACE_EXPORT const struct tau_trace_import_facts *
tau_trace_importer_facts(const struct tau_trace_importer *importer);
// The cause of a failure, line number included.
TAU_TRACE_EXPORT const char *tau_trace_importer_message(const struct tau_trace_importer *importer);
// What the file says about the recorded program (heaptrack: its command line), or "".
TAU_TRACE_EXPORT const char *tau_trace_importer_command(const struct tau_trace_importer *importer);
// The trace's status if the writer failed, else TAU_TRACE_OK.
TAU_TRACE_EXPORT enum tau_trace_status
tau_trace_importer_status(const struct tau_trace_importer *importer);
TAU_TRACE_EXPORT void tau_trace_importer_close(struct tau_trace_importer *importer);

#endif
