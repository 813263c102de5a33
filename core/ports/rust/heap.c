// The heap of a plan for core/ports/rust/lib.rs, which declares these functions and their use.
// build.rs defines TAU_PLAN as the plan's header, or TAU_HEAP_BYTES for a TLSF without a plan.
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/pools.h"
#include "core/port.h"
#include "core/ports/heap_count.h"
#include "core/ports/rust/port.h"

#ifdef TAU_PLAN
#include TAU_PLAN
#ifndef TAU_PLAN_HEAP_BYTES
#error "TAU_PLAN has no heap: write it with `tau plan`, from a recording"
#endif
#else
#define TAU_PLAN_HEAP_BYTES TAU_HEAP_BYTES
#define TAU_PLAN_ALIGNMENT TAU_ALIGNMENT
typedef struct tau_tlsf tau_plan_heap;
#define tau_plan_init(memory) tau_tlsf_init((memory), TAU_HEAP_BYTES, 0)
#define tau_plan_malloc tau_tlsf_malloc
#define tau_plan_calloc tau_tlsf_calloc
#define tau_plan_aligned_alloc tau_tlsf_aligned_alloc
#define tau_plan_realloc tau_tlsf_realloc
#define tau_plan_free tau_tlsf_free
#endif

#define RUST_HEAP_IS_POOLS                                                                         \
    _Generic((tau_plan_heap *)NULL, struct tau_pools *: 1, default: 0)

struct rust_heap_statistics {
    size_t heap_bytes;
    size_t used_bytes;
    size_t free_bytes;
    size_t untouched_bytes;
    size_t misuse_count;
};

const struct tau_rust_lock *tau_rust_heap_lock;
static _Alignas(TAU_PLAN_ALIGNMENT) unsigned char rust_heap_memory[TAU_PLAN_HEAP_BYTES];
static tau_plan_heap *_Atomic rust_heap;
static size_t rust_heap_misused;

// The first call makes the heap, with its caller's lock. NULL for a caller with another lock.
static tau_plan_heap *rust_heap_of(const struct tau_rust_lock *lock) {
    tau_plan_heap *heap = atomic_load_explicit(&rust_heap, memory_order_acquire);
    if (heap == NULL) {
        lock->acquire(lock);
        heap = atomic_load_explicit(&rust_heap, memory_order_relaxed);
        if (heap == NULL) {
            tau_rust_heap_lock = lock;
            heap = tau_plan_init(rust_heap_memory);
            atomic_store_explicit(&rust_heap, heap, memory_order_release);
        }
        lock->release(lock);
    }
    return tau_rust_heap_lock == lock ? heap : NULL;
}

void *tau_rust_heap_malloc(const struct tau_rust_lock *lock, size_t alignment, size_t size) {
    tau_plan_heap *const heap = rust_heap_of(lock);
    if (heap == NULL) {
        return NULL;
    }
    return alignment <= TAU_ALIGNMENT ? tau_plan_malloc(heap, size)
                                      : tau_plan_aligned_alloc(heap, alignment, size);
}

void *tau_rust_heap_calloc(const struct tau_rust_lock *lock, size_t alignment, size_t size) {
    tau_plan_heap *const heap = rust_heap_of(lock);
    if (alignment <= TAU_ALIGNMENT) {
        return heap == NULL ? NULL : tau_plan_calloc(heap, 1, size);
    }
    void *const object = tau_rust_heap_malloc(lock, alignment, size);
    if (object != NULL) {
        TAU_PORT_FILL(object, 0, size);
    }
    return object;
}

void tau_rust_heap_free(const struct tau_rust_lock *lock, void *object) {
    tau_plan_heap *const heap = rust_heap_of(lock);
    if (heap == NULL || tau_plan_free(heap, object) != TAU_OK) {
        lock->acquire(lock);
        rust_heap_misused++;
        lock->release(lock);
    }
}

void *tau_rust_heap_realloc(const struct tau_rust_lock *lock, void *object, size_t old_size,
                            size_t alignment, size_t size) {
    tau_plan_heap *const heap = rust_heap_of(lock);
    if (heap == NULL) {
        return NULL;
    }
    if (!RUST_HEAP_IS_POOLS || alignment <= TAU_ALIGNMENT) {
        return tau_plan_realloc(heap, object, size);
    }
    // Pools do not keep an alignment (core/pools.h).
    void *const moved = tau_plan_aligned_alloc(heap, alignment, size);
    if (moved != NULL) {
        TAU_PORT_MOVE(moved, object, old_size < size ? old_size : size);
        tau_rust_heap_free(lock, object);
    }
    return moved;
}

struct rust_heap_statistics tau_rust_heap_statistics(const struct tau_rust_lock *lock) {
    tau_plan_heap *const heap = rust_heap_of(lock);
    const struct tau_heap_count count =
        heap == NULL ? (struct tau_heap_count){0, 0, 0} : TAU_HEAP_COUNT(heap);
    return (struct rust_heap_statistics){TAU_PLAN_HEAP_BYTES, count.used_bytes, count.free_bytes,
                                         count.untouched_bytes, rust_heap_misused};
}
