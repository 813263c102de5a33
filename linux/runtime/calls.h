// The allocator's calls, for the exported names of C and C++. SITE is where the program called.
#ifndef TAU_LINUX_RUNTIME_CALLS_H
#define TAU_LINUX_RUNTIME_CALLS_H

#include <stddef.h>
#include <stdint.h>

#include "linux/runtime/heap.h"
#include "linux/runtime/lock.h"
#include "linux/runtime/magazines.h"
#include "linux/runtime/nested_calls.h"
#include "linux/runtime/unlocked.h"

#define TAU_EXPORT __attribute__((visibility("default")))
#define TAU_CALLS_SITE ((uintptr_t)__builtin_return_address(0))

// Whether a call may go to the heaps, with one thread or several. If so, tau_lock_leave ends it.
static inline bool tau_calls_enter_planned(void) {
    return TAU_LIKELY(tau_lock_enter_alone() || tau_lock_enter_shared()) ||
           tau_nested_calls_admit();
}

// The same in a process that may have magazines.
static inline bool tau_calls_enter(void) {
    return !tau_magazines_are_inside() && tau_calls_enter_planned();
}

// On a plan.
void *tau_calls_allocate_planned(size_t size_bytes, uintptr_t site);
// Without a plan, or before it is known, all calls but those that a magazine serves.
void *tau_calls_allocate_unplanned(size_t size_bytes, uintptr_t site);

static inline __attribute__((always_inline)) void *tau_calls_allocate(size_t size_bytes,
                                                                      uintptr_t site) {
    struct tau_magazines *const magazines = tau_magazines_mine;
    const uint8_t state = magazines->state;
    if (TAU_UNLIKELY(state != TAU_MAGAZINES_OPEN)) {
        return state == TAU_MAGAZINES_PLANNED
                   ? tau_calls_allocate_planned(size_bytes, site)
                   : tau_calls_allocate_unplanned(size_bytes, site);
    }
    void *const found = tau_magazines_take(magazines, size_bytes);
    return TAU_LIKELY(found != NULL) ? found : tau_calls_allocate_unplanned(size_bytes, site);
}

// ALIGNMENT is a power of two.
void *tau_calls_allocate_aligned(size_t alignment, size_t size_bytes, uintptr_t site);

#endif
