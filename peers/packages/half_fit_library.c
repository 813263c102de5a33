// Half-fit with the geometry of o1heap 3, which is in no package: two words before each object, an
// alignment of two words. Sizes are rounded up to powers of two, as o1heap 2 does. Written for the
// comparison, from the paper (Ogasawara 1995). realloc is the default one.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/ports/library.h"

#ifndef O1HEAP_ASSERT
#define O1HEAP_ASSERT(condition) (void)(condition)
#endif

#define OVERHEAD_BYTES (2 * sizeof(size_t))
#define BLOCK_MIN_BYTES (2 * OVERHEAD_BYTES)
#define USED ((size_t)1)
#define BINS (8 * sizeof(size_t))

struct block {
    size_t size_bytes;           // with the header; | USED
    size_t previous_size_bytes;  // of the block before it in memory; 0 for the first
    struct block *next;          // of a free block, in its bin
    struct block *previous;
};

struct heap {
    uintptr_t end;
    size_t capacity_bytes;
    size_t nonempty;  // a bit for each bin
    struct block *bins[BINS];
};

static inline unsigned log2_of(size_t value) {
    return (unsigned)(BINS - 1) -
           (unsigned)(BINS == 32 ? __builtin_clz((unsigned)value) : __builtin_clzll(value));
}

static inline struct block *after(const struct block *block, size_t size_bytes) {
    return (struct block *)((uintptr_t)block + size_bytes);
}

// Bin n has the free blocks of 2^n to 2^(n + 1) - 1 smallest blocks.
static inline void put(struct heap *heap, struct block *block, size_t size_bytes) {
    const unsigned bin = log2_of(size_bytes / BLOCK_MIN_BYTES);
    struct block *const next = heap->bins[bin];
    block->size_bytes = size_bytes;
    block->next = next;
    block->previous = NULL;
    if (next != NULL) {
        next->previous = block;
    }
    heap->bins[bin] = block;
    heap->nonempty |= (size_t)1 << bin;
    if ((uintptr_t)after(block, size_bytes) < heap->end) {
        after(block, size_bytes)->previous_size_bytes = size_bytes;
    }
}

static inline void take(struct heap *heap, struct block *block) {
    const unsigned bin = log2_of(block->size_bytes / BLOCK_MIN_BYTES);
    if (block->next != NULL) {
        block->next->previous = block->previous;
    }
    if (block->previous != NULL) {
        block->previous->next = block->next;
        return;
    }
    heap->bins[bin] = block->next;
    if (block->next == NULL) {
        heap->nonempty &= ~((size_t)1 << bin);
    }
}

void *tau_library_init(void *memory, size_t size_bytes) {
    struct heap *const heap = memory;
    const size_t own_bytes = (sizeof *heap + OVERHEAD_BYTES - 1) & ~(OVERHEAD_BYTES - 1);
    if (size_bytes < own_bytes + BLOCK_MIN_BYTES) {
        return NULL;
    }
    *heap = (struct heap){.capacity_bytes = (size_bytes - own_bytes) & ~(BLOCK_MIN_BYTES - 1)};
    struct block *const first = after(memory, own_bytes);
    heap->end = (uintptr_t)after(first, heap->capacity_bytes);
    first->previous_size_bytes = 0;
    put(heap, first, heap->capacity_bytes);
    return heap;
}

void *tau_library_malloc(void *handle, size_t size_bytes) {
    struct heap *const heap = handle;
    if (size_bytes > heap->capacity_bytes - OVERHEAD_BYTES) {
        return NULL;
    }
    const unsigned bin =
        size_bytes <= BLOCK_MIN_BYTES - OVERHEAD_BYTES
            ? 0
            : log2_of((size_bytes + OVERHEAD_BYTES - 1) / BLOCK_MIN_BYTES) + 1;
    const size_t large = heap->nonempty & ~(((size_t)1 << bin) - 1);
    const size_t wanted_bytes = BLOCK_MIN_BYTES << bin;
    if (large == 0) {
        return NULL;
    }
    struct block *const block = heap->bins[log2_of(large & -large)];
    O1HEAP_ASSERT(block != NULL && (block->size_bytes & USED) == 0);
    O1HEAP_ASSERT(block->size_bytes >= wanted_bytes);
    take(heap, block);
    const size_t rest = block->size_bytes - wanted_bytes;
    if (rest >= BLOCK_MIN_BYTES) {
        struct block *const other = after(block, wanted_bytes);
        other->previous_size_bytes = wanted_bytes;
        put(heap, other, rest);
        block->size_bytes = wanted_bytes;
    }
    block->size_bytes |= USED;
    return (void *)((uintptr_t)block + OVERHEAD_BYTES);
}

int tau_library_free(void *handle, void *pointer) {
    struct heap *const heap = handle;
    struct block *block = (struct block *)((uintptr_t)pointer - OVERHEAD_BYTES);
    O1HEAP_ASSERT((uintptr_t)pointer % OVERHEAD_BYTES == 0);
    O1HEAP_ASSERT((uintptr_t)block > (uintptr_t)heap && (uintptr_t)block < heap->end);
    O1HEAP_ASSERT((block->size_bytes & USED) != 0);
    size_t size_bytes = block->size_bytes & ~USED;
    O1HEAP_ASSERT(size_bytes >= BLOCK_MIN_BYTES && size_bytes % BLOCK_MIN_BYTES == 0);
    O1HEAP_ASSERT(size_bytes <= heap->end - (uintptr_t)block);
    struct block *const next = after(block, size_bytes);
    if ((uintptr_t)next < heap->end && (next->size_bytes & USED) == 0) {
        take(heap, next);
        size_bytes += next->size_bytes;
    }
    struct block *const previous = after(block, 0 - block->previous_size_bytes);
    if (previous != block && (previous->size_bytes & USED) == 0) {
        take(heap, previous);
        size_bytes += previous->size_bytes;
        block = previous;
    }
    put(heap, block, size_bytes);
    return 0;
}
