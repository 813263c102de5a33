// The recording of this process: starts it, gives writers to threads, and prepares it for a process
// that may not make system calls. It combines writer, modules and process.
#ifndef TAU_LINUX_RECORDER_RECORDING_H
#define TAU_LINUX_RECORDER_RECORDING_H

#include <stdbool.h>

#include "linux/recorder/writer.h"

// Makes sure that THREAD has a writer with room for a row, in a recording of this very process.
// False if there is none, because recording is off or had to stop. Keeps errno.
bool tau_recording_prepare(struct tau_writer_thread *thread);

// As tau_process_confine, with a reserve of file and of writers.
bool tau_recording_confine(bool without_clock);

#endif
