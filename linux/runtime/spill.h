// The memory of the spill heap: where it lies, how it grows, and what it gives back.
#ifndef TAU_LINUX_RUNTIME_SPILL_H
#define TAU_LINUX_RUNTIME_SPILL_H

#include <stdbool.h>
#include <stddef.h>

// Objects at least this large lose their pages when they are freed, as in the C library.
#define TAU_SPILL_LARGE_BYTES ((size_t)32 << 20)

// Maps BYTES so that the address FRONT_BYTES behind their start is a multiple of ALIGNMENT, and, if
// the system allows it, with free addresses behind them. POPULATE: every page is there at once.
// MAP_FAILED if and only if there is no such place.
void *tau_spill_place(size_t front_bytes, size_t bytes, size_t alignment, bool populate);
// What the heap begins with, at most MAX_BYTES.
size_t tau_spill_first_bytes(size_t max_bytes);
// Adds memory in which an object fits. Fails if and only if the heap would exceed its size, the
// system gives no memory, or something else lies behind the heap.
bool tau_spill_grow(size_t alignment, size_t size_bytes);
// Gives the pages back that lie in free blocks; returns whether there were any.
bool tau_spill_trim(void);
// Gives the pages of a live object back, just before it is freed.
void tau_spill_give_back(void *pointer, size_t size_bytes);

#endif
