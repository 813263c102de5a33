// Memory for the moment before the real allocator is known: the dynamic linker allocates while it
// looks for it.
#ifndef TAU_LINUX_INTERPOSE_BOOT_H
#define TAU_LINUX_INTERPOSE_BOOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAU_BOOT_BYTES 65536u

extern uint8_t tau_boot_arena[TAU_BOOT_BYTES];

// Zeroed memory at a multiple of ALIGNMENT (a power of two up to 4096), or NULL when the arena is
// used up. Never freed.
void *tau_boot_allocate(size_t size_bytes, size_t alignment);
// The requested size of the object at POINTER, which the arena owns.
size_t tau_boot_size(const void *pointer);

static inline bool tau_boot_owns(const void *pointer) {
    return (uintptr_t)pointer - (uintptr_t)tau_boot_arena < TAU_BOOT_BYTES;
}

#endif
