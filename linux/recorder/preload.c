// The interposed functions of malloc's family, and nothing else: each calls the real one and writes
// a row.
//
// Order: the row of a new object is written after the real call returned, the row of a dying one
// before the real call begins. Recording never changes a result or errno.
#include "linux/recorder/preload.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "linux/recorder/call.h"
#include "linux/recorder/confine.h"
#include "linux/recorder/exec.h"
#include "linux/recorder/process.h"

extern char **environ;

// ---- The real allocator ----

// Before it is known, these serve from the boot arena, so that no path has to ask whether it is
// known.
static void *boot_malloc(size_t size);
static void *boot_calloc(size_t count, size_t size);
static void *boot_realloc(void *pointer, size_t size);
static void *boot_aligned(size_t alignment, size_t size);
static void boot_free(void *pointer);

static struct {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void *(*memalign)(size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
    void (*free)(void *);
    void (*free_sized)(void *, size_t);
    void (*free_aligned_sized)(void *, size_t, size_t);
    void *(*dlopen)(const char *, int);
    pid_t (*fork_raw)(void);
} real = {
    .malloc = boot_malloc,
    .calloc = boot_calloc,
    .realloc = boot_realloc,
    .memalign = boot_aligned,
    .free = boot_free,
};

static _Atomic int resolving;  // 0 not yet, 1 under way, 2 done

static void *resolve_one(const char *name) {
    return dlsym(RTLD_NEXT, name);
}

// Looks the real functions up, once. Calls that the look-up itself makes find `resolving` at 1.
bool tau_preload_resolve(void) {
    int expected = 0;
    if (!atomic_compare_exchange_strong(&resolving, &expected, 1)) {
        return expected == 2;
    }
    *(void **)&real.fork_raw = resolve_one("_Fork");
    *(void **)&real.dlopen = resolve_one("dlopen");
    *(void **)&real.aligned_alloc = resolve_one("aligned_alloc");
    *(void **)&real.posix_memalign = resolve_one("posix_memalign");
    *(void **)&real.valloc = resolve_one("valloc");
    *(void **)&real.pvalloc = resolve_one("pvalloc");
    *(void **)&real.free_sized = resolve_one("free_sized");
    *(void **)&real.free_aligned_sized = resolve_one("free_aligned_sized");
    void *memalign_found = resolve_one("memalign");
    void *free_found = resolve_one("free");
    void *calloc_found = resolve_one("calloc");
    void *realloc_found = resolve_one("realloc");
    *(void **)&real.malloc = resolve_one("malloc");
    *(void **)&real.memalign = memalign_found;
    *(void **)&real.calloc = calloc_found;
    *(void **)&real.realloc = realloc_found;
    *(void **)&real.free = free_found;
    tau_confine_resolve();
    tau_exec_resolve();
    tau_process_configure(environ);
    atomic_store(&resolving, 2);
    return true;
}

static void *boot_malloc(size_t size) {
    return tau_preload_resolve() ? real.malloc(size) : tau_boot_allocate(size, 16);
}

static void *boot_calloc(size_t count, size_t size) {
    size_t bytes;
    if (tau_preload_resolve()) {
        return real.calloc(count, size);
    }
    return __builtin_mul_overflow(count, size, &bytes) ? NULL : tau_boot_allocate(bytes, 16);
}

static void *boot_realloc(void *pointer, size_t size) {
    if (tau_preload_resolve()) {
        return real.realloc(pointer, size);
    }
    // Everything that exists now is in the boot arena, and realloc copies out of it before it comes
    // here.
    return pointer == NULL ? tau_boot_allocate(size, 16) : NULL;
}

static void *boot_aligned(size_t alignment, size_t size) {
    return tau_preload_resolve() ? real.memalign(alignment, size)
                                 : tau_boot_allocate(size, alignment);
}

static void boot_free(void *pointer) {
    if (tau_preload_resolve()) {
        real.free(pointer);
    }
}

static void *resize(void *pointer, size_t size, uint64_t site);

// ---- The interposed functions ----

TAU_EXPORT void *malloc(size_t size) {
    struct tau_writer_thread *thread = &tau_call_thread;
    uint64_t site = TAU_CALL_SITE;
    volatile uintptr_t mark;
    if (!tau_call_begin(thread, &site, &mark)) {
        return real.malloc(size);
    }
    return tau_call_made(thread, real.malloc(size), TAU_RECORD_MALLOC, size, 0, site);
}

TAU_EXPORT void *calloc(size_t count, size_t size) {
    struct tau_writer_thread *thread = &tau_call_thread;
    uint64_t site = TAU_CALL_SITE;
    volatile uintptr_t mark;
    if (!tau_call_begin(thread, &site, &mark)) {
        return real.calloc(count, size);
    }
    // An overflow fails in the real function, and a failure is no event.
    return tau_call_made(thread, real.calloc(count, size), TAU_RECORD_CALLOC, count * size, 0,
                         site);
}

TAU_EXPORT void free(void *pointer) {
    struct tau_writer_thread *thread = &tau_call_thread;
    uint64_t site = TAU_CALL_SITE;
    volatile uintptr_t mark;
    if (TAU_UNLIKELY(pointer == NULL || tau_boot_owns(pointer))) {
        return;
    }
    if (!tau_call_begin(thread, &site, &mark)) {
        real.free(pointer);
        return;
    }
    tau_call_row(thread, TAU_RECORD_FREE, pointer, 0, 0, site);
    real.free(pointer);
    tau_call_leave(thread);
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

static void *copy_from_boot(const void *pointer, size_t size) {
    const size_t old_bytes = tau_boot_size(pointer);
    void *copy = real.malloc(size);
    if (copy != NULL) {
        memcpy(copy, pointer, old_bytes < size ? old_bytes : size);
    }
    return copy;
}

static void *resize(void *pointer, size_t size, uint64_t site) {
    struct tau_writer_thread *thread = &tau_call_thread;
    volatile uintptr_t mark;
    const bool from_boot = TAU_UNLIKELY(pointer != NULL && tau_boot_owns(pointer));
    if (!tau_call_begin(thread, &site, &mark)) {
        return from_boot ? copy_from_boot(pointer, size) : real.realloc(pointer, size);
    }
    if (pointer == NULL || from_boot) {
        void *made = from_boot ? copy_from_boot(pointer, size) : real.realloc(NULL, size);
        return tau_call_made(thread, made, TAU_RECORD_MALLOC, size, 0, site);
    }
    tau_call_row(thread, TAU_RECORD_REALLOC_BEGIN, pointer, 0, 0, site);
    thread->resizing = 1;
    void *moved = real.realloc(pointer, size);
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
    struct tau_writer_thread *thread = &tau_call_thread;
    uint64_t site = TAU_CALL_SITE;
    volatile uintptr_t mark;
    if (!tau_call_begin(thread, &site, &mark)) {
        return real.memalign(alignment, size);
    }
    return tau_call_made(thread, real.memalign(alignment, size), TAU_RECORD_ALIGNED_ALLOC, size,
                         alignment, site);
}

TAU_EXPORT void *aligned_alloc(size_t alignment, size_t size) {
    struct tau_writer_thread *thread = &tau_call_thread;
    uint64_t site = TAU_CALL_SITE;
    volatile uintptr_t mark;
    void *(*function)(size_t, size_t) =
        real.aligned_alloc != NULL ? real.aligned_alloc : real.memalign;
    if (!tau_call_begin(thread, &site, &mark)) {
        return function(alignment, size);
    }
    return tau_call_made(thread, function(alignment, size), TAU_RECORD_ALIGNED_ALLOC, size,
                         alignment, site);
}

TAU_EXPORT int posix_memalign(void **pointer, size_t alignment, size_t size) {
    struct tau_writer_thread *thread = &tau_call_thread;
    uint64_t site = TAU_CALL_SITE;
    volatile uintptr_t mark;
    if (TAU_UNLIKELY(real.posix_memalign == NULL)) {
        tau_preload_resolve();  // the first call of all
    }
    if (TAU_UNLIKELY(real.posix_memalign == NULL)) {
        *pointer = real.memalign(alignment, size);
        return *pointer == NULL ? ENOMEM : 0;
    }
    if (!tau_call_begin(thread, &site, &mark)) {
        return real.posix_memalign(pointer, alignment, size);
    }
    const int error = real.posix_memalign(pointer, alignment, size);
    tau_call_made(thread, error == 0 ? *pointer : NULL, TAU_RECORD_ALIGNED_ALLOC, size, alignment,
                  site);
    return error;
}

TAU_EXPORT void *valloc(size_t size) {
    struct tau_writer_thread *thread = &tau_call_thread;
    uint64_t site = TAU_CALL_SITE;
    volatile uintptr_t mark;
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    if (!tau_call_begin(thread, &site, &mark)) {
        return real.valloc != NULL ? real.valloc(size) : real.memalign(page_bytes, size);
    }
    void *pointer = real.valloc != NULL ? real.valloc(size) : real.memalign(page_bytes, size);
    return tau_call_made(thread, pointer, TAU_RECORD_ALIGNED_ALLOC, size, page_bytes, site);
}

TAU_EXPORT void *pvalloc(size_t size) {
    struct tau_writer_thread *thread = &tau_call_thread;
    uint64_t site = TAU_CALL_SITE;
    volatile uintptr_t mark;
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    const size_t whole_bytes = (size + page_bytes - 1) & ~(page_bytes - 1);
    if (!tau_call_begin(thread, &site, &mark)) {
        return real.pvalloc != NULL ? real.pvalloc(size) : real.memalign(page_bytes, whole_bytes);
    }
    void *pointer =
        real.pvalloc != NULL ? real.pvalloc(size) : real.memalign(page_bytes, whole_bytes);
    return tau_call_made(thread, pointer, TAU_RECORD_ALIGNED_ALLOC, whole_bytes, page_bytes, site);
}

static void sized_free(void *pointer, size_t alignment, size_t size) {
    if (alignment != 0 && real.free_aligned_sized != NULL) {
        real.free_aligned_sized(pointer, alignment, size);
    } else if (alignment == 0 && real.free_sized != NULL) {
        real.free_sized(pointer, size);
    } else {
        real.free(pointer);
    }
}

static void give_up_sized(void *pointer, size_t alignment, size_t size, uint64_t site) {
    struct tau_writer_thread *thread = &tau_call_thread;
    volatile uintptr_t mark;
    if (pointer == NULL || tau_boot_owns(pointer)) {
        return;
    }
    if (!tau_call_begin(thread, &site, &mark)) {
        sized_free(pointer, alignment, size);
        return;
    }
    tau_call_row(thread, TAU_RECORD_FREE, pointer, 0, 0, site);
    sized_free(pointer, alignment, size);
    tau_call_leave(thread);
}

// C23's; declared here because the C library of Debian 12 does not.
TAU_EXPORT void free_sized(void *pointer, size_t size);
TAU_EXPORT void free_aligned_sized(void *pointer, size_t alignment, size_t size);

void free_sized(void *pointer, size_t size) {
    give_up_sized(pointer, 0, size, TAU_CALL_SITE);
}

void free_aligned_sized(void *pointer, size_t alignment, size_t size) {
    give_up_sized(pointer, alignment, size, TAU_CALL_SITE);
}

// ---- Libraries opened later ----

// A library opened with RTLD_DEEPBIND binds malloc to the C library past us, and what it allocates
// would be missing without a word. The call must stay a jump (it is one from -O2 on): dlopen looks
// at its return address to find the caller's own search path.
TAU_EXPORT void *dlopen(const char *path, int flags) {
    if (TAU_UNLIKELY(real.dlopen == NULL)) {
        tau_preload_resolve();  // the first call of all
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
        tau_preload_resolve();  // the first call of all
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

// ---- The program's start and end ----

// A recording exists from the start, so that one without events says "no allocation" and not "no
// recorder".
static __attribute__((constructor)) void program_starts(void) {
    struct tau_writer_thread *thread = &tau_call_thread;
    uint64_t site = TAU_CALL_SITE;
    volatile uintptr_t mark;
    if (tau_call_begin(thread, &site, &mark)) {
        if (tau_preload_resolve() && !tau_writer_ready(thread)) {
            tau_call_prepare(thread);
        }
        pthread_atfork(NULL, NULL, tau_call_forked);
        tau_call_leave(thread);
    }
}

static __attribute__((destructor)) void program_ends(void) {
    tau_process_end();
}
