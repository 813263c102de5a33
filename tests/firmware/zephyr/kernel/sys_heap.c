// A stand-in for Zephyr's sys_heap, with what listeners hear: an allocation after it is made, a
// free before, and a realloc in place as an allocation of the new size and then a free of the old
// one, at one address. One that keeps its chunk is silent. Inside, it is our TLSF.
#include <string.h>

#include <zephyr/kernel.h>

#include "core/tlsf.h"

static struct heap_listener *listeners;

void heap_listener_register(struct heap_listener *listener) {
    listener->next = listeners;
    listeners = listener;
}

static void tell(enum heap_event event, uintptr_t heap_id, void *object, size_t bytes) {
    for (struct heap_listener *one = listeners; one != NULL; one = one->next) {
        if (one->heap_id == heap_id && one->event == event) {
            one->told(heap_id, object, bytes);
        }
    }
}

void heap_listener_notify_alloc(uintptr_t heap_id, void *object, size_t bytes) {
    tell(HEAP_ALLOC, heap_id, object, bytes);
}

void heap_listener_notify_free(uintptr_t heap_id, void *object, size_t bytes) {
    tell(HEAP_FREE, heap_id, object, bytes);
}

void sys_heap_init(struct sys_heap *heap, void *memory, size_t bytes) {
    heap->heap = tau_tlsf_init(memory, bytes, bytes);
}

size_t sys_heap_usable_size(struct sys_heap *heap, void *object) {
    return tau_tlsf_usable_size(heap->heap, object);
}

void *sys_heap_aligned_alloc(struct sys_heap *heap, size_t alignment, size_t bytes) {
    void *const object = tau_tlsf_aligned_alloc(heap->heap, MAX(alignment, 8u), bytes);
    if (object != NULL) {
        heap_listener_notify_alloc((uintptr_t)heap, object, sys_heap_usable_size(heap, object));
    }
    return object;
}

void *sys_heap_alloc(struct sys_heap *heap, size_t bytes) {
    return sys_heap_aligned_alloc(heap, 0, bytes);
}

void sys_heap_free(struct sys_heap *heap, void *object) {
    heap_listener_notify_free((uintptr_t)heap, object, sys_heap_usable_size(heap, object));
    __ASSERT(tau_tlsf_free(heap->heap, object) == TAU_OK, "not an object");
}

void *sys_heap_realloc(struct sys_heap *heap, void *object, size_t bytes) {
    const size_t before = sys_heap_usable_size(heap, object);
    void *const made = tau_tlsf_realloc(heap->heap, object, bytes);
    if (made != NULL && (made != object || sys_heap_usable_size(heap, made) != before)) {
        heap_listener_notify_alloc((uintptr_t)heap, made, sys_heap_usable_size(heap, made));
        heap_listener_notify_free((uintptr_t)heap, object, before);
    }
    return made;
}

// Only the planned heap is asked for more.
void *sys_heap_aligned_realloc(struct sys_heap *heap, void *object, size_t alignment,
                               size_t bytes) {
    __ASSERT(alignment == 0, "not here");
    return sys_heap_realloc(heap, object, bytes);
}

int sys_heap_runtime_stats_get(struct sys_heap *heap, struct sys_memory_stats *stats) {
    ARG_UNUSED(heap), ARG_UNUSED(stats);
    return -1;
}

int sys_heap_runtime_stats_reset_max(struct sys_heap *heap) {
    ARG_UNUSED(heap);
    return -1;
}
