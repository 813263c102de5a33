// An application's executable: what the loader needs of an ELF file, checked whole.
//
// The file is hostile until this has read it. It is read by words, which may take their time.
#ifndef TAU_SLOTS_EXECUTABLE_H
#define TAU_SLOTS_EXECUTABLE_H

#include <stdint.h>

#include "facts/gen/tau_compose_format.h"

#define TAU_EXECUTABLE_SEGMENTS_MAX 8u

struct tau_segment {
    uint32_t address;
    uint32_t file_offset;
    uint32_t file_bytes;  // the rest up to memory_bytes is zero
    uint32_t memory_bytes;
    uint32_t rights;  // as in a word of the page table
};

struct tau_task {
    uint32_t entry;
    uint32_t stack;
};

struct tau_executable {
    struct tau_segment segments[TAU_EXECUTABLE_SEGMENTS_MAX];
    struct tau_task tasks[TAU_COMPOSE_LIMIT_TASKS];
    uint32_t segments_count;
    uint32_t tasks_count;
};

// Reads the ELF file of SIZE_BYTES at IMAGE into EXECUTABLE. HASH is the base code's. Returns
// NULL, or the reason for a refusal; then EXECUTABLE may hold anything:
// - it is truncated, or not an ELF32 little-endian executable for RISC-V;
// - an offset or a size does not fit into the file or the window, or is not a multiple of 4;
// - a segment is writable and executable, overlaps another, or lies below where applications may;
// - it has no note of ours, or one of another version or base code;
// - a task's entry lies in no executable segment, or its stack does not end in a writable one;
// - the end of a task's stack is not a multiple of 16.
// Cost: a constant number of reads per program header, of which there are at most
// TAU_EXECUTABLE_SEGMENTS_MAX + 8.
const char *tau_executable_read(struct tau_executable *executable, const volatile uint32_t *image,
                                uint32_t size_bytes, const uint32_t *hash);

#endif
