// A chunk of the recording: a piece of the file, mapped, whose header names its contents.
#ifndef TAU_LINUX_RECORDER_CHUNK_H
#define TAU_LINUX_RECORDER_CHUNK_H

#include <stddef.h>
#include <stdint.h>

#include "facts/recording.h"
#include "linux/interpose/machine.h"

// The size of a chunk that holds BYTES: whole pages of the recording and of this machine.
static inline size_t tau_chunk_rounded(size_t bytes) {
    const size_t page_bytes = tau_machine_page_bytes();
    const size_t unit = page_bytes > TAU_RAW_PAGE_BYTES ? page_bytes : TAU_RAW_PAGE_BYTES;
    return (bytes + unit - 1) & ~(unit - 1);
}

// A chunk of BYTES and KIND, its header filled; NULL if the disk is full or recording stopped.
struct tau_raw_chunk *tau_chunk_map(uint32_t kind, uint32_t thread, size_t bytes);

#endif
