// The rare half of a call: the mark of an unfinished one, and room for rows.
#include "linux/recorder/call.h"

#include <errno.h>
#include <signal.h>

#include "linux/recorder/modules.h"
#include "linux/recorder/process.h"
#include "linux/recorder/recording.h"

_Thread_local struct tau_writer_thread tau_call_thread;

// A handler on a stack of its own may stand above the call that it interrupted.
static bool on_signal_stack(void) {
    stack_t stack;
    const int error = errno;
    const bool on = !tau_process_is_confined() && sigaltstack(NULL, &stack) == 0 &&
                    (stack.ss_flags & SS_ONSTACK) != 0;
    errno = error;
    return on;
}

// Whether the call with the mark at INSIDE is still under way, seen from a call at POSITION. The
// mark of a call that was left may lie deeper than POSITION, in a part of the stack that is used
// again: then it holds something else sooner or later.
static bool is_under_way(uintptr_t inside, uintptr_t position) {
    if (position > inside) {
        return on_signal_stack();
    }
    return *(const volatile uintptr_t *)inside == inside;
}

// After a call that was left in its middle: its row may be torn, so a new chunk is begun, and a
// realloc that did not return left the object to the program as it was.
static void go_on(struct tau_writer_thread *thread) {
    volatile uintptr_t mark;
    tau_call_enter(thread, &mark);
    tau_process_count_abandoned();
    if (thread->writer != NULL) {
        thread->writer->encode.at = thread->writer->end + 1;
    }
    if (thread->resizing) {
        thread->resizing = 0;
        tau_call_control(thread, TAU_RECORD_REALLOC_FAILED);
    }
    tau_call_leave(thread);
}

void tau_call_forked(void) {
    tau_process_forked();
    if (tau_call_thread.inside != 0) {
        tau_writer_keep_off(&tau_call_thread);
    }
}

__attribute__((noinline, cold)) uint64_t
tau_call_outside(struct tau_writer_thread *thread, uint64_t site, uintptr_t position) {
    if (thread->inside == TAU_CALL_OPERATOR) {
        tau_call_leave(thread);
        return thread->operator_site;
    }
    if (thread->inside == TAU_CALL_WATCHED || thread->inside == TAU_CALL_WATCHED_SEEN) {
        thread->inside = TAU_CALL_WATCHED_SEEN;
        return 0;
    }
    if (is_under_way(thread->inside, position)) {
        return 0;
    }
    go_on(thread);
    return site;
}

__attribute__((noinline, cold)) bool tau_call_prepare(struct tau_writer_thread *thread) {
    if (tau_recording_prepare(thread)) {
        return true;
    }
    tau_process_count_lost();
    return false;
}

__attribute__((noinline, cold)) void tau_call_cover(uint64_t site) {
    const int error = errno;
    tau_modules_cover(site);
    errno = error;
}

__attribute__((noinline, cold)) void tau_call_control(struct tau_writer_thread *thread,
                                                      enum tau_record_control code) {
    if (tau_writer_ready(thread) || tau_call_prepare(thread)) {
        tau_encode_control(&thread->writer->encode, code, 0);
    }
    if (thread->ending) {
        tau_writer_release(thread);
    }
}
