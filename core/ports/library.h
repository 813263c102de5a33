// The functions of an allocator that `tau replay --on library:FILE` runs.
//
// FILE is an object (.o), an archive (.a) or a shared library with them: for x86-64, RV32 or
// Cortex-M. Three are required. The others are used if FILE has them; otherwise malloc serves, and
// realloc is a malloc, a copy and a free.
//
// - HEAP is what init returned. An allocator with variables of its own may ignore it.
// - All objects lie in the arena.
// - The address of an object is a multiple of 8, on every target.
// - On a target there is no C library except memmove, memcpy and memset.
//
// Each run starts with the library's variables as the linker initialized them.
#ifndef TAU_LIBRARY_H
#define TAU_LIBRARY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// Makes a heap of the SIZE_BYTES at MEMORY, both any multiple of 8; a rest may stay unused.
// NULL: they are too few. Not counted.
void *tau_library_init(void *memory, size_t size_bytes);
// NULL: the heap has no room. SIZE_BYTES is never 0.
void *tau_library_malloc(void *heap, size_t size_bytes);
// 0; or another number for a POINTER that is not an object, which ends the replay.
int tau_library_free(void *heap, void *pointer);

// Optional, as in the C library. POINTER is an object and SIZE_BYTES is not 0. ALIGNMENT is a power
// of two; a resized object may lose it.
void *tau_library_realloc(void *heap, void *pointer, size_t size_bytes);
void *tau_library_aligned_alloc(void *heap, size_t alignment, size_t size_bytes);
void *tau_library_calloc(void *heap, size_t count, size_t size_bytes);

#ifdef __cplusplus
}
#endif

#endif
