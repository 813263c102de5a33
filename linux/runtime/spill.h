// The memory of the spill heap: where it lies, how it grows, and which pages it gives back.
#ifndef TAU_LINUX_RUNTIME_SPILL_H
#define TAU_LINUX_RUNTIME_SPILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "linux/runtime/heap.h"
#include "linux/runtime/lock.h"
#include "linux/runtime/unlocked.h"

// Objects at least this large lose their pages when they are freed, as in the C library.
#define TAU_SPILL_LARGE_BYTES ((size_t)32 << 20)

// When pages are returned. Threads may overwrite each other's numbers: that is a little earlier or
// later then.
struct tau_spill_returns {
    size_t high_bytes;  // most in use since the last time
    size_t drop_bytes;  // so many fewer in use, and it is time again
};

extern struct tau_spill_returns tau_spill_returns;

// Maps BYTES so that the address FRONT_BYTES after their start is a multiple of ALIGNMENT, and, if
// the system allows it, with free addresses after them. POPULATE: every page is there at once.
// MAP_FAILED if and only if no such place exists.
void *tau_spill_place(size_t front_bytes, size_t bytes, size_t alignment, bool populate);
// The heap's first bytes, at most MAX_BYTES.
size_t tau_spill_first_bytes(size_t max_bytes);
// Adds memory after the heap, so that an object fits if the heap may become as large. Fails if and
// only if the heap has its full size, the system gives no memory, or something else lies after the
// heap.
bool tau_spill_grow(size_t alignment, size_t size_bytes);
// Unmaps the end of the heap if it is free; returns whether it was. Locked memory stays.
bool tau_spill_shorten(void);
// Does that, and gives the pages back that lie in free blocks; returns whether there were any.
bool tau_spill_trim(void);
// Returns the pages of the wilderness and of the largest free runs of the heap. The lock is held
// for a constant time at once: a run is taken out of the heap meanwhile, and the wilderness up to
// where it was ever touched. Others may take what follows.
void tau_spill_return(void);
// After a child was forked: puts the runs back that another thread took out.
void tau_spill_in_child(void);
// Changes when pages begin to be returned, and at the end.
uint32_t tau_spill_changes(void);
// Waits until no other thread returns pages, or IS_SHORT: for 0.1 s at most. Whether one began or
// ended since tau_spill_changes gave BEFORE.
bool tau_spill_wait(uint32_t before, bool is_short);
// Gives the pages of a live object back, just before it is freed, or of the end that it loses.
void tau_spill_give_back(void *pointer, size_t size_bytes);
// Clears memory of a live object. Of a large one whole pages are given back instead, so that it has
// none until it is written, unless memory is locked.
void tau_spill_clear(unsigned char *start, size_t size_bytes);

// After frees, without the lock.
static inline void tau_spill_return_if_due(void) {
    struct tau_spill_returns *const returns = &tau_spill_returns;
    const size_t used_bytes = tau_unlocked_tlsf_used_bytes(tau_heap.spill);
    const size_t high_bytes = __atomic_load_n(&returns->high_bytes, __ATOMIC_RELAXED);
    if (used_bytes >= high_bytes) {
        __atomic_store_n(&returns->high_bytes, used_bytes, __ATOMIC_RELAXED);
    } else if (TAU_UNLIKELY(high_bytes - used_bytes >=
                            __atomic_load_n(&returns->drop_bytes, __ATOMIC_RELAXED))) {
        tau_spill_return();
    }
}

#endif
