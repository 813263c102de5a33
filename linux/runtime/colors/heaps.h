// A heap for each task, in the pages that the plan gives it.
#ifndef TAU_LINUX_RUNTIME_COLORS_HEAPS_H
#define TAU_LINUX_RUNTIME_COLORS_HEAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "linux/runtime/colors/partition.h"

// Searches the pages of each heap; nothing is mapped yet. Returns NULL, or the cause.
const char *tau_colors_find_heaps(void);
// Makes the heaps in their mapped pages. Returns NULL, or the cause.
const char *tau_colors_start_heaps(void);

// For the calls of calls.c, in a call that has entered. ALIGNMENT is a power of two, at least 16.
// What TASK's heap refuses comes from the spill heap. NULL with errno ENOMEM.
void *tau_colors_allocate(struct tau_colors_task *task, size_t alignment, size_t size_bytes,
                          uintptr_t site);
// False if POINTER is in no task's window. Misuse ends the program.
bool tau_colors_free(void *pointer);
// POINTER is in a task's window. NULL with errno ENOMEM.
void *tau_colors_resize(void *pointer, size_t size_bytes, uintptr_t site);
// Bytes of the object at POINTER, 0 if it is none of a task's.
size_t tau_colors_usable(const void *pointer);

static inline bool tau_colors_owns(const void *pointer) {
    return tau_colors_task_at((uintptr_t)pointer) != NULL;
}

#endif
