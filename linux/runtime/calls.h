// The allocator's calls, for the exported names of C and C++. SITE is where the program called.
#ifndef TAU_LINUX_RUNTIME_CALLS_H
#define TAU_LINUX_RUNTIME_CALLS_H

#include <stddef.h>
#include <stdint.h>

#include "linux/runtime/heap.h"
#include "linux/runtime/lock.h"
#include "linux/runtime/nested_calls.h"
#include "linux/runtime/unlocked.h"

#define TAU_EXPORT __attribute__((visibility("default")))
#define TAU_CALLS_SITE ((uintptr_t)__builtin_return_address(0))

// Whether a call may go to the heaps, with one thread or several. If so, tau_lock_leave ends it.
static inline bool tau_calls_enter(void) {
    return TAU_LIKELY(tau_lock_enter_alone() || tau_lock_enter_shared()) ||
           tau_nested_calls_admit();
}

// All calls but the plain call of a lone thread.
void *tau_calls_allocate_shared(size_t size_bytes, uintptr_t site);

static inline __attribute__((always_inline)) void *tau_calls_allocate(size_t size_bytes,
                                                                      uintptr_t site) {
    if (TAU_UNLIKELY(!tau_lock_enter_alone())) {
        return tau_calls_allocate_shared(size_bytes, site);
    }
    size_bytes += size_bytes == 0;  // an object of its own, as the C library gives
    void *pointer = tau_heap.budget != NULL
                        ? tau_unlocked_budget_malloc(tau_heap.budget, size_bytes)
                    : tau_heap.pools != NULL ? tau_unlocked_pools_malloc(tau_heap.pools, size_bytes)
                                             : tau_unlocked_tlsf_malloc(tau_heap.spill, size_bytes);
    if (TAU_UNLIKELY(pointer == NULL)) {
        pointer = tau_heap_spill(16, size_bytes, site);
    }
    tau_lock_leave_alone();
    return pointer;
}

// ALIGNMENT is a power of two.
void *tau_calls_allocate_aligned(size_t alignment, size_t size_bytes, uintptr_t site);

#endif
