#include "linux/recorder/recording.h"

#include <errno.h>

#include "linux/recorder/modules.h"
#include "linux/recorder/process.h"
#include "linux/recorder/stacks.h"

static void reset(void) {
    tau_writer_reset();
    tau_modules_reset();
    tau_stacks_reset();
}

static bool prepare(struct tau_writer_thread *thread) {
    if (atomic_load_explicit(tau_process_hot.alive, memory_order_acquire) != 1) {
        // First event of the program, or of a forked child: whatever writer there is belongs to the
        // parent.
        uint64_t forked_at_ticks = thread->writer != NULL ? thread->writer->encode.last_ticks : 0;
        tau_writer_forget(thread);
        if (!tau_process_start(forked_at_ticks, reset)) {
            return false;
        }
    }
    return tau_writer_take(thread);
}

bool tau_recording_prepare(struct tau_writer_thread *thread) {
    if (tau_process_stopped()) {
        return false;
    }
    const int error = errno;
    sigset_t signals;
    const bool calls = tau_process_calls_begin(&signals);
    const bool ready = prepare(thread);
    if (calls) {
        tau_process_calls_end(&signals);
    }
    errno = error;
    return ready;
}

bool tau_recording_confine(bool without_clock) {
    if (tau_process_reserve()) {
        tau_writer_stock();
    }
    return tau_process_confine(without_clock);
}
