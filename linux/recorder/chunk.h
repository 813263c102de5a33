// A chunk of the recording: a piece of the file, mapped, whose header says what is in it.
#ifndef TAU_LINUX_RECORDER_CHUNK_H
#define TAU_LINUX_RECORDER_CHUNK_H

#include <stddef.h>
#include <stdint.h>

#include "iface/recording.h"

// A chunk of BYTES and KIND, its header filled; NULL if the disk is full or recording stopped.
struct tau_raw_chunk *tau_chunk_map(uint32_t kind, uint32_t thread, size_t bytes);

#endif
