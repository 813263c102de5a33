// A stand-in for Zephyr's sys/sys_heap.h.
#ifndef SYS_HEAP_H
#define SYS_HEAP_H

#include <stddef.h>

struct sys_heap {
    struct z_heap *heap;
    void *init_mem;
    size_t init_bytes;
};

struct sys_memory_stats {
    size_t free_bytes, allocated_bytes, max_allocated_bytes;
};

void sys_heap_init(struct sys_heap *heap, void *memory, size_t bytes);
void *sys_heap_alloc(struct sys_heap *heap, size_t bytes);
void *sys_heap_aligned_alloc(struct sys_heap *heap, size_t alignment, size_t bytes);
void *sys_heap_realloc(struct sys_heap *heap, void *object, size_t bytes);
void *sys_heap_aligned_realloc(struct sys_heap *heap, void *object, size_t alignment, size_t bytes);
void sys_heap_free(struct sys_heap *heap, void *object);
size_t sys_heap_usable_size(struct sys_heap *heap, void *object);
int sys_heap_runtime_stats_get(struct sys_heap *heap, struct sys_memory_stats *stats);
int sys_heap_runtime_stats_reset_max(struct sys_heap *heap);

#endif
