// The interposed allocator functions, and nothing else: each calls the real one and writes a row.
//
// Order: the row of a new object is written after the real call returned, the row of a dying one
// before the real call begins. `depth` keeps calls from inside the real allocator, the recorder or
// a signal handler out of the recording. Recording never changes a result or errno.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "linux/recorder/boot.h"
#include "linux/recorder/modules.h"
#include "linux/recorder/process.h"
#include "linux/recorder/writer.h"

#define EXPORT __attribute__((visibility("default")))
#define SITE ((uint64_t)(uintptr_t)__builtin_return_address(0))
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

extern char **environ;

static _Thread_local struct tau_writer_thread thread_state;

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
static bool resolve(void) {
    int expected = 0;
    if (!atomic_compare_exchange_strong(&resolving, &expected, 1)) {
        return expected == 2;
    }
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
    tau_process_configure(environ);
    atomic_store(&resolving, 2);
    return true;
}

static void *boot_malloc(size_t size) {
    return resolve() ? real.malloc(size) : tau_boot_allocate(size, 16);
}

static void *boot_calloc(size_t count, size_t size) {
    size_t bytes;
    if (resolve()) {
        return real.calloc(count, size);
    }
    return __builtin_mul_overflow(count, size, &bytes) ? NULL : tau_boot_allocate(bytes, 16);
}

static void *boot_realloc(void *pointer, size_t size) {
    if (resolve()) {
        return real.realloc(pointer, size);
    }
    // Everything that exists now is in the boot arena, and realloc copies out of it before it comes
    // here.
    return pointer == NULL ? tau_boot_allocate(size, 16) : NULL;
}

static void *boot_aligned(size_t alignment, size_t size) {
    return resolve() ? real.memalign(alignment, size) : tau_boot_allocate(size, alignment);
}

static void boot_free(void *pointer) {
    if (resolve()) {
        real.free(pointer);
    }
}

// ---- Rows ----

static __attribute__((noinline, cold)) bool prepare(struct tau_writer_thread *thread) {
    return tau_writer_prepare(thread);
}

static __attribute__((noinline, cold)) void cover(uint64_t site) {
    const int error = errno;
    tau_modules_cover(site);
    errno = error;
}

static inline __attribute__((always_inline)) void row(struct tau_writer_thread *thread,
                                                      enum tau_record_op op, const void *pointer,
                                                      size_t size, size_t alignment,
                                                      uint64_t site) {
    if (UNLIKELY(!tau_writer_ready(thread)) && !prepare(thread)) {
        return;
    }
    const uint64_t ticks = tau_clock_now(tau_writer_process.uses_counter);
    struct tau_encode *encode = &thread->writer->encode;
    unsigned int index;
    const bool known = tau_encode_knows_site(encode, site, &index);
    if (UNLIKELY(!known)) {
        cover(site);
    }
    const unsigned int align_log2 = alignment == 0 ? 0 : (unsigned int)__builtin_ctzll(alignment);
    tau_encode_row(encode, op, ticks, (uintptr_t)pointer, size, align_log2, site, index, known);
    if (UNLIKELY(thread->ending)) {
        tau_writer_release(thread);
    }
}

static __attribute__((noinline, cold)) void control(struct tau_writer_thread *thread,
                                                    enum tau_record_control code) {
    if (tau_writer_ready(thread) || prepare(thread)) {
        tau_encode_control(&thread->writer->encode, code, 0);
    }
    if (thread->ending) {
        tau_writer_release(thread);
    }
}

static inline __attribute__((always_inline)) void *new_object(struct tau_writer_thread *thread,
                                                              void *pointer, enum tau_record_op op,
                                                              size_t size, size_t alignment,
                                                              uint64_t site) {
    if (pointer != NULL && !tau_boot_owns(pointer)) {
        row(thread, op, pointer, size, alignment, site);
    }
    thread->depth = 0;
    return pointer;
}

static void *resize(void *pointer, size_t size, uint64_t site);

// ---- The interposed functions ----

