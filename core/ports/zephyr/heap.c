// Zephyr's k_malloc, or one k_heap, in the memory of a plan. zephyr/CMakeLists.txt adds this file
// and the core's, and tells the linker to call __wrap_… here in place of Zephyr's functions.
// CONFIG_TAUTOCHRONE_HEAP=y turns it on; docs/ports/zephyr.md leads from a recording to it.
//
// The planned heap is Zephyr's system heap, or the k_heap that CONFIG_TAUTOCHRONE_K_HEAP names.
// - Its struct sys_heap is served here: init, alloc, aligned_alloc, realloc, free, usable_size and
//   the statistics, and events for heap listeners. Zephyr's k_heap functions call these, so the
//   lock is the k_heap's one spinlock, waiting with a timeout works, and interrupts may allocate.
// - Its memory is TAU_PLAN_HEAP_BYTES here. The memory that Zephyr gives it is not used.
// - k_malloc and its family, and z_thread_aligned_alloc, do not put a pointer in front of objects,
//   as Zephyr's own do. k_free takes what comes from other heaps to Zephyr's own.
// - A free of what is not an object is refused, and fails __ASSERT.
// Other heaps stay as they are.
//
// Under the lock, the core's functions take at most what the plan's
// header states; memory is cleared, and copied by an aligned realloc, in proportion to the size.
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <zephyr/kernel.h>
#include <zephyr/sys/heap_listener.h>
#include <zephyr/sys/sys_heap.h>

#include "heap_plan.h"

#include "core/ports/heap_count.h"

#ifdef TAU_ZEPHYR_HEAP
#define HEAP_IS_SYSTEMS false
#else
#define HEAP_IS_SYSTEMS true
#define TAU_ZEPHYR_HEAP _system_heap
#endif

extern struct k_heap TAU_ZEPHYR_HEAP;

// Of objects, as Zephyr counts them: with what they were rounded up by.
struct heap_count {
    size_t bytes;
    size_t most_bytes;
};

static _Alignas(TAU_PLAN_ALIGNMENT) unsigned char heap_memory[TAU_PLAN_HEAP_BYTES];
static tau_plan_heap *heap_plan;  // NULL before sys_heap_init
static struct heap_count heap_count;

static bool heap_is_planned(const struct sys_heap *heap) {
    return heap == &TAU_ZEPHYR_HEAP.heap;
}

static bool heap_has(const void *object) {
    return (uintptr_t)object - (uintptr_t)heap_memory < sizeof heap_memory;
}

// ---- Under the lock of the k_heap ----

static void heap_note_alloc(void *object) {
    const size_t size = tau_plan_usable_size(heap_plan, object);
    heap_count.bytes += size;
    heap_count.most_bytes = MAX(heap_count.most_bytes, heap_count.bytes);
    heap_listener_notify_alloc(HEAP_ID_FROM_POINTER(&TAU_ZEPHYR_HEAP.heap), object, size);
}

static void heap_note_free(void *object, size_t size) {
    heap_count.bytes -= size;
    heap_listener_notify_free(HEAP_ID_FROM_POINTER(&TAU_ZEPHYR_HEAP.heap), object, size);
}

// NULL if ALIGNMENT is not a power of two.
static void *heap_take(size_t alignment, size_t size) {
    void *object = NULL;
    if (heap_plan != NULL && size != 0) {
        object = alignment <= TAU_ALIGNMENT ? tau_plan_malloc(heap_plan, size)
                                            : tau_plan_aligned_alloc(heap_plan, alignment, size);
    }
    if (object != NULL) {
        heap_note_alloc(object);
    }
    return object;
}

static void heap_give(void *object) {
    const size_t size = tau_plan_usable_size(heap_plan, object);
    const enum tau_status status = tau_plan_free(heap_plan, object);
    if (status == TAU_OK) {
        heap_note_free(object, size);
    }
    __ASSERT(status == TAU_OK, "not an object of this heap: %p", object);
}

static void *heap_resize(void *object, size_t alignment, size_t size) {
    if (object == NULL || size == 0) {
        if (object != NULL) {
            heap_give(object);
        }
        return heap_take(alignment, size);
    }
    const size_t before = tau_plan_usable_size(heap_plan, object);
    __ASSERT(before != 0, "not an object of this heap: %p", object);
    if (before == 0) {
        return NULL;
    }
    if (alignment > TAU_ALIGNMENT) {
        void *const moved = heap_take(alignment, size);
        if (moved != NULL) {
            memcpy(moved, object, MIN(before, size));
            heap_give(object);
        }
        return moved;
    }
    void *const made = tau_plan_realloc(heap_plan, object, size);
    if (made != NULL) {
        heap_note_alloc(made);
        heap_note_free(object, before);
    }
    return made;
}

// ---- sys_heap ----

void __real_sys_heap_init(struct sys_heap *heap, void *memory, size_t size);
void *__real_sys_heap_alloc(struct sys_heap *heap, size_t size);
void *__real_sys_heap_aligned_alloc(struct sys_heap *heap, size_t alignment, size_t size);
void *__real_sys_heap_realloc(struct sys_heap *heap, void *object, size_t size);
void *__real_sys_heap_aligned_realloc(struct sys_heap *heap, void *object, size_t alignment,
                                      size_t size);
