// The memory of the spill heap: where it lies, how it grows, and which pages it gives back.
#ifndef TAU_LINUX_RUNTIME_SPILL_H
#define TAU_LINUX_RUNTIME_SPILL_H

#include <stdbool.h>
#include <stddef.h>

// Objects at least this large lose their pages when they are freed, as in the C library.
#define TAU_SPILL_LARGE_BYTES ((size_t)32 << 20)

// Maps BYTES so that the address FRONT_BYTES after their start is a multiple of ALIGNMENT, and, if
// the system allows it, with free addresses after them. POPULATE: every page is there at once.
// MAP_FAILED if and only if no such place exists.
void *tau_spill_place(size_t front_bytes, size_t bytes, size_t alignment, bool populate);
// The heap's first bytes, at most MAX_BYTES.
size_t tau_spill_first_bytes(size_t max_bytes);
// Adds memory after the heap, so that an object fits if the heap may become as large. Fails if and
// only if the heap has its full size, the system gives no memory, something else lies after the
// heap, or the heap's last block was overwritten.
bool tau_spill_grow(size_t alignment, size_t size_bytes);
// Unmaps the end of the heap if it is free; returns whether it was. Locked memory stays.
bool tau_spill_shorten(void);
// Does that, and gives the pages back that lie in free blocks; returns whether there were any.
bool tau_spill_trim(void);
// Gives the pages of a live object back, just before it is freed.
void tau_spill_give_back(void *pointer, size_t size_bytes);
// Gives the pages back that an object of OLD_BYTES at OLD no longer has after a resize, which KEPT
// KEPT_BYTES at KEPT. The lock has been held since, so that they are free.
void tau_spill_give_rest_back(void *old, size_t old_bytes, const void *kept, size_t kept_bytes);
// Clears memory of a live object. Of a large one whole pages are given back instead, so that it has
// none until it is written, unless memory is locked.
void tau_spill_clear(unsigned char *start, size_t size_bytes);

#endif
