// The recorder for core/ports/rust/lib.rs, which declares these functions. Each of them is the last
// thing that a method of GlobalAlloc calls, with no more arguments than an Arm passes in registers.
// An optimized build jumps to it, so its return address is the code that Rust's allocation function
// was called from.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/config.h"
#include "core/ports/record.h"

#define TAU_RECORD_CAPTURE "capture.bin"
#if defined(__linux__) || defined(__arm__) || defined(__riscv)
#include "core/ports/record_capture.h"
#else
static bool record_capture(void *context, const void *bytes, size_t size_bytes) {
    (void)context, (void)bytes, (void)size_bytes;
    return false;
}
#endif

struct rust_recorder;

// What lib.rs makes of the two type parameters of a recorder.
struct rust_recorder_calls {
    void (*acquire)(const struct rust_recorder *recorder);
    void (*release)(const struct rust_recorder *recorder);
    void *(*allocate)(const struct rust_recorder *recorder, size_t alignment, size_t size);
    void *(*allocate_zeroed)(const struct rust_recorder *recorder, size_t alignment, size_t size);
    void *(*reallocate)(const struct rust_recorder *recorder, void *object, size_t old_size,
                        size_t alignment, size_t size);
    void (*deallocate)(const struct rust_recorder *recorder, void *object, size_t size,
                       size_t alignment);
    uint32_t (*task)(void);
    struct tau_record_port port;
};

// The lock and the inner allocator stand behind it.
struct rust_recorder {
    const struct rust_recorder_calls *calls;
};

#define RUST_CALLER ((uintptr_t)__builtin_return_address(0))

static const struct rust_recorder *rust_recorder;  // the program's: the first that allocates
static struct tau_record rust_record;

bool tau_rust_record_capture(const void *bytes, size_t size);
void *tau_rust_record_malloc(const struct rust_recorder *recorder, size_t alignment, size_t size);
void *tau_rust_record_calloc(const struct rust_recorder *recorder, size_t alignment, size_t size);
void *tau_rust_record_realloc(void *object, size_t old_size, size_t alignment, size_t size);
void tau_rust_record_free(void *object, size_t size, size_t alignment);
void tau_rust_record_mark(const struct rust_recorder *recorder, bool is_end);

bool tau_rust_record_capture(const void *bytes, size_t size) {
    return record_capture(NULL, bytes, size);
}

// False for a second recorder.
static bool rust_record_enter(const struct rust_recorder *recorder) {
    recorder->calls->acquire(recorder);
    if (rust_recorder == NULL) {
        rust_recorder = recorder;
        tau_record_start(&rust_record, &recorder->calls->port);
    }
    tau_record_thread(&rust_record, recorder->calls->task());
    return rust_recorder == recorder;
}

static void rust_record_leave(const struct rust_recorder *recorder) {
    recorder->calls->release(recorder);
}

static void rust_record_made(const void *object, size_t alignment, size_t size, bool is_zeroed,
                             uintptr_t caller) {
    const uintptr_t address = (uintptr_t)object;
    if (object == NULL) {
        return;
    }
    if (alignment > TAU_ALIGNMENT) {
        tau_record_aligned_alloc(&rust_record, address, size, alignment, caller);
    } else if (is_zeroed) {
        tau_record_calloc(&rust_record, address, size, caller);
    } else {
        tau_record_malloc(&rust_record, address, size, caller);
    }
}

void *tau_rust_record_malloc(const struct rust_recorder *recorder, size_t alignment, size_t size) {
    void *object = NULL;
    if (rust_record_enter(recorder)) {
        object = recorder->calls->allocate(recorder, alignment, size);
        rust_record_made(object, alignment, size, false, RUST_CALLER);
    }
    rust_record_leave(recorder);
    return object;
}

void *tau_rust_record_calloc(const struct rust_recorder *recorder, size_t alignment, size_t size) {
    void *object = NULL;
    if (rust_record_enter(recorder)) {
        object = recorder->calls->allocate_zeroed(recorder, alignment, size);
        rust_record_made(object, alignment, size, true, RUST_CALLER);
    }
    rust_record_leave(recorder);
    return object;
}

void *tau_rust_record_realloc(void *object, size_t old_size, size_t alignment, size_t size) {
    const struct rust_recorder *const recorder = rust_recorder;  // it has made the object
    (void)rust_record_enter(recorder);
    tau_record_realloc_begin(&rust_record, (uintptr_t)object, RUST_CALLER);
    void *const result = recorder->calls->reallocate(recorder, object, old_size, alignment, size);
    tau_record_realloc_end(&rust_record, (uintptr_t)result, size, RUST_CALLER);
    rust_record_leave(recorder);
    return result;
}

void tau_rust_record_free(void *object, size_t size, size_t alignment) {
    const struct rust_recorder *const recorder = rust_recorder;
    (void)rust_record_enter(recorder);
    tau_record_free(&rust_record, (uintptr_t)object, RUST_CALLER);
    recorder->calls->deallocate(recorder, object, size, alignment);
    rust_record_leave(recorder);
}

void tau_rust_record_mark(const struct rust_recorder *recorder, bool is_end) {
    if (rust_record_enter(recorder)) {
        (is_end ? tau_record_end : tau_record_flush)(&rust_record);
    }
    rust_record_leave(recorder);
}
