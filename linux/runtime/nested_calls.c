#include "linux/runtime/nested_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "linux/interpose/boot.h"
#include "linux/runtime/lock.h"
#include "linux/runtime/start.h"

// Freed by handlers, not yet by us: each holds the next one.
static void *waiting;

static void free_waiting(void) {
    void *next = __atomic_exchange_n(&waiting, NULL, __ATOMIC_ACQUIRE);
    while (next != NULL) {  // bound: frees of handlers
        void *const pointer = next;
        memcpy(&next, pointer, sizeof next);
        free(pointer);
    }
}

bool tau_nested_calls_admit(void) {
    if (tau_lock_is_mine() || !tau_start()) {
        return false;
    }
    if (__libc_single_threaded == 0) {
        __atomic_fetch_or(&tau_lock_gate.closed, TAU_LOCK_SHARED, __ATOMIC_RELAXED);
    }
    if ((tau_lock_closed() & TAU_LOCK_BUSY) != 0) {
        __atomic_fetch_and(&tau_lock_gate.closed, ~TAU_LOCK_BUSY, __ATOMIC_RELAXED);
        free_waiting();
    }
    if ((tau_lock_closed() & TAU_LOCK_SHARED) == 0) {
        tau_lock_gate.inside = 1;
    }
    return true;
}

void *tau_nested_calls_allocate(size_t alignment, size_t size_bytes) {
    void *const pointer = tau_boot_allocate(size_bytes, alignment);
    if (pointer == NULL) {
        errno = ENOMEM;
    }
    return pointer;
}

void tau_nested_calls_free(void *pointer) {
    if (tau_boot_owns(pointer)) {
        return;
    }
    void *next = __atomic_load_n(&waiting, __ATOMIC_RELAXED);
    do {
        memcpy(pointer, &next, sizeof next);
    } while (!__atomic_compare_exchange_n(&waiting, &next, pointer, false, __ATOMIC_RELEASE,
                                          __ATOMIC_RELAXED));
    __atomic_fetch_or(&tau_lock_gate.closed, TAU_LOCK_BUSY, __ATOMIC_RELAXED);
}
