#include "linux/runtime/start.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "linux/runtime/colors/partition.h"
#include "linux/runtime/heap.h"
#include "linux/runtime/lock.h"
#include "linux/runtime/magazines.h"
#include "linux/runtime/report.h"
#include "linux/runtime/settings.h"
#include "linux/runtime/spill.h"

// As env and timeout: the program was not run.
#define EXIT_CANNOT_RUN 125

static bool is_starting;
static bool is_started;

static __attribute__((noreturn, cold)) void refuse(const char *failure) {
    char text[256];
    const int bytes = snprintf(text, sizeof text, "tau run: %s[%d]: %s; the program was not run\n",
                               program_invocation_short_name, (int)getpid(), failure);
    (void)!write(STDERR_FILENO, text, bytes > 0 ? (size_t)bytes : 0);
    tau_report_refused(failure);
    _exit(EXIT_CANNOT_RUN);
}

bool tau_start(void) {
    if (is_started || is_starting || environ == NULL) {
        return is_started;
    }
    const int error = errno;
    is_starting = true;
    const struct tau_settings *const settings = tau_settings_read(environ);
    const char *failure = settings->failure;
    if (failure == NULL) {
        failure = tau_heap_make(&settings->plan, settings->spill_bytes, settings->is_locked);
    }
    if (failure == NULL && settings->colors != NULL) {
        failure = tau_colors_start(settings->colors);
    }
    if (failure != NULL) {
        refuse(failure);
    }
    is_started = true;
    if (tau_heap.planned != NULL || settings->colors != NULL) {
        tau_magazines_forgo();
    }
    // Nobody else is there yet. Whether a thread has a task, only calls of several threads ask.
    tau_lock_gate.closed = settings->colors != NULL ? TAU_LOCK_SHARED : 0;
    tau_settings_close();
    errno = error;
    return true;
}

static void in_child(void) {
    tau_lock_in_child();
    tau_magazines_in_child();
    tau_spill_in_child();
    tau_report_forget();
}

static __attribute__((constructor)) void program_starts(void) {
    if (!tau_start()) {
        refuse("its environment is missing");
    }
    tau_magazines_start();
    pthread_atfork(tau_lock_before_fork, tau_lock_after_fork, in_child);
    at_quick_exit(tau_report_end);  // it runs no destructors
    if (tau_settings.is_locked && mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
        refuse("its memory cannot be locked (the limit `ulimit -l` is too low)");
    }
}

static __attribute__((destructor)) void program_ends(void) {
    tau_report_end();
}
