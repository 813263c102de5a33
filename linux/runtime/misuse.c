#include "linux/runtime/misuse.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/status.h"
#include "linux/runtime/report.h"

static const char *words_of(int reason) {
    switch (reason) {
    case TAU_DOUBLE_FREE:
        return "the object is already free";
    case TAU_MISALIGNED_POINTER:
        return "no object starts there: it is misaligned";
    case TAU_OVERWRITTEN:
        return "the object's header, or that of a neighbor, was overwritten";
    default:
        return "no object of this allocator starts there";
    }
}

static void abort_at_fault(int number) {
    (void)number;
    abort();
}

void tau_misuse_stop(const void *pointer, int reason) {
    char text[256];
    char call[64] = "malloc";
    const char *const words = pointer != NULL ? words_of(reason) : "a free block was overwritten";
    if (pointer != NULL) {
        (void)snprintf(call, sizeof call, "free or realloc of %p", pointer);
    }
    const int bytes = snprintf(text, sizeof text, "tau run: %s[%d]: %s: %s\n",
                               program_invocation_short_name, (int)getpid(), call, words);
    (void)!write(STDERR_FILENO, text, bytes > 0 ? (size_t)bytes : 0);
    // What the report looks at may be overwritten, too.
    (void)signal(SIGSEGV, abort_at_fault);
    (void)signal(SIGBUS, abort_at_fault);
    tau_report_misuse(words);
    abort();
}