EXPORT void *malloc(size_t size) {
    struct tau_writer_thread *thread = &thread_state;
    if (UNLIKELY(thread->depth)) {
        return real.malloc(size);
    }
    thread->depth = 1;
    return new_object(thread, real.malloc(size), TAU_RECORD_MALLOC, size, 0, SITE);
}

EXPORT void *calloc(size_t count, size_t size) {
    struct tau_writer_thread *thread = &thread_state;
    if (UNLIKELY(thread->depth)) {
        return real.calloc(count, size);
    }
    thread->depth = 1;
    // An overflow fails in the real function, and a failure is no event.
    return new_object(thread, real.calloc(count, size), TAU_RECORD_CALLOC, count * size, 0, SITE);
}

EXPORT void free(void *pointer) {
    struct tau_writer_thread *thread = &thread_state;
    if (UNLIKELY(pointer == NULL || tau_boot_owns(pointer))) {
        return;
    }
    if (UNLIKELY(thread->depth)) {
        real.free(pointer);
        return;
    }
    thread->depth = 1;
    row(thread, TAU_RECORD_FREE, pointer, 0, 0, SITE);
    real.free(pointer);
    thread->depth = 0;
}

EXPORT void *realloc(void *pointer, size_t size) {
    return resize(pointer, size, SITE);
}

EXPORT void *reallocarray(void *pointer, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return resize(pointer, bytes, SITE);
}

static void *resize_from_boot(struct tau_writer_thread *thread, const void *pointer, size_t size,
                              uint64_t site) {
    const size_t old_bytes = tau_boot_size(pointer);
    thread->depth++;
    void *copy = real.malloc(size);
    if (copy != NULL) {
        memcpy(copy, pointer, old_bytes < size ? old_bytes : size);
    }
    thread->depth--;
    if (thread->depth != 0) {
        return copy;
    }
    thread->depth = 1;
    return new_object(thread, copy, TAU_RECORD_MALLOC, size, 0, site);
}

static void *resize(void *pointer, size_t size, uint64_t site) {
    struct tau_writer_thread *thread = &thread_state;
    if (UNLIKELY(pointer != NULL && tau_boot_owns(pointer))) {
        return resize_from_boot(thread, pointer, size, site);
    }
    if (UNLIKELY(thread->depth)) {
        return real.realloc(pointer, size);
    }
    thread->depth = 1;
    if (pointer == NULL) {
        return new_object(thread, real.realloc(NULL, size), TAU_RECORD_MALLOC, size, 0, site);
    }
    row(thread, TAU_RECORD_REALLOC_BEGIN, pointer, 0, 0, site);
    void *moved = real.realloc(pointer, size);
    if (moved != NULL) {
        row(thread, TAU_RECORD_REALLOC_END, moved, size, 0, site);
    } else {
        const int error = errno;
        control(thread, size == 0 ? TAU_RECORD_REALLOC_FREED : TAU_RECORD_REALLOC_FAILED);
        errno = error;
    }
    thread->depth = 0;
    return moved;
}

EXPORT void *memalign(size_t alignment, size_t size) {
    struct tau_writer_thread *thread = &thread_state;
    if (UNLIKELY(thread->depth)) {
        return real.memalign(alignment, size);
    }
    thread->depth = 1;
    return new_object(thread, real.memalign(alignment, size), TAU_RECORD_ALIGNED_ALLOC, size,
                      alignment, SITE);
}

EXPORT void *aligned_alloc(size_t alignment, size_t size) {
    struct tau_writer_thread *thread = &thread_state;
    void *(*function)(size_t, size_t) =
        real.aligned_alloc != NULL ? real.aligned_alloc : real.memalign;
    if (UNLIKELY(thread->depth)) {
        return function(alignment, size);
    }
    thread->depth = 1;
    return new_object(thread, function(alignment, size), TAU_RECORD_ALIGNED_ALLOC, size, alignment,
                      SITE);
}

