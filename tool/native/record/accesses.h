// Converts a recording of accesses (facts/accesses.h) to a trace.
#ifndef TAU_TRACE_ACCESS_H
#define TAU_TRACE_ACCESS_H

#include "tool/native/trace/trace.h"

// What a recording holds. Accesses are of the whole run, or of what reached the file.
struct tau_accesses_facts {
    uint64_t heap_loads, heap_stores;  // their sum is the clock's last value
    uint64_t all_loads, all_stores;
    uint64_t stack_accesses;  // the part of the others that the stack and the dynamic linker have
    uint64_t events;
    uint64_t ended;        // 1: the program came to its end, 0: it was killed, or ran exec
    uint64_t exit_status;  // if ended
    uint64_t stopped;      // 1: as many events as were asked for
    uint64_t lost_bytes;   // after the last whole row: a killed program's, or damage
    uint64_t damaged;      // 1: no row begins with those bytes
};

// Reads the recording at PATH, and appends its events to WRITER unless that is NULL. The recording
// is read up to its last whole row; FACTS has the bytes after it. TAU_TRACE_NOT_A_TRACE: the file
// is not a recording of accesses. TAU_TRACE_NEWER_VERSION: it is of a newer version. Other results
// are the writer's. O(bytes), in memory for one number per call site.
TAU_TRACE_EXPORT enum tau_trace_status tau_accesses_convert(const char *path,
                                                            struct tau_trace_writer *writer,
                                                            struct tau_accesses_facts *facts);

#endif
