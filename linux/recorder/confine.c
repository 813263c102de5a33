// A program installs a filter by prctl(PR_SET_SECCOMP) or by syscall(SYS_seccomp), as libseccomp
// does. Before the kernel sees the call, the recorder reserves the memory that it may need. From
// then on it makes no system call.
#include "linux/recorder/confine.h"

#include <linux/seccomp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "linux/interpose/family.h"
#include "linux/interpose/look_up.h"
#include "linux/interpose/machine.h"
#include "linux/recorder/call.h"
#include "linux/recorder/process.h"
#include "linux/recorder/recording.h"

// The same function, with the parameters that a jump to it passes on.
typedef long system_call(long number, ...);
typedef long system_call_jump(long number, long a, long b, long c TAU_MACHINE_SYSCALL_REST);

static system_call *real_syscall;
static system_call_jump *real_syscall_jump;

void tau_confine_resolve(void) {
    *(void **)&real_syscall_jump = tau_look_up_next("syscall");
    *(void **)&real_syscall = *(void **)&real_syscall_jump;
}

// A forked child that has no event yet begins its recording here: later it cannot.
static bool confine(bool without_clock) {
    struct tau_writer_thread *thread = &tau_call_thread;
    uint64_t site = TAU_CALL_SITE;
    volatile uintptr_t mark;
    if (tau_call_begin(thread, &site, &mark)) {
        if (!tau_writer_ready(thread)) {
            tau_recording_prepare(thread);
        }
        tau_call_leave(thread);
    }
    return tau_recording_confine(without_clock);
}

static bool prctl_is_watched(long option) {
    return option == PR_SET_SECCOMP || option == PR_SET_TSC;
}

static __attribute__((noinline, cold)) long watched_prctl(long option, long a, long b) {
    bool confined = false;
    if (option == PR_SET_SECCOMP) {
        confined = confine(a == SECCOMP_MODE_STRICT);
    } else if (a == PR_TSC_SIGSEGV) {
        tau_process_stop_clock();
    }
    const long result = real_syscall(SYS_prctl, option, a, b, 0L, 0L);
    if (confined && result < 0) {
        tau_process_confine_undo();
    }
    return result;
}

static __attribute__((noinline, cold)) long watched_seccomp(long operation, long flags,
                                                            long arguments) {
    const bool sets = operation == SECCOMP_SET_MODE_STRICT || operation == SECCOMP_SET_MODE_FILTER;
    const bool confined = sets && confine(operation == SECCOMP_SET_MODE_STRICT);
    const long result = real_syscall(SYS_seccomp, operation, flags, arguments);
    if (confined && result < 0) {
        tau_process_confine_undo();
    }
    return result;
}

TAU_EXPORT int prctl(int option, ...) {
    long a[4];
    va_list rest;
    va_start(rest, option);
    for (int i = 0; i < 4; i++) {
        a[i] = va_arg(rest, long);
    }
    va_end(rest);
    if (TAU_UNLIKELY(real_syscall == NULL)) {
        tau_family_resolve();  // the first call of all
    }
    return (int)(prctl_is_watched(option)
                     ? watched_prctl(option, a[0], a[1])
                     : real_syscall(SYS_prctl, (long)option, a[0], a[1], a[2], a[3]));
}

// The C library's syscall has any number of arguments, all in the places of these. The call must
// stay a jump (it is one from -O2 on): what a clone or vfork returns to is the program.
TAU_EXPORT long interposed_syscall(long number, long a, long b,
                                   long c TAU_MACHINE_SYSCALL_REST) __asm__("syscall");

long interposed_syscall(long number, long a, long b, long c TAU_MACHINE_SYSCALL_REST) {
    if (TAU_UNLIKELY(real_syscall_jump == NULL)) {
        tau_family_resolve();
    }
    if (TAU_UNLIKELY(number == SYS_seccomp)) {
        return watched_seccomp(a, b, c);
    }
    if (TAU_UNLIKELY(number == SYS_prctl && prctl_is_watched(a))) {
        return watched_prctl(a, b, c);
    }
    return real_syscall_jump(number, a, b, c TAU_MACHINE_SYSCALL_REST_NAMES);
}
