// A stand-in for Zephyr's headers: the types, macros and calls that these programs, the planned
// heap and its recorder use, with the meaning that Zephyr's documentation gives them. One core.
// Threads are those of the stand-in for FreeRTOS's kernel. Other headers include this one.
#ifndef KERNEL_H
#define KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define ARG_UNUSED(value) ((void)(value))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define AT_START __attribute__((constructor)) static void
#define printk printf
// A failed assertion is counted.
#define __ASSERT(test, ...) count_assertion(test)

void count_assertion(int holds);

// ---- Time, locks and interrupts ----

typedef struct {
    uint32_t ticks;
} k_timeout_t;

#define K_MSEC(milliseconds) ((k_timeout_t){milliseconds})
#define K_NO_WAIT K_MSEC(0)
#define K_FOREVER K_MSEC(UINT32_MAX)

static inline unsigned int irq_lock(void) {
    unsigned int before;
    __asm__ volatile("mrs %0, primask\n cpsid i" : "=r"(before)::"memory");
    return before;
}

static inline void irq_unlock(unsigned int before) {
    __asm__ volatile("msr primask, %0\n isb" ::"r"(before) : "memory");
}

static inline bool k_is_in_isr(void) {
    uint32_t exception;
    __asm__ volatile("mrs %0, ipsr" : "=r"(exception));
    return exception != 0;
}

bool k_is_pre_kernel(void);
void k_msleep(int32_t milliseconds);

struct k_spinlock {
    bool is_held;
};
typedef struct {
    unsigned int key;
} k_spinlock_key_t;

static inline k_spinlock_key_t k_spin_lock(struct k_spinlock *lock) {
    const k_spinlock_key_t key = {irq_lock()};
    __ASSERT(!lock->is_held, "it does not nest");
    lock->is_held = true;
    return key;
}

static inline void k_spin_unlock(struct k_spinlock *lock, k_spinlock_key_t key) {
    lock->is_held = false;
    irq_unlock(key.key);
}

// A timer's function runs in an interrupt. There is one timer.
typedef struct k_timer {
    void (*expiry)(struct k_timer *timer);
} k_timer;

#define K_TIMER_DEFINE(name, expiry, stop) static k_timer name = {expiry}

void k_timer_start(k_timer *timer, k_timeout_t duration, k_timeout_t period);
void k_timer_stop(k_timer *timer);

// Every function is called before the heaps are made.
#define SYS_INIT(function, level, priority)                                                        \
    __attribute__((constructor(priority + 101))) static void init_##function(void) {               \
        (void)function();                                                                          \
    }

// ---- Heaps ----

struct sys_heap {
    void *heap, *init_mem;
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

// An identifier is the address of a struct sys_heap.
enum heap_event { HEAP_ALLOC = 1, HEAP_FREE };

struct heap_listener {
    struct heap_listener *next;
    uintptr_t heap_id;
    enum heap_event event;
    void (*told)(uintptr_t heap_id, void *object, size_t bytes);
};

#define HEAP_ID_FROM_POINTER(heap_pointer) ((uintptr_t)(heap_pointer))
#define HEAP_LISTENER_ALLOC_DEFINE(name, id, function)                                             \
    struct heap_listener name = {.heap_id = (id), .event = HEAP_ALLOC, .told = (function)}
#define HEAP_LISTENER_FREE_DEFINE(name, id, function)                                              \
    struct heap_listener name = {.heap_id = (id), .event = HEAP_FREE, .told = (function)}

void heap_listener_register(struct heap_listener *listener);
void heap_listener_notify_alloc(uintptr_t heap_id, void *object, size_t bytes);
void heap_listener_notify_free(uintptr_t heap_id, void *object, size_t bytes);

struct k_heap {
    struct sys_heap heap;
    struct k_spinlock lock;
};

void k_heap_init(struct k_heap *heap, void *memory, size_t bytes);
void *k_heap_alloc(struct k_heap *heap, size_t bytes, k_timeout_t timeout);
void *k_heap_aligned_alloc(struct k_heap *heap, size_t alignment, size_t bytes,
                           k_timeout_t timeout);
void *k_heap_realloc(struct k_heap *heap, void *object, size_t bytes, k_timeout_t timeout);
void k_heap_free(struct k_heap *heap, void *object);
void *k_malloc(size_t bytes);
void *k_calloc(size_t count, size_t bytes);
void *k_aligned_alloc(size_t alignment, size_t bytes);
void *k_realloc(void *object, size_t bytes);
void k_free(void *object);

#define K_HEAP_DEFINE(name, bytes)                                                                 \
    static _Alignas(8) unsigned char kheap_##name[bytes];                                          \
    struct k_heap name = {.heap = {NULL, kheap_##name, bytes}};                                    \
    AT_START init_##name(void) { k_heap_init(&name, kheap_##name, bytes); }

// ---- Threads ----

struct k_thread {
    struct k_heap *resource_pool;
    struct k_thread *next;
    void (*entry)(void *, void *, void *);
    void *arguments[3];
    struct tskTaskControlBlock *task;
    size_t stack_bytes;
    int priority;
};
typedef struct k_thread *k_tid_t;

void kernel_add_thread(struct k_thread *thread);
k_tid_t k_current_get(void);

#define k_thread_heap_assign(thread, heap) ((thread)->resource_pool = (heap))
#define K_THREAD_DEFINE(name, stack, entry, a, b, c, priority, options, delay)                     \
    static struct k_thread name = {NULL, NULL, entry, {a, b, c}, NULL, stack, priority};           \
    AT_START add_##name(void) { kernel_add_thread(&name); }

#endif
