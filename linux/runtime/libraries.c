// Libraries that the program opens later. One that is opened with RTLD_DEEPBIND, as PHP does, would
// bind malloc and free to the C library past us, and free what we made. So the flag is dropped.
#include <dlfcn.h>
#include <stddef.h>

#include "linux/interpose/look_up.h"
#include "linux/runtime/calls.h"

// The call must stay a jump: the next dlopen looks at its return address to find the caller's own
// search path.
TAU_EXPORT void *dlopen(const char *path, int flags) {
    static void *(*next)(const char *, int);
    if (TAU_UNLIKELY(next == NULL)) {
        *(void **)&next = tau_look_up_next("dlopen");
    }
    return next(path, flags & ~RTLD_DEEPBIND);
}

// Another namespace has a C library of its own, whose malloc is right there.
TAU_EXPORT void *dlmopen(Lmid_t namespace, const char *path, int flags) {
    static void *(*next)(Lmid_t, const char *, int);
    if (TAU_UNLIKELY(next == NULL)) {
        *(void **)&next = tau_look_up_next("dlmopen");
    }
    return next(namespace, path, namespace == LM_ID_BASE ? flags & ~RTLD_DEEPBIND : flags);
}
