// Writes a code recording. docs/spec/code_recording.md defines the file.
//
// `tau` prepares the file: settings and functions. The plugin appends touches while the kernel
// runs, and blocks and the end when QEMU ends.
#ifndef TAU_CODE_RECORDING_H
#define TAU_CODE_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "facts/gen/tau_code_format.h"
#include "linux/coldcode/profile/block_table.h"
#include "linux/coldcode/profile/function_table.h"

// All-zero bytes are a recording that is not open.
struct tau_code_recording {
    int descriptor;
    const char *failure;  // what went wrong first; nothing is written after it
    int failure_errno;    // its errno, 0 if there is none
    uint32_t chunks;      // in the file
    // The settings.
    uint64_t marker;
    uint64_t touches_max;
    struct tau_function_table functions;
    // The chunk of touches that is being filled.
    uint64_t touches;
    uint32_t open_touches;
    uint32_t open_bytes;
    uint32_t latest_function;
    uint64_t latest_time;
    uint8_t open[TAU_CODE_TOUCHES_CHUNK_BYTES];
};

// Opens a prepared file. On failure `failure` says why, and false is returned.
bool tau_code_recording_open(struct tau_code_recording *recording, const char *path);

// Appends one touch.
void tau_code_recording_touch(struct tau_code_recording *recording, uint32_t function,
                              uint64_t time);

// Appends the rest and closes the file. MARKER_TIME is TAU_CODE_ABSENT if the marker was not
// executed. False if anything could not be written, since opening.
bool tau_code_recording_close(struct tau_code_recording *recording,
                              const struct tau_block_table *table, uint64_t marker_time,
                              uint64_t end_time);

#endif
