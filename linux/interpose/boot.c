// A bump arena. In front of each object its size is kept, for realloc out of the arena.
#include "linux/interpose/boot.h"

#include <stdatomic.h>
#include <string.h>

uint8_t tau_boot_arena[TAU_BOOT_BYTES] __attribute__((aligned(4096)));
static _Atomic size_t used_bytes;

void *tau_boot_allocate(size_t size_bytes, size_t alignment) {
    if (alignment < 16) {
        alignment = 16;
    }
    if (alignment > 4096 || size_bytes > TAU_BOOT_BYTES) {
        return NULL;
    }
    // For any start, this many bytes hold the size, the alignment's gap and the object.
    const size_t taken_bytes = (sizeof(size_t) + alignment + size_bytes + 15u) & ~(size_t)15;
    const size_t start = atomic_fetch_add(&used_bytes, taken_bytes);
    if (start > TAU_BOOT_BYTES || taken_bytes > TAU_BOOT_BYTES - start) {
        return NULL;
    }
    const size_t object = (start + sizeof(size_t) + alignment - 1) & ~(alignment - 1);
    memcpy(tau_boot_arena + object - sizeof(size_t), &size_bytes, sizeof(size_bytes));
    return tau_boot_arena + object;
}

size_t tau_boot_size(const void *pointer) {
    size_t size_bytes;
    memcpy(&size_bytes, (const uint8_t *)pointer - sizeof(size_bytes), sizeof(size_bytes));
    return size_bytes;
}