void __real_sys_heap_free(struct sys_heap *heap, void *object);
size_t __real_sys_heap_usable_size(struct sys_heap *heap, void *object);
int __real_sys_heap_runtime_stats_get(struct sys_heap *heap, struct sys_memory_stats *stats);
int __real_sys_heap_runtime_stats_reset_max(struct sys_heap *heap);

void __wrap_sys_heap_init(struct sys_heap *heap, void *memory, size_t size) {
    if (!heap_is_planned(heap)) {
        __real_sys_heap_init(heap, memory, size);
        return;
    }
    heap_plan = tau_plan_init(heap_memory);
    heap_count = (struct heap_count){0};
#if defined(CONFIG_SYS_HEAP_ARRAY_SIZE) && CONFIG_SYS_HEAP_ARRAY_SIZE
    (void)sys_heap_array_save(heap);
#endif
}

void *__wrap_sys_heap_alloc(struct sys_heap *heap, size_t size) {
    return heap_is_planned(heap) ? heap_take(0, size) : __real_sys_heap_alloc(heap, size);
}

void *__wrap_sys_heap_aligned_alloc(struct sys_heap *heap, size_t alignment, size_t size) {
    return heap_is_planned(heap) ? heap_take(alignment, size)
                                 : __real_sys_heap_aligned_alloc(heap, alignment, size);
}

void *__wrap_sys_heap_realloc(struct sys_heap *heap, void *object, size_t size) {
    return heap_is_planned(heap) ? heap_resize(object, 0, size)
                                 : __real_sys_heap_realloc(heap, object, size);
}

void *__wrap_sys_heap_aligned_realloc(struct sys_heap *heap, void *object, size_t alignment,
                                      size_t size) {
    return heap_is_planned(heap) ? heap_resize(object, alignment, size)
                                 : __real_sys_heap_aligned_realloc(heap, object, alignment, size);
}

void __wrap_sys_heap_free(struct sys_heap *heap, void *object) {
    if (!heap_is_planned(heap)) {
        __real_sys_heap_free(heap, object);
    } else if (object != NULL) {
        heap_give(object);
    }
}

size_t __wrap_sys_heap_usable_size(struct sys_heap *heap, void *object) {
    return heap_is_planned(heap) ? tau_plan_usable_size(heap_plan, object)
                                 : __real_sys_heap_usable_size(heap, object);
}

int __wrap_sys_heap_runtime_stats_get(struct sys_heap *heap, struct sys_memory_stats *stats) {
    if (!heap_is_planned(heap)) {
        return __real_sys_heap_runtime_stats_get(heap, stats);
    }
    if (stats == NULL || heap_plan == NULL) {
        return -EINVAL;
    }
    *stats = (struct sys_memory_stats){.free_bytes = TAU_HEAP_COUNT(heap_plan).free_bytes,
                                       .allocated_bytes = heap_count.bytes,
                                       .max_allocated_bytes = heap_count.most_bytes};
    return 0;
}

int __wrap_sys_heap_runtime_stats_reset_max(struct sys_heap *heap) {
    if (!heap_is_planned(heap)) {
        return __real_sys_heap_runtime_stats_reset_max(heap);
    }
    heap_count.most_bytes = heap_count.bytes;
    return 0;
}

// ---- The kernel's functions. They call k_heap's, which take the lock ----

void __real_k_free(void *object);
void *__real_k_realloc(void *object, size_t size);
void *__real_z_thread_aligned_alloc(size_t alignment, size_t size);

// An object of no bytes is one of a byte, since Zephyr's k_malloc does not return NULL for it.
void *__wrap_k_aligned_alloc(size_t alignment, size_t size) {
    return k_heap_aligned_alloc(&TAU_ZEPHYR_HEAP, alignment, MAX(size, 1), K_NO_WAIT);
}

void *__wrap_k_malloc(size_t size) {
    return __wrap_k_aligned_alloc(sizeof(void *), size);
}

void *__wrap_k_calloc(size_t count, size_t size) {
    size_t bytes = 0;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        return NULL;
    }
    void *const object = __wrap_k_malloc(bytes);
    return object == NULL ? NULL : memset(object, 0, bytes);
}

void __wrap_k_free(void *object) {
    if (heap_has(object)) {
        k_heap_free(&TAU_ZEPHYR_HEAP, object);
    } else {
        __real_k_free(object);
    }
}

void *__wrap_k_realloc(void *object, size_t size) {
    if (size == 0) {
        __wrap_k_free(object);
        return NULL;
    }
    if (object == NULL) {
        return __wrap_k_malloc(size);
    }
    if (!heap_has(object)) {
        return __real_k_realloc(object, size);
    }
    const k_spinlock_key_t key = k_spin_lock(&TAU_ZEPHYR_HEAP.lock);
    void *const made = heap_resize(object, 0, size);
    k_spin_unlock(&TAU_ZEPHYR_HEAP.lock, key);
    return made;
}

// What the kernel allocates for a thread, from the thread's heap: k_free frees it.
void *__wrap_z_thread_aligned_alloc(size_t alignment, size_t size) {
    const bool is_ours = k_is_in_isr() ? HEAP_IS_SYSTEMS
                                       : k_current_get()->resource_pool == &TAU_ZEPHYR_HEAP;
    return is_ours
               ? k_heap_aligned_alloc(&TAU_ZEPHYR_HEAP, alignment, MAX(size, 1), K_NO_WAIT)
               : __real_z_thread_aligned_alloc(alignment, size);
}
