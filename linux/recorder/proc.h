// Reads files of the kernel about this process and machine (/proc, /sys), by system calls only.
#ifndef TAU_LINUX_RECORDER_PROC_H
#define TAU_LINUX_RECORDER_PROC_H

#include <stddef.h>
#include <stdint.h>

// Reads the file at PATH to TO, at most BYTES; returns how many there were. 0 if it cannot be read.
uint32_t tau_proc_read(const char *path, char *to, size_t bytes);

#endif
