// A first-fit list that merges, as in many real-time kernels; its best known member is FreeRTOS's
// heap_4.
//
// The free blocks form one list in the order of their addresses. malloc takes the first that is
// large enough and splits it; free puts the block back and joins it with free neighbors. Source:
// the description of heap_4 in FreeRTOS's documentation, in code of our own. A block has two words
// in front of it, and there is no realloc. On Cortex-M4, the smallest heaps of five random traces
// were those of heap_4.c of V11.1.0 without its 32 bytes of variables (docs/ports/library.md).
#ifndef TAU_FIRST_FIT_H
#define TAU_FIRST_FIT_H

#include <stddef.h>

#include "core/status.h"

// Makes a heap of the SIZE_BYTES at MEMORY. NULL: MEMORY is not a multiple of TAU_ALIGNMENT, or too
// small for two headers and a block.
void *tau_first_fit_init(void *memory, size_t size_bytes);

// NULL: no free block is large enough, or SIZE_BYTES is 0. Cost: linear in the free blocks.
void *tau_first_fit_malloc(void *heap, size_t size_bytes);

// Fails, and changes nothing, if POINTER is not an object of this heap. Only its alignment, its
// place and the mark in its header are checked. Cost: linear in the free blocks.
enum tau_status tau_first_fit_free(void *heap, void *pointer);

#endif
