// Merges the rows of all threads of a recording by time to one trace.
//
// 1. Each chunk of a raw recording is a run that is sorted by time. A heap holds one cursor per
//    open run. A run is opened when the time of its first row comes. So memory is bounded by live
//    objects and threads, not by events.
// 2. Addresses become slots: a new object takes the slot that was freed last.
// 3. A free or realloc of an object that is not live is an event with a flag. The flag is
//    DOUBLE_FREE if its address was among the latest frees, else INHERITED in a forked child, else
//    UNKNOWN. After such a realloc the object is known: a malloc of its new size follows the event.
// 4. A new object at the address of a live one means that a free was not recorded. The merge
//    inserts this free and counts it. In a target's stream such a malloc is a realloc in place if
//    the next row of its thread frees the address.
//
// For any input, these functions end, read nothing outside of it and report damage. No function is
// thread-safe.
#ifndef TAU_MERGE_H
#define TAU_MERGE_H

#include <stdbool.h>
#include <stdint.h>

#include "facts/recording.h"
#include "tool/native/trace/trace.h"

enum tau_merge_status {
    TAU_MERGE_OK = 0,
    TAU_MERGE_INPUT_FAILED,     // The raw recording cannot be read. errno has the cause.
    TAU_MERGE_NOT_A_RECORDING,  // No magic.
    TAU_MERGE_NEWER_VERSION,    // Made by a newer recorder.
    TAU_MERGE_NO_MEMORY,
    TAU_MERGE_STOPPED,            // By the progress function.
    TAU_MERGE_OLDER_VERSION,      // Made by an earlier recorder.
    TAU_MERGE_SEVERAL_MACHINES,   // Target: blocks of different ABIs.
    TAU_MERGE_TRACE_FAILED = 16,  // + enum tau_trace_status: the trace could not be written.
};

struct tau_merge_result {
    uint64_t events;
    uint64_t chunks;
    uint64_t damaged_chunks;  // Chunks or blocks of which a part could not be decoded.
    uint64_t implied_frees;   // Frees that no row told.
    uint64_t lost_blocks;     // Target: gaps in the sequence.
    uint64_t dropped_rows;    // Target: refused by the firmware's write function.
    uint64_t restarts;        // Target: the firmware began again, so everything was freed.
    uint64_t mark;            // Target: how it ends, FLUSHED or PROGRAM_END of tau_record_control,
                              // or 0: more rows may be missing.
    // Target: requests that the heap refused, and the first of them: its size, its thread and site
    // in the trace, and the events before it.
    uint64_t refused_count, refused_bytes, refused_thread, refused_site, refused_event;
    uint64_t refused_live_bytes;  // then
    uint64_t unknown_count, inherited_count, double_free_count;
    uint64_t peak_live_bytes, peak_live_objects;
    uint64_t threads;
    uint64_t duration_ns;
};

// Called with the bytes read and their total; returns false to stop.
typedef bool (*tau_merge_progress)(void *context, uint64_t done_bytes, uint64_t total_bytes);

// The header of one block of a target's stream, as core/ports/record.c describes it.
struct tau_merge_target_block {
    uint32_t magic;
    uint8_t version;
    uint8_t address_shift;
    uint16_t rows;
    uint16_t payload_bytes;
    uint8_t abi;
    uint8_t pointer_bytes;
    uint32_t sequence;
    uint32_t ticks_per_second;
    uint64_t dropped_rows;
    uint64_t ticks;
    uint32_t thread;
    uint32_t crc;
    uint32_t image;  // of TAU_RECORD_IMAGE; 0: none was told
};

// Reads the header of the raw recording RAW.
TAU_TRACE_EXPORT enum tau_merge_status tau_merge_header(const char *raw,
                                                        struct tau_raw_header *header);
// Finds the first intact block in the first MiB of the file STREAM, of any version, and the first
// image that one of its blocks tells; TAU_MERGE_NOT_A_RECORDING if there is no block. O(bytes).
TAU_TRACE_EXPORT enum tau_merge_status tau_merge_target_start(const char *stream,
                                                              struct tau_merge_target_block *block);
// Merges the raw recording RAW (facts/recording.h) into the trace OUT. progress may be NULL.
TAU_TRACE_EXPORT enum tau_merge_status
tau_merge_recording(const char *raw, const char *out, const char *header_json,
                    tau_merge_progress progress, void *context, struct tau_merge_result *result);
// The same for a target's stream (core/ports/record.h): blocks between any other bytes, each
// checked by its CRC.
TAU_TRACE_EXPORT enum tau_merge_status tau_merge_target_stream(const char *stream, const char *out,
                                                               const char *header_json,
                                                               tau_merge_progress progress,
                                                               void *context,
                                                               struct tau_merge_result *result);
// Ends the raw recording RAW of a process that still runs: rows from now on are not part of it, and
// the process stops at its next chunk. A recording that stopped before is left alone.
TAU_TRACE_EXPORT enum tau_merge_status tau_merge_detach(const char *raw);
// The rate of this machine's time-stamp counter, measured for 20 ms; 0 if there is none.
TAU_TRACE_EXPORT uint64_t tau_merge_ticks_per_second(void);

#endif
