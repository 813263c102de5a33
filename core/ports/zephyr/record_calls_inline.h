// A part of record_wrap.c: the heap of Zephyr's k_malloc, or the k_heap that
// CONFIG_TAUTOCHRONE_K_HEAP names. The heap must be defined by K_HEAP_DEFINE.
//
// k_malloc and its family, and z_thread_aligned_alloc, are recorded with the requested size, the
// caller and the thread; 0 is the thread of interrupts and of what runs before threads. What else
// uses the heap is told by a heap listener, with the chunk's size and without a caller.
// The listener's identifier is the address of the struct sys_heap. It tells of a realloc in place
// as an allocation and then a free of one address, which tau import joins to one realloc.
#ifndef TAU_ZEPHYR_RECORD_CALLS_INLINE_H
#define TAU_ZEPHYR_RECORD_CALLS_INLINE_H

#ifndef TAU_ZEPHYR_HEAP
#define TAU_ZEPHYR_HEAP _system_heap
#endif
#define RECORD_HEAP_ID HEAP_ID_FROM_POINTER(&TAU_ZEPHYR_HEAP.heap)

extern struct k_heap TAU_ZEPHYR_HEAP;

static bool record_is_ours(const void *object) {
    return object != NULL && (uintptr_t)object - (uintptr_t)TAU_ZEPHYR_HEAP.heap.init_mem <
                                 TAU_ZEPHYR_HEAP.heap.init_bytes;
}

// ---- The listener ----

static void record_hear_alloc(uintptr_t heap_id, void *object, size_t size) {
    (void)heap_id;
    (void)record_made(record_enter(), RECORD_PLAIN, object, size, 0, 0);
}

static void record_hear_free(uintptr_t heap_id, void *object, size_t size) {
    (void)heap_id;
    (void)size;
    record_note_free(record_enter(), object, 0);
    record_leave();
}

static HEAP_LISTENER_ALLOC_DEFINE(record_allocs, RECORD_HEAP_ID, record_hear_alloc);
static HEAP_LISTENER_FREE_DEFINE(record_frees, RECORD_HEAP_ID, record_hear_free);

static int record_listen(void) {
    heap_listener_register(&record_allocs);
    heap_listener_register(&record_frees);
    return 0;
}
SYS_INIT(record_listen, PRE_KERNEL_1, 0);

// ---- The kernel's functions ----

void *__real_k_malloc(size_t size);
void *__real_k_calloc(size_t count, size_t size);
void *__real_k_aligned_alloc(size_t alignment, size_t size);
void *__real_k_realloc(void *old, size_t size);
void __real_k_free(void *object);
void *__real_z_thread_aligned_alloc(size_t alignment, size_t size);

void *__wrap_k_malloc(size_t size) {
    const bool is_outer = record_enter();
    return record_made(is_outer, RECORD_PLAIN, __real_k_malloc(size), size, 0, RECORD_CALLER);
}

void *__wrap_k_calloc(size_t count, size_t size) {
    const bool is_outer = record_enter();
    return record_made(is_outer, RECORD_ZEROED, __real_k_calloc(count, size), count * size, 0,
                       RECORD_CALLER);
}

void *__wrap_k_aligned_alloc(size_t alignment, size_t size) {
    const bool is_outer = record_enter();
    void *object = __real_k_aligned_alloc(alignment, size);
    return record_made(is_outer, RECORD_ALIGNED, object, size, alignment, RECORD_CALLER);
}

void *__wrap_k_realloc(void *old, size_t size) {
    const bool is_outer = record_enter();
    if (old == NULL) {
        return record_made(is_outer, RECORD_PLAIN, __real_k_realloc(old, size), size, 0,
                           RECORD_CALLER);
    }
    const bool is_recorded = is_outer && record_is_ours(old);
    if (is_recorded) {
        record_note_task();
        tau_record_realloc_begin(&record_state, (uintptr_t)old, RECORD_CALLER);
    }
    void *const object = __real_k_realloc(old, size);
    if (is_recorded) {
        tau_record_realloc_end(&record_state, (uintptr_t)object, size, RECORD_CALLER);
    }
    record_leave();
    return object;
}

// k_free takes objects of any heap.
void __wrap_k_free(void *object) {
    const bool is_outer = record_enter();
    record_note_free(is_outer && record_is_ours(object), object, RECORD_CALLER);
    __real_k_free(object);
    record_leave();
}

void *__wrap_z_thread_aligned_alloc(size_t alignment, size_t size) {
    const bool is_outer = record_enter();
    void *const object = __real_z_thread_aligned_alloc(alignment, size);
    return record_made(is_outer && record_is_ours(object),
                       alignment > sizeof(void *) ? RECORD_ALIGNED : RECORD_PLAIN, object, size,
                       alignment, RECORD_CALLER);
}

#endif
