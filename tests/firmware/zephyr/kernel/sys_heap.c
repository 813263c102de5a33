// A stand-in for Zephyr's sys_heap: first fit, chunks of 8 bytes with 8 of header, and what
// listeners hear: an allocation after it is made, a free before, and a realloc in place as an
// allocation of the new size and then a free of the old one, at one address. One that keeps its
// chunk is silent.
#include <string.h>

#include <zephyr/kernel.h>
#include <zephyr/sys/heap_listener.h>

#define HEADER_BYTES 8u

struct chunk {
    uint32_t bytes;  // with this header
    uint32_t is_used;
};

struct z_heap {
    struct chunk *first, *end;
    struct sys_memory_stats stats;
};

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

static struct chunk *after(struct chunk *chunk, size_t bytes) {
    return (struct chunk *)((unsigned char *)chunk + bytes);
}

static struct chunk *chunk_of(void *object) {
    return (struct chunk *)((unsigned char *)object - HEADER_BYTES);
}

static size_t chunk_bytes(size_t bytes) {
    return (bytes + HEADER_BYTES + 7u) / 8u * 8u;
}

void sys_heap_init(struct sys_heap *heap, void *memory, size_t bytes) {
    struct z_heap *made = memory;
    made->first = (struct chunk *)(made + 1);
    made->end = after(memory, bytes / 8u * 8u);
    made->first->bytes = (uint32_t)((unsigned char *)made->end - (unsigned char *)made->first);
    heap->heap = made;
}

static void merge(struct z_heap *heap, struct chunk *chunk) {
    struct chunk *next = after(chunk, chunk->bytes);
    while (next != heap->end && !next->is_used) {
        chunk->bytes += next->bytes;
        next = after(chunk, chunk->bytes);
    }
}

static void split(struct chunk *chunk, size_t bytes) {
    if (chunk->bytes - bytes >= 2u * HEADER_BYTES) {
        *after(chunk, bytes) = (struct chunk){chunk->bytes - (uint32_t)bytes, 0};
        chunk->bytes = (uint32_t)bytes;
    }
}

static void count(struct sys_heap *heap, size_t more, size_t less) {
    struct sys_memory_stats *const stats = &heap->heap->stats;
    stats->allocated_bytes += more - less;
    stats->max_allocated_bytes = MAX(stats->max_allocated_bytes, stats->allocated_bytes);
}

void *sys_heap_aligned_alloc(struct sys_heap *heap, size_t alignment, size_t bytes) {
    struct chunk *chunk = heap->heap->first;
    const uintptr_t unit = MAX(alignment, 8u);
    uintptr_t gap = 0;
    for (; chunk != heap->heap->end; chunk = after(chunk, chunk->bytes)) {
        if (!chunk->is_used) {
            merge(heap->heap, chunk);
            gap = (0u - (uintptr_t)(chunk + 1)) % unit;
            gap += gap == HEADER_BYTES ? unit : 0;  // a chunk of its own
            if (chunk->bytes >= gap + chunk_bytes(bytes)) {
                break;
            }
        }
    }
    if (chunk == heap->heap->end || bytes == 0) {
        return NULL;
    }
    if (gap != 0) {
        split(chunk, gap);
        chunk = after(chunk, gap);
    }
    split(chunk, chunk_bytes(bytes));
    chunk->is_used = 1;
    count(heap, chunk->bytes, 0);
    heap_listener_notify_alloc(HEAP_ID_FROM_POINTER(heap), chunk + 1, chunk->bytes - HEADER_BYTES);
    return chunk + 1;
}

void *sys_heap_alloc(struct sys_heap *heap, size_t bytes) {
    return sys_heap_aligned_alloc(heap, 0, bytes);
}

void sys_heap_free(struct sys_heap *heap, void *object) {
    if (object != NULL) {
        struct chunk *const chunk = chunk_of(object);
        __ASSERT(chunk->is_used == 1, "not an object");
        heap_listener_notify_free(HEAP_ID_FROM_POINTER(heap), object, chunk->bytes - HEADER_BYTES);
        count(heap, 0, chunk->bytes);
        chunk->is_used = 0;
    }
}

static bool is_resized_in_place(struct sys_heap *heap, struct chunk *chunk, size_t bytes) {
    const size_t before = chunk->bytes;
    chunk->is_used = 0;
    merge(heap->heap, chunk);
    const bool is_possible = chunk->bytes >= chunk_bytes(bytes);
    split(chunk, is_possible ? chunk_bytes(bytes) : before);
    chunk->is_used = 1;
    if (chunk->bytes != before) {
        const uintptr_t heap_id = HEAP_ID_FROM_POINTER(heap);
        count(heap, chunk->bytes, before);
        heap_listener_notify_alloc(heap_id, chunk + 1, chunk->bytes - HEADER_BYTES);
        heap_listener_notify_free(heap_id, chunk + 1, before - HEADER_BYTES);
    }
    return is_possible;
}

void *sys_heap_aligned_realloc(struct sys_heap *heap, void *object, size_t alignment,
                               size_t bytes) {
    if (object == NULL || bytes == 0) {
        sys_heap_free(heap, object);
        return sys_heap_aligned_alloc(heap, alignment, bytes);
    }
    if (is_resized_in_place(heap, chunk_of(object), bytes)) {
        return object;
    }
    void *const made = sys_heap_aligned_alloc(heap, alignment, bytes);
    if (made != NULL) {
        memcpy(made, object, MIN(sys_heap_usable_size(heap, object), bytes));
        sys_heap_free(heap, object);
    }
    return made;
}

void *sys_heap_realloc(struct sys_heap *heap, void *object, size_t bytes) {
    return sys_heap_aligned_realloc(heap, object, 0, bytes);
}

size_t sys_heap_usable_size(struct sys_heap *heap, void *object) {
    ARG_UNUSED(heap);
    return chunk_of(object)->bytes - HEADER_BYTES;
}

int sys_heap_runtime_stats_get(struct sys_heap *heap, struct sys_memory_stats *stats) {
    *stats = heap->heap->stats;
    return 0;
}

int sys_heap_runtime_stats_reset_max(struct sys_heap *heap) {
    heap->heap->stats.max_allocated_bytes = heap->heap->stats.allocated_bytes;
    return 0;
}
