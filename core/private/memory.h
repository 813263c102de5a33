// Memory that a caller provides for tables: whether it can be what the caller says.
#ifndef TAU_MEMORY_H
#define TAU_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Whether MEMORY can be SIZE_BYTES of words of 32 bits: it is not NULL, it is a multiple of 4, and
// its end does not wrap around.
static inline bool memory_holds(const void *memory, size_t size_bytes) {
    return memory != NULL && (uintptr_t)memory % sizeof(uint32_t) == 0 &&
           size_bytes <= UINTPTR_MAX - (uintptr_t)memory;
}

#endif
