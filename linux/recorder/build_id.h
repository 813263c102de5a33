// The GNU build id of the recorded program, which names the very build that asked for the sizes.
#ifndef TAU_LINUX_RECORDER_BUILD_ID_H
#define TAU_LINUX_RECORDER_BUILD_ID_H

#include <stddef.h>
#include <stdint.h>

// Copies the program's build id to TO, at most BYTES of it; returns how many. 0 if it has none.
// Reads mapped memory only: no lock, no allocation, no system call.
uint32_t tau_build_id_read(uint8_t *to, size_t bytes);

#endif
