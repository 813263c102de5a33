// The trace: what a program did with its memory, in blocks of columns.
//
// A writer appends events and closes; a reader opens and reads block by block, so that a trace is never held in memory whole.
// The format is SPEC.md, "The trace". Times are nanoseconds since the trace's start, sizes are bytes.
#ifndef TAU_TRACE_H
#define TAU_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAU_TRACE_EXPORT __attribute__((visibility("default")))
#define TAU_TRACE_BLOCK_EVENTS_MAX 65536u
#define TAU_TRACE_SLOT_NONE 0xffffffffu

enum tau_trace_op {
    TAU_TRACE_MALLOC = 0,
    TAU_TRACE_CALLOC = 1,
    TAU_TRACE_REALLOC = 2,
    TAU_TRACE_ALIGNED_ALLOC = 3,
    TAU_TRACE_FREE = 4,
};

enum tau_trace_flag {
    TAU_TRACE_UNKNOWN = 1,      // names an object this trace never saw
    TAU_TRACE_INHERITED = 2,    // as UNKNOWN, but the header names a parent trace it may come from
    TAU_TRACE_DOUBLE_FREE = 4,  // frees (or reallocates) an object again
};

enum tau_trace_status {
    TAU_TRACE_OK = 0,
    TAU_TRACE_IO_FAILED,      // errno has the cause
    TAU_TRACE_NOT_A_TRACE,    // no magic
    TAU_TRACE_NEWER_VERSION,  // written by a newer program
    TAU_TRACE_CORRUPT,        // a checksum or a bound does not hold
    TAU_TRACE_NO_MEMORY,
    TAU_TRACE_DISK_FULL,
    TAU_TRACE_BAD_EVENT,      // the caller's event breaks a rule of SPEC
};

// One block of events as columns; each array holds TAU_TRACE_BLOCK_EVENTS_MAX entries and belongs to the caller.
struct tau_trace_columns {
    uint64_t *time_ns;
    uint64_t *size_bytes;  // 0 for free
    uint32_t *slot;
    uint32_t *thread;
    uint32_t *site;        // 0 = none
    uint8_t *op;
    uint8_t *flags;
    uint8_t *align_log2;   // 0 = the allocator's own alignment
};

// What the footer holds; recomputed by a scan when a crash left no footer.
struct tau_trace_totals {
    uint64_t events;
    uint64_t events_of_op[5];
    uint64_t blocks;
    uint64_t peak_live_bytes;
    uint64_t peak_live_objects;
    uint64_t slots_count_max;
    uint64_t duration_ns;
    uint64_t threads;
    uint64_t unknown_count, unknown_first_event;
    uint64_t inherited_count;
    uint64_t double_free_count, double_free_first_event;
    uint64_t recovered;    // 1 if the footer was missing and the totals come from a scan
};

struct tau_trace_writer;
struct tau_trace_reader;

// Opens PATH for writing (fails if and only if the file cannot be created, or memory is short). header_json is stored as it is.
TAU_TRACE_EXPORT struct tau_trace_writer *tau_trace_writer_open(const char *path, const char *header_json,
                                                                enum tau_trace_status *status);
// Names a call site; returns its index (1 …), the same for the same pair. 0 if memory is short.
TAU_TRACE_EXPORT uint32_t tau_trace_writer_site(struct tau_trace_writer *writer, const char *module, uint64_t offset);
// Appends COUNT events (any number). Slots must follow SPEC's rules; the writer keeps the totals.
TAU_TRACE_EXPORT enum tau_trace_status tau_trace_writer_append(struct tau_trace_writer *writer,
                                                               const struct tau_trace_columns *columns, size_t count);
// Writes the footer and frees the writer, whatever happens.
TAU_TRACE_EXPORT enum tau_trace_status tau_trace_writer_close(struct tau_trace_writer *writer);

TAU_TRACE_EXPORT struct tau_trace_reader *tau_trace_reader_open(const char *path, enum tau_trace_status *status);
TAU_TRACE_EXPORT const struct tau_trace_totals *tau_trace_reader_totals(const struct tau_trace_reader *reader);
TAU_TRACE_EXPORT const char *tau_trace_reader_header(const struct tau_trace_reader *reader);
// Decodes block INDEX (0 … totals.blocks - 1) into COLUMNS and *count. Any pointer in COLUMNS may be NULL: not wanted.
TAU_TRACE_EXPORT enum tau_trace_status tau_trace_reader_block(struct tau_trace_reader *reader, uint64_t index,
                                                              const struct tau_trace_columns *columns, size_t *count);
TAU_TRACE_EXPORT void tau_trace_reader_close(struct tau_trace_reader *reader);

// A one-line cause for people.
TAU_TRACE_EXPORT const char *tau_trace_status_text(enum tau_trace_status status);

#endif
