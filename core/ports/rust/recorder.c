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

enum rust_operation { RUST_ALLOC, RUST_ALLOC_ZEROED, RUST_REALLOC, RUST_DEALLOC };

// A call of GlobalAlloc: SIZE_BYTES is the layout's, and NEW_SIZE_BYTES realloc's.
struct rust_call {
    uint32_t operation;  // enum rust_operation, whose size depends on the machine
    void *object;
    size_t size_bytes;
    size_t alignment;
    size_t new_size_bytes;
};

struct rust_recorder;

// What lib.rs makes of the two type parameters of a recorder.
struct rust_recorder_functions {
    void (*acquire)(const struct rust_recorder *recorder);
    void (*release)(const struct rust_recorder *recorder);
    void *(*serve)(const struct rust_recorder *recorder, const struct rust_call *call);
    uint32_t (*task)(void);
    struct tau_record_port port;
};

// The lock and the inner allocator stand behind it.
struct rust_recorder {
    const struct rust_recorder_functions *functions;
};

#define RUST_CALLER ((uintptr_t)__builtin_return_address(0))

static const struct rust_recorder *rust_recorder;  // the program's: the first that allocates
static struct tau_record rust_record;

bool tau_rust_record_capture(const void *bytes, size_t size_bytes) {
    return record_capture(NULL, bytes, size_bytes);
}

// False for a second recorder.
static bool rust_record_enter(const struct rust_recorder *recorder) {
    recorder->functions->acquire(recorder);
    if (rust_recorder == NULL) {
        rust_recorder = recorder;
        tau_record_start(&rust_record, &recorder->functions->port);
    }
    tau_record_thread(&rust_record, recorder->functions->task());
    return rust_recorder == recorder;
}

static void *rust_record_new(const struct rust_recorder *recorder, struct rust_call call,
                             uintptr_t caller) {
    void *object = NULL;
    if (rust_record_enter(recorder)) {
        object = recorder->functions->serve(recorder, &call);
    }
    const uintptr_t address = (uintptr_t)object;
    if (object == NULL) {
        // a refused request is not an event
    } else if (call.alignment > TAU_ALIGNMENT) {
        tau_record_aligned_alloc(&rust_record, address, call.size_bytes, call.alignment, caller);
    } else if (call.operation == RUST_ALLOC_ZEROED) {
        tau_record_calloc(&rust_record, address, call.size_bytes, caller);
    } else {
        tau_record_malloc(&rust_record, address, call.size_bytes, caller);
    }
    recorder->functions->release(recorder);
    return object;
}

void *tau_rust_record_alloc(const struct rust_recorder *recorder, size_t size, size_t alignment) {
    const struct rust_call call = {RUST_ALLOC, NULL, size, alignment, 0};
    return rust_record_new(recorder, call, RUST_CALLER);
}

void *tau_rust_record_alloc_zeroed(const struct rust_recorder *recorder, size_t size,
                                   size_t alignment) {
    const struct rust_call call = {RUST_ALLOC_ZEROED, NULL, size, alignment, 0};
    return rust_record_new(recorder, call, RUST_CALLER);
}

void *tau_rust_record_realloc(void *object, size_t size, size_t alignment, size_t new_size) {
    const struct rust_recorder *const recorder = rust_recorder;  // it has made the object
    const struct rust_call call = {RUST_REALLOC, object, size, alignment, new_size};
    (void)rust_record_enter(recorder);
    tau_record_realloc_begin(&rust_record, (uintptr_t)object, RUST_CALLER);
    void *const result = recorder->functions->serve(recorder, &call);
    tau_record_realloc_end(&rust_record, (uintptr_t)result, new_size, RUST_CALLER);
    recorder->functions->release(recorder);
    return result;
}

void tau_rust_record_dealloc(void *object, size_t size, size_t alignment) {
    const struct rust_recorder *const recorder = rust_recorder;
    const struct rust_call call = {RUST_DEALLOC, object, size, alignment, 0};
    (void)rust_record_enter(recorder);
    tau_record_free(&rust_record, (uintptr_t)object, RUST_CALLER);
    (void)recorder->functions->serve(recorder, &call);
    recorder->functions->release(recorder);
}

void tau_rust_record_mark(const struct rust_recorder *recorder, bool is_end) {
    if (rust_record_enter(recorder)) {
        (is_end ? tau_record_end : tau_record_flush)(&rust_record);
    }
    recorder->functions->release(recorder);
}
