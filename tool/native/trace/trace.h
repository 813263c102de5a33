// The trace: a program's allocations, frees and touches, in blocks of columns.
//
// A writer appends events and closes; a reader opens and reads block by block, so that a trace is
// never held in memory whole. The format is docs/spec/trace.md. Times are nanoseconds since the
// trace's start, sizes are bytes. No function is thread-safe on the same writer or reader;
// different ones are independent.
#ifndef TAU_TRACE_H
#define TAU_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "facts/gen/tau_trace_format.h"

#define TAU_TRACE_EXPORT __attribute__((visibility("default")))

enum tau_trace_op {
    TAU_TRACE_MALLOC = TAU_TRACE_OP_MALLOC,
    TAU_TRACE_CALLOC = TAU_TRACE_OP_CALLOC,
    TAU_TRACE_REALLOC = TAU_TRACE_OP_REALLOC,
    TAU_TRACE_ALIGNED_ALLOC = TAU_TRACE_OP_ALIGNED_ALLOC,
    TAU_TRACE_FREE = TAU_TRACE_OP_FREE,
    TAU_TRACE_TOUCH = TAU_TRACE_OP_TOUCH,  // Not about the object's life. Most readers skip it.
};

#define TAU_TRACE_OPS_COUNT (TAU_TRACE_OP_TOUCH + 1u)

enum tau_trace_flag {
    TAU_TRACE_UNKNOWN = TAU_TRACE_FLAG_UNKNOWN,      // Names an object this trace never saw.
    TAU_TRACE_INHERITED = TAU_TRACE_FLAG_INHERITED,  // As UNKNOWN, but the header names a parent
                                                     // trace it may come from.
    TAU_TRACE_DOUBLE_FREE = TAU_TRACE_FLAG_DOUBLE_FREE,  // Frees (or reallocates) an object again.
};

enum tau_trace_status {
    TAU_TRACE_OK = 0,
    TAU_TRACE_IO_FAILED,      // errno has the cause.
    TAU_TRACE_NOT_A_TRACE,    // No magic.
    TAU_TRACE_NEWER_VERSION,  // Written by a newer program.
    TAU_TRACE_CORRUPT,        // A checksum or a bound does not hold.
    TAU_TRACE_NO_MEMORY,
    TAU_TRACE_DISK_FULL,
    TAU_TRACE_BAD_EVENT,      // The caller's event breaks a rule of SPEC.
    TAU_TRACE_OLDER_VERSION,  // Written before the header named an ABI.
};

// One block of events as columns; each array holds TAU_TRACE_BLOCK_EVENTS_MAX entries and belongs
// to the caller.
struct tau_trace_columns {
    uint64_t *time_ns;
    uint64_t *size_bytes;  // 0 for free; a touch's byte offset.
    uint32_t *slot;
    uint32_t *thread;
    uint32_t *site;  // 0 = none
    uint8_t *op;
    uint8_t *flags;
    uint8_t
        *align_log2;  // 0 = the allocator's own alignment; a touch's number of granules, 1 … 255
};

// The totals of the footer, or of a scan if a crash left no footer. "First" fields are meaningless
// while the count is 0.
struct tau_trace_totals {
    uint64_t events;
    uint64_t events_of_op[TAU_TRACE_OPS_COUNT];
    uint64_t blocks;
    uint64_t peak_live_bytes;  // UINT64_MAX if the sum does not fit.
    uint64_t peak_live_objects;
    uint64_t slots_count_max;  // Every slot of every event is below this (or TAU_TRACE_SLOT_NONE
                               // where flagged).
    uint64_t duration_ns;      // Time of the last event.
    uint64_t threads;          // Distinct thread numbers.
    uint64_t unknown_count, unknown_first_event;
    uint64_t inherited_count;
    uint64_t double_free_count, double_free_first_event;
    uint64_t recovered;      // 1 if the footer was missing and the totals come from a scan.
    uint64_t dropped_bytes;  // After the last whole chunk, when recovered; 0 if reached_end.
    uint64_t end_live_objects, end_live_bytes;  // Never freed.
    uint64_t sizes_rounded_count;  // Allocations that the size table counts under a larger size.
    uint64_t sites;                // Indexes 1 … sites name a call site.
    uint64_t touched_granules;     // Sum over all touches.
    uint64_t reached_end;          // 1 if a whole footer follows the last event: none is missing.
};

