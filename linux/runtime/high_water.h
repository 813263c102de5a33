// What the library notes about each object, under the lock: how many calls there were, and up to
// where memory was ever handed out. What lies above that is still zero, so calloc need not clear
// it.
#ifndef TAU_LINUX_RUNTIME_HIGH_WATER_H
#define TAU_LINUX_RUNTIME_HIGH_WATER_H

#include <stddef.h>
#include <stdint.h>

// A block's rounding, and the header after it: nothing is written to the wilderness.
#define TAU_HIGH_WATER_BEHIND_BYTES 32u
// Objects at least this large are worth a mark: of each class of buckets, and of each heap. Smaller
// ones are always cleared.
#define TAU_HIGH_WATER_LARGE_BYTES 4096u

struct tau_high_water {
    uint64_t calls_count;    // objects made, resized or freed
    uintptr_t spill_start;   // above the planned heap
    uintptr_t shared_fresh;  // first byte that was never handed out, of the shared region
    uintptr_t spill_fresh;   // … of the spill heap
};

extern struct tau_high_water tau_high_water;
// The latest object of this thread, and the first byte of its heap or class that had never been
// handed out before. A small bucket leaves both as they are. Who reads them after the call has left
// looks at the object last: a handler may have made another one.
struct tau_high_water_latest {
    uintptr_t before;
    uintptr_t object;
};

extern __thread struct tau_high_water_latest tau_high_water_latest;

// A bucket of at least TAU_HIGH_WATER_LARGE_BYTES was handed out.
void tau_high_water_large_bucket(const void *pointer, size_t size_bytes);

// An object of a pool was made, or POINTER is NULL and one was freed.
static inline __attribute__((always_inline)) void tau_high_water_bucket(const void *pointer,
                                                                        size_t size_bytes) {
    tau_high_water.calls_count++;
    if (__builtin_expect(size_bytes >= TAU_HIGH_WATER_LARGE_BYTES, 0) && pointer != NULL) {
        tau_high_water_large_bucket(pointer, size_bytes);
    }
}

// The same of a TLSF.
static inline __attribute__((always_inline)) void tau_high_water_block(const void *pointer,
                                                                       size_t size_bytes) {
    tau_high_water.calls_count++;
    if (pointer != NULL) {
        const uintptr_t end = (uintptr_t)pointer + size_bytes + TAU_HIGH_WATER_BEHIND_BYTES;
        uintptr_t *const mark = (uintptr_t)pointer < tau_high_water.spill_start
                                    ? &tau_high_water.shared_fresh
                                    : &tau_high_water.spill_fresh;
        tau_high_water_latest.before = *mark;
        tau_high_water_latest.object = (uintptr_t)pointer;
        if (__builtin_expect(end > *mark, 0)) {
            *mark = end;
        }
    }
}

#endif
