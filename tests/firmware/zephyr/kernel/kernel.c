// A stand-in for Zephyr's k_heap, k_malloc, threads and timer.
#include <stdlib.h>
#include <string.h>

#include <zephyr/kernel.h>

#include <FreeRTOS.h>
#include <task.h>

#define PRIORITIES 5
#define TIMER_0 ((volatile uint32_t *)0x40000000u)  // control, value, reload, clear
#define NVIC_ENABLE (*(volatile uint32_t *)0xe000e100u)
#define NVIC_PRIORITY ((volatile unsigned char *)0xe000e400u)
#define TIMER_0_LINE 8

K_HEAP_DEFINE(_system_heap, MAX(CONFIG_HEAP_MEM_POOL_SIZE, 256))

// What the kernel calls for a thread: not in its public headers.
void *z_thread_aligned_alloc(size_t alignment, size_t bytes);

static struct k_thread *threads;
static k_timer *timer;
static bool is_started;
static unsigned int failed_assertions;

void count_assertion(int holds) {
    failed_assertions += holds == 0 ? 1 : 0;
}

// Of the heap for threads and queues.
void count_malloc(const void *object, size_t bytes) {
    ARG_UNUSED(object), ARG_UNUSED(bytes);
}

void count_free(const void *object, size_t bytes) {
    ARG_UNUSED(object), ARG_UNUSED(bytes);
}

// ---- k_heap ----

void k_heap_init(struct k_heap *heap, void *memory, size_t bytes) {
    sys_heap_init(&heap->heap, memory, bytes);
}

// It waits in ticks, where Zephyr waits for a free.
void *k_heap_aligned_alloc(struct k_heap *heap, size_t alignment, size_t bytes,
                           k_timeout_t timeout) {
    for (;; timeout.ticks--) {
        const k_spinlock_key_t key = k_spin_lock(&heap->lock);
        void *const object = sys_heap_aligned_alloc(&heap->heap, alignment, bytes);
        k_spin_unlock(&heap->lock, key);
        if (object != NULL || timeout.ticks == 0) {
            return object;
        }
        k_msleep(1);
    }
}

void *k_heap_alloc(struct k_heap *heap, size_t bytes, k_timeout_t timeout) {
    return k_heap_aligned_alloc(heap, sizeof(void *), bytes, timeout);
}

void *k_heap_realloc(struct k_heap *heap, void *object, size_t bytes, k_timeout_t timeout) {
    ARG_UNUSED(timeout);
    const k_spinlock_key_t key = k_spin_lock(&heap->lock);
    void *const made = sys_heap_realloc(&heap->heap, object, bytes);
    k_spin_unlock(&heap->lock, key);
    return made;
}

void k_heap_free(struct k_heap *heap, void *object) {
    const k_spinlock_key_t key = k_spin_lock(&heap->lock);
    sys_heap_free(&heap->heap, object);
    k_spin_unlock(&heap->lock, key);
}

// ---- k_malloc: the heap and the chunk's object stand in front of an object ----

struct origin {
    struct k_heap *heap;
    unsigned char *chunk;
};

static struct origin *origin_of(void *object) {
    return (struct origin *)object - 1;
}

static void *made_in(struct k_heap *heap, unsigned char *chunk, size_t offset) {
    if (chunk == NULL) {
        return NULL;
    }
    *origin_of(chunk + offset) = (struct origin){heap, chunk};
    return chunk + offset;
}

static void *take(struct k_heap *heap, size_t alignment, size_t bytes) {
    const size_t offset = MAX(alignment, sizeof(struct origin));
    return made_in(heap, k_heap_aligned_alloc(heap, offset, bytes + offset, K_NO_WAIT), offset);
}

void *k_aligned_alloc(size_t alignment, size_t bytes) {
    return take(&_system_heap, alignment, bytes);
}

void *k_malloc(size_t bytes) {
    return k_aligned_alloc(sizeof(void *), bytes);
}

void *k_calloc(size_t count, size_t bytes) {
    void *const object = k_malloc(count * bytes);
    return object == NULL ? NULL : memset(object, 0, count * bytes);
}

void *k_realloc(void *object, size_t bytes) {
    if (object == NULL || bytes == 0) {
        k_free(object);
        return bytes == 0 ? NULL : k_malloc(bytes);
    }
    const struct origin from = *origin_of(object);
    const size_t offset = (size_t)((unsigned char *)object - from.chunk);
    return made_in(from.heap, k_heap_realloc(from.heap, from.chunk, bytes + offset, K_NO_WAIT),
                   offset);
}

void k_free(void *object) {
    if (object != NULL) {
        k_heap_free(origin_of(object)->heap, origin_of(object)->chunk);
    }
}

void *z_thread_aligned_alloc(size_t alignment, size_t bytes) {
    struct k_heap *const heap = k_is_in_isr() ? &_system_heap : k_current_get()->resource_pool;
    return heap == NULL ? NULL : take(heap, alignment, bytes);
}

// ---- Threads ----

bool k_is_pre_kernel(void) {
    return !is_started;
}

void k_msleep(int32_t milliseconds) {
    vTaskDelay((TickType_t)milliseconds);
}

void kernel_add_thread(struct k_thread *thread) {
    thread->next = threads;
    threads = thread;
}

k_tid_t k_current_get(void) {
    struct k_thread *thread = threads;
    while (thread != NULL && thread->task != xTaskGetCurrentTaskHandle()) {
        thread = thread->next;
    }
    return thread;
}

static void run(void *argument) {
    const struct k_thread *const thread = argument;
    is_started = true;
    thread->entry(thread->arguments[0], thread->arguments[1], thread->arguments[2]);
    vTaskDelete(NULL);
}

// ---- The timer ----

void timer_interrupt(void);
void timer_interrupt(void) {
    TIMER_0[3] = 1;
    timer->expiry(timer);
}

void k_timer_start(k_timer *started, k_timeout_t duration, k_timeout_t period) {
    ARG_UNUSED(duration);
    timer = started;
    NVIC_PRIORITY[TIMER_0_LINE] = 0xc0;
    NVIC_ENABLE = 1u << TIMER_0_LINE;
    TIMER_0[1] = TIMER_0[2] = period.ticks * (configCPU_CLOCK_HZ / configTICK_RATE_HZ) / 3u;
    TIMER_0[0] = 9;
}

void k_timer_stop(k_timer *stopped) {
    ARG_UNUSED(stopped);
    TIMER_0[0] = 0;
}

// ---- Start: the application's main is a thread, and the program ends with it ----

void application_main(void);

static void run_main(void *a, void *b, void *c) {
    ARG_UNUSED(a), ARG_UNUSED(b), ARG_UNUSED(c);
    application_main();
    printf("assertions %u\n", failed_assertions);
    exit(0);
}

K_THREAD_DEFINE(main_thread, 2048, run_main, NULL, NULL, NULL, 3, 0, 0)

int main(void) {
    static char text[16384];
    setvbuf(stdout, text, _IOFBF, sizeof text);
    for (struct k_thread *thread = threads; thread != NULL; thread = thread->next) {
        if (xTaskCreate(run, "thread", thread->stack_bytes / sizeof(StackType_t), thread,
                        (UBaseType_t)(PRIORITIES - thread->priority), &thread->task) != pdPASS) {
            return 1;
        }
    }
    vTaskStartScheduler();
    return 1;
}