// One line of the size table.
struct tau_trace_size {
    uint64_t size_bytes;
    uint64_t allocations;  // Events that gave an object this size, realloc included.
    uint64_t peak_live;    // Most objects of this size alive at once.
};

struct tau_trace_writer;
struct tau_trace_reader;

// Opens PATH for writing (fails if and only if the file cannot be created, or memory is short).
// header_json is stored as it is.
TAU_TRACE_EXPORT struct tau_trace_writer *
tau_trace_writer_open(const char *path, const char *header_json, enum tau_trace_status *status);
// Names a call site whose function was called from site CALLER (0: not known); returns its index
// (1 …), the same for the same three. 0 if memory is short or MODULE is longer than
// TAU_TRACE_MODULE_BYTES_MAX. O(1).
TAU_TRACE_EXPORT uint32_t tau_trace_writer_site(struct tau_trace_writer *writer, const char *module,
                                                uint64_t offset, uint32_t caller);
// Appends COUNT events (any number). Slots must follow SPEC's rules; the writer keeps the totals.
// site and align_log2 may be NULL: all 0. On TAU_TRACE_BAD_EVENT the events before the bad one are
// kept, it and those after it are not. Any other failure is final: what reached the disk stays
// readable.
TAU_TRACE_EXPORT enum tau_trace_status
tau_trace_writer_append(struct tau_trace_writer *writer, const struct tau_trace_columns *columns,
                        size_t count);
// The totals so far. The pointer lives as long as the writer.
TAU_TRACE_EXPORT const struct tau_trace_totals *
tau_trace_writer_totals(const struct tau_trace_writer *writer);
// The rule that the last TAU_TRACE_BAD_EVENT broke, for people; the event's index is
// totals->events.
TAU_TRACE_EXPORT const char *tau_trace_writer_bad_rule(const struct tau_trace_writer *writer);
// Writes the footer and frees the writer, whatever happens.
TAU_TRACE_EXPORT enum tau_trace_status tau_trace_writer_close(struct tau_trace_writer *writer);

// Opens a trace: O(1) with a footer, one pass over the file without.
TAU_TRACE_EXPORT struct tau_trace_reader *tau_trace_reader_open(const char *path,
                                                                enum tau_trace_status *status);
TAU_TRACE_EXPORT const struct tau_trace_totals *
tau_trace_reader_totals(const struct tau_trace_reader *reader);
TAU_TRACE_EXPORT const char *tau_trace_reader_header(const struct tau_trace_reader *reader);
// The descriptor of the open file. It is the reader's: the caller may pread it, and must not close
// it.
TAU_TRACE_EXPORT int tau_trace_reader_descriptor(const struct tau_trace_reader *reader);
// Decodes block INDEX (0 … totals.blocks - 1) into COLUMNS and *count. A pointer in COLUMNS is NULL
// if the column is not requested. The results are in range (op, flags, align_log2 < 64, a touch's
// granules > 0, slot < slots_count_max or TAU_TRACE_SLOT_NONE where flagged, thread <
// TAU_TRACE_THREADS_MAX, site <= sites). In every trace of our writer, an allocation's slot is free
// and a free's slot is live; tau_trace_checker checks this for other traces.
TAU_TRACE_EXPORT enum tau_trace_status
tau_trace_reader_block(struct tau_trace_reader *reader, uint64_t index,
                       const struct tau_trace_columns *columns, size_t *count);
// The size table, by size; *count entries that live as long as the reader.
TAU_TRACE_EXPORT const struct tau_trace_size *
tau_trace_reader_sizes(const struct tau_trace_reader *reader, size_t *count);
// Site INDEX (1 … totals.sites): its module (lives until the next call), its offset, and the site
// that called its function (below INDEX; 0: not recorded). Names are unpacked a chunk at a time, so
// going through the indexes in order is cheap.
TAU_TRACE_EXPORT enum tau_trace_status tau_trace_reader_site(struct tau_trace_reader *reader,
                                                             uint32_t index, const char **module,
                                                             uint64_t *offset, uint32_t *caller);
// How many events lie before block INDEX.
TAU_TRACE_EXPORT uint64_t tau_trace_reader_first_event(const struct tau_trace_reader *reader,
                                                       uint64_t index);
TAU_TRACE_EXPORT void tau_trace_reader_close(struct tau_trace_reader *reader);

// A one-line cause for people.
TAU_TRACE_EXPORT const char *tau_trace_status_text(enum tau_trace_status status);

#endif
