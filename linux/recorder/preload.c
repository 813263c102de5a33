// The interposed functions of malloc's family. Each calls the real function and writes a row.
//
// Order: the row of a new object is written after the real call returned, the row of a dying one
// before the real call begins. Recording never changes a result or errno.
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "linux/interpose/family.h"
#include "linux/interpose/look_up.h"
#include "linux/recorder/call.h"
#include "linux/recorder/confine.h"
#include "linux/recorder/exec.h"
#include "linux/recorder/process.h"
#include "linux/recorder/stacks.h"

#ifndef RTLD_DEEPBIND
#define RTLD_DEEPBIND 0  // musl has no such flag
#endif

extern char **environ;

// The real functions that are not of malloc's family.
static struct {
    void *(*dlopen)(const char *, int);
    pid_t (*fork_raw)(void);
} real;

void tau_family_prepare(void) {
    *(void **)&real.fork_raw = tau_look_up_next("_Fork");
    *(void **)&real.dlopen = tau_look_up_next("dlopen");
    tau_confine_resolve();
    tau_exec_resolve();
    tau_process_configure(environ);
}

static void *resize(void *pointer, size_t size, uint64_t site);

// ---- The interposed functions ----

// The body of a function that makes an object by the real CALL, written twice: if another call is
// under way, this one is not an event.
#define RETURN_RECORDED(CALL, OP, SIZE, ALIGNMENT)                                                 \
    struct tau_writer_thread *thread = &tau_call_thread;                                           \
    uint64_t site = TAU_CALL_SITE;                                                                 \
    volatile uintptr_t mark;                                                                       \
    if (!tau_call_begin(thread, &site, &mark)) {                                                   \
        return CALL;                                                                               \
    }                                                                                              \
    return tau_call_made(thread, CALL, OP, SIZE, ALIGNMENT, site)

TAU_EXPORT void *malloc(size_t size) {
    RETURN_RECORDED(tau_family.malloc(size), TAU_RECORD_MALLOC, size, 0);
}

// An overflow fails in the real function, and a failure is not an event.
TAU_EXPORT void *calloc(size_t count, size_t size) {
    RETURN_RECORDED(tau_family.calloc(count, size), TAU_RECORD_CALLOC, count * size, 0);
}

TAU_EXPORT void *realloc(void *pointer, size_t size) {
    return resize(pointer, size, TAU_CALL_SITE);
}

TAU_EXPORT void *reallocarray(void *pointer, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return resize(pointer, bytes, TAU_CALL_SITE);
}

static void *resize(void *pointer, size_t size, uint64_t site) {
    struct tau_writer_thread *thread = &tau_call_thread;
    volatile uintptr_t mark;
    const bool from_boot = TAU_UNLIKELY(pointer != NULL && tau_boot_owns(pointer));
    if (!tau_call_begin(thread, &site, &mark)) {
        return from_boot ? tau_family_copy_from_boot(pointer, size)
                         : tau_family.realloc(pointer, size);
    }
    if (pointer == NULL || from_boot) {
        void *made =
            from_boot ? tau_family_copy_from_boot(pointer, size) : tau_family.realloc(NULL, size);
        return tau_call_made(thread, made, TAU_RECORD_MALLOC, size, 0, site);
    }
    tau_call_row(thread, TAU_RECORD_REALLOC_BEGIN, pointer, 0, 0, site);
    thread->resizing = 1;
    void *moved = tau_family.realloc(pointer, size);
    thread->resizing = 0;
    if (moved != NULL) {
        tau_call_row(thread, TAU_RECORD_REALLOC_END, moved, size, 0, site);
    } else {
        const int error = errno;
        tau_call_control(thread, size == 0 ? TAU_RECORD_REALLOC_FREED : TAU_RECORD_REALLOC_FAILED);
        errno = error;
    }
    tau_call_leave(thread);
    return moved;
}

TAU_EXPORT void *memalign(size_t alignment, size_t size) {
    RETURN_RECORDED(tau_family.memalign(alignment, size), TAU_RECORD_ALIGNED_ALLOC, size,
                    alignment);
}

TAU_EXPORT void *aligned_alloc(size_t alignment, size_t size) {
    void *(*function)(size_t, size_t) =
        tau_family.aligned_alloc != NULL ? tau_family.aligned_alloc : tau_family.memalign;
    RETURN_RECORDED(function(alignment, size), TAU_RECORD_ALIGNED_ALLOC, size, alignment);
}

TAU_EXPORT int posix_memalign(void **pointer, size_t alignment, size_t size) {
    struct tau_writer_thread *thread = &tau_call_thread;
    uint64_t site = TAU_CALL_SITE;
    volatile uintptr_t mark;
    if (TAU_UNLIKELY(tau_family.posix_memalign == NULL)) {
        tau_family_resolve();  // the first call of all
    }
    if (TAU_UNLIKELY(tau_family.posix_memalign == NULL)) {
        *pointer = tau_family.memalign(alignment, size);
        return *pointer == NULL ? ENOMEM : 0;
    }
    if (!tau_call_begin(thread, &site, &mark)) {
        return tau_family.posix_memalign(pointer, alignment, size);
    }
    const int error = tau_family.posix_memalign(pointer, alignment, size);
    tau_call_made(thread, error == 0 ? *pointer : NULL, TAU_RECORD_ALIGNED_ALLOC, size, alignment,
                  site);
    return error;
}