EXPORT int posix_memalign(void **pointer, size_t alignment, size_t size) {
    struct tau_writer_thread *thread = &thread_state;
    if (UNLIKELY(real.posix_memalign == NULL)) {
        free(malloc(1));  // the first call of all: look the real functions up
    }
    if (UNLIKELY(real.posix_memalign == NULL)) {
        *pointer = real.memalign(alignment, size);
        return *pointer == NULL ? ENOMEM : 0;
    }
    if (UNLIKELY(thread->depth)) {
        return real.posix_memalign(pointer, alignment, size);
    }
    thread->depth = 1;
    const int error = real.posix_memalign(pointer, alignment, size);
    new_object(thread, error == 0 ? *pointer : NULL, TAU_RECORD_ALIGNED_ALLOC, size, alignment,
               SITE);
    return error;
}

EXPORT void *valloc(size_t size) {
    struct tau_writer_thread *thread = &thread_state;
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    const uint64_t site = SITE;
    if (UNLIKELY(thread->depth)) {
        return real.valloc != NULL ? real.valloc(size) : real.memalign(page_bytes, size);
    }
    thread->depth = 1;
    void *pointer = real.valloc != NULL ? real.valloc(size) : real.memalign(page_bytes, size);
    return new_object(thread, pointer, TAU_RECORD_ALIGNED_ALLOC, size, page_bytes, site);
}

EXPORT void *pvalloc(size_t size) {
    struct tau_writer_thread *thread = &thread_state;
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    const size_t whole_bytes = (size + page_bytes - 1) & ~(page_bytes - 1);
    const uint64_t site = SITE;
    if (UNLIKELY(thread->depth)) {
        return real.pvalloc != NULL ? real.pvalloc(size) : real.memalign(page_bytes, whole_bytes);
    }
    thread->depth = 1;
    void *pointer =
        real.pvalloc != NULL ? real.pvalloc(size) : real.memalign(page_bytes, whole_bytes);
    return new_object(thread, pointer, TAU_RECORD_ALIGNED_ALLOC, whole_bytes, page_bytes, site);
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
    struct tau_writer_thread *thread = &thread_state;
    if (pointer == NULL || tau_boot_owns(pointer)) {
        return;
    }
    if (thread->depth) {
        sized_free(pointer, alignment, size);
        return;
    }
    thread->depth = 1;
    row(thread, TAU_RECORD_FREE, pointer, 0, 0, site);
    sized_free(pointer, alignment, size);
    thread->depth = 0;
}

// C23's; declared here because the C library of Debian 12 does not.
EXPORT void free_sized(void *pointer, size_t size);
EXPORT void free_aligned_sized(void *pointer, size_t alignment, size_t size);

void free_sized(void *pointer, size_t size) {
    give_up_sized(pointer, 0, size, SITE);
}

void free_aligned_sized(void *pointer, size_t alignment, size_t size) {
    give_up_sized(pointer, alignment, size, SITE);
}

// ---- Libraries opened later ----

// A library opened with RTLD_DEEPBIND binds malloc to the C library past us, and what it allocates
// would be missing without a word. The call must stay a jump (it is one from -O2 on): dlopen looks
// at its return address to find the caller's own search path.
EXPORT void *dlopen(const char *path, int flags) {
    if (UNLIKELY(real.dlopen == NULL)) {
        free(malloc(1));  // the first call of all: look the real functions up
    }
    if (UNLIKELY((flags & RTLD_DEEPBIND) != 0) && tau_process_drops_deep_bind()) {
        flags &= ~RTLD_DEEPBIND;
    }
    return real.dlopen(path, flags);
}

// ---- The program's start and end ----

// A recording exists from the start, so that one without events says "no allocation" and not "no
// recorder".
static __attribute__((constructor)) void program_starts(void) {
    struct tau_writer_thread *thread = &thread_state;
    thread->depth++;
    if (resolve() && !tau_writer_ready(thread)) {
        prepare(thread);
    }
    thread->depth--;
}

static __attribute__((destructor)) void program_ends(void) {
    tau_process_end();
}
