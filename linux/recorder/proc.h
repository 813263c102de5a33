// Reads files of the kernel about this process and machine (/proc, /sys), by system calls only.
#ifndef TAU_LINUX_RECORDER_PROC_H
#define TAU_LINUX_RECORDER_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Reads the file at PATH to TO, at most BYTES; returns how many there were. 0 if it cannot be read.
uint32_t tau_proc_read(const char *path, char *to, size_t bytes);

// Whether this machine's counter of cycles gives the time: the kernel itself keeps time by it, so
// it is constant, never stops, and is equal on all cores.
bool tau_proc_trusts_counter(void);

// How many seccomp filters this process is under, or its seccomp mode where the kernel does not
// count them. Reads as the dynamic linker does, which any filter allows that let the program start.
uint32_t tau_proc_seccomp_filters(void);

#endif