// By the real FUNCTION, if there is one; else WHOLE_BYTES at a page.
static void *page_aligned(void *(*function)(size_t), size_t size, size_t page_bytes,
                          size_t whole_bytes) {
    return function != NULL ? function(size) : tau_family.memalign(page_bytes, whole_bytes);
}

TAU_EXPORT void *valloc(size_t size) {
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    RETURN_RECORDED(page_aligned(tau_family.valloc, size, page_bytes, size),
                    TAU_RECORD_ALIGNED_ALLOC, size, page_bytes);
}

TAU_EXPORT void *pvalloc(size_t size) {
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    const size_t whole_bytes = (size + page_bytes - 1) & ~(page_bytes - 1);
    RETURN_RECORDED(page_aligned(tau_family.pvalloc, size, page_bytes, whole_bytes),
                    TAU_RECORD_ALIGNED_ALLOC, whole_bytes, page_bytes);
}

// The body of a function that frees POINTER by the real CALL.
#define FREE_RECORDED(POINTER, CALL)                                                               \
    struct tau_writer_thread *thread = &tau_call_thread;                                           \
    uint64_t site = TAU_CALL_SITE;                                                                 \
    volatile uintptr_t mark;                                                                       \
    if (TAU_UNLIKELY(POINTER == NULL || tau_boot_owns(POINTER))) {                                 \
        return;                                                                                    \
    }                                                                                              \
    if (!tau_call_begin(thread, &site, &mark)) {                                                   \
        CALL;                                                                                      \
        return;                                                                                    \
    }                                                                                              \
    tau_call_row(thread, TAU_RECORD_FREE, POINTER, 0, 0, site);                                    \
    CALL;                                                                                          \
    tau_call_leave(thread)

TAU_EXPORT void free(void *pointer) {
    FREE_RECORDED(pointer, tau_family.free(pointer));
}

// C23's; declared here because the C library of Debian 12 does not.
TAU_EXPORT void free_sized(void *pointer, size_t size);
TAU_EXPORT void free_aligned_sized(void *pointer, size_t alignment, size_t size);

void free_sized(void *pointer, size_t size) {
    FREE_RECORDED(pointer, tau_family.free_sized != NULL ? tau_family.free_sized(pointer, size)
                                                         : tau_family.free(pointer));
}

void free_aligned_sized(void *pointer, size_t alignment, size_t size) {
    FREE_RECORDED(pointer, tau_family.free_aligned_sized != NULL
                               ? tau_family.free_aligned_sized(pointer, alignment, size)
                               : tau_family.free(pointer));
}

// ---- Libraries opened later ----

// A library opened with RTLD_DEEPBIND binds malloc directly to the C library, so its allocations
// would be missing silently. The call must stay a jump (it is one from -O2 on): dlopen looks at its
// return address to find the caller's own search path.
TAU_EXPORT void *dlopen(const char *path, int flags) {
    if (TAU_UNLIKELY(real.dlopen == NULL)) {
        tau_family_resolve();  // the first call of all
    }
    if (TAU_UNLIKELY((flags & RTLD_DEEPBIND) != 0) && tau_process_drops_deep_bind()) {
        flags &= ~RTLD_DEEPBIND;
    }
    return real.dlopen(path, flags);
}

// ---- Forks in a signal handler ----

// The one fork that a signal handler may make, and that does without the handlers of
// pthread_atfork. Declared here because an older C library does not have it.
TAU_EXPORT pid_t _Fork(void);

pid_t _Fork(void) {
    if (TAU_UNLIKELY(real.fork_raw == NULL)) {
        tau_family_resolve();  // the first call of all
    }
    if (TAU_UNLIKELY(real.fork_raw == NULL)) {
        errno = ENOSYS;
        return -1;
    }
    const pid_t child = real.fork_raw();
    if (child == 0) {
        tau_call_forked();
    }
    return child;
}

// glibc's pthread_atfork is linked into each library and calls the first, which musl does not have.
static void watch_forks(void) {
    int (*at_fork)(void (*)(void), void (*)(void), void (*)(void), void *);
    *(void **)&at_fork = tau_look_up_next("__register_atfork");
    if (at_fork == NULL) {
        *(void **)&at_fork = tau_look_up_next("pthread_atfork");
    }
    if (at_fork != NULL) {
        at_fork(NULL, NULL, tau_call_forked, NULL);
    }
}

// ---- The program's start and end ----

// A recording exists from the start, so that one without events means "no allocation", not "no
// recorder".
static __attribute__((constructor)) void program_starts(void) {
    struct tau_writer_thread *thread = &tau_call_thread;
    uint64_t site = TAU_CALL_SITE;
    volatile uintptr_t mark;
    if (tau_call_begin(thread, &site, &mark)) {
        if (tau_family_resolve() && !tau_writer_ready(thread)) {
            tau_call_prepare(thread);
        }
        watch_forks();
        tau_stacks_start();
        if (tau_process_is_emulated()) {
            unsetenv("LD_PRELOAD");  // programs of the host cannot load this library
        }
        tau_call_leave(thread);
    }
}

static __attribute__((destructor)) void program_ends(void) {
    tau_process_end();
}
