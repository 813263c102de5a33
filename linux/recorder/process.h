// This process's recording: its file, its header, and why it stopped.
#ifndef TAU_LINUX_RECORDER_PROCESS_H
#define TAU_LINUX_RECORDER_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Reads the environment that `tau record` set; called once, before anything else. Off without it.
//   TAU_RECORD_DIRECTORY         where the recordings go; absolute
//   TAU_RECORD_ONLY_PID          record this process and no child
//   TAU_RECORD_TICKS_PER_SECOND  the time-stamp counter's rate
//   TAU_RECORD_CLOCK=monotonic   do not use the time-stamp counter
//   TAU_RECORD_DEEPBIND=keep     leave RTLD_DEEPBIND alone
void tau_process_configure(char *const *environment);

// Starts this process's recording, in the program or in a forked child; there FORKED_AT_TICKS is
// the time of the forking thread's last row. False if recording is off or cannot start.
bool tau_process_start(uint64_t forked_at_ticks);

// Takes BYTES more of the file, on disk for certain; returns the file's descriptor and *offset, or
// -1 (recording stops).
int tau_process_extend(size_t bytes, uint64_t *offset);

// Bytes of the file that are handed out so far.
uint64_t tau_process_file_bytes(void);

// Recording ends here and for good, for the reason of an errno value; the program goes on.
void tau_process_stop(int error);
bool tau_process_stopped(void);

// Whether dlopen is to drop RTLD_DEEPBIND; counted.
bool tau_process_drops_deep_bind(void);

// At the program's exit.
void tau_process_end(void);

#endif
