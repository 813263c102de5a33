// A pointer that is no object: one line that says so, the report, and the end of the program.
#ifndef TAU_LINUX_RUNTIME_MISUSE_H
#define TAU_LINUX_RUNTIME_MISUSE_H

// REASON is an enum tau_status. Without a POINTER, a request found an overwritten free block or
// bucket. Does not return, as with the C library's own check.
__attribute__((noreturn, cold)) void tau_misuse_stop(const void *pointer, int reason);

#endif
