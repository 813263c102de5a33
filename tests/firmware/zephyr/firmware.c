// A firmware on Zephyr: threads that preempt each other, a timer's interrupt that allocates, and
// each way to a heap. What each part computes does not depend on the order in which they run. At
// the end it prints a checksum, what failed, and the sizes that each part asked for.
#include <string.h>

#include <zephyr/kernel.h>
#include <zephyr/sys/heap_listener.h>

#ifndef CONFIG_TAUTOCHRONE_K_HEAP
#define CONFIG_TAUTOCHRONE_K_HEAP "_system_heap"
#endif
#ifdef CONFIG_TAUTOCHRONE_RECORD
void tau_record_wrap_flush(void);
#endif

enum { EXPIRIES = 40, EXPIRIES_KEPT = 3, STEPS = 300, SLOTS = 24, REQUESTS_MAX = 300 };
enum part { WORKER, OTHER_WORKER, TIMER, POOL, PARTS };

struct log {
    unsigned int count;
    uint16_t sizes[REQUESTS_MAX];
};

static const char *const names[PARTS] = {"worker", "worker", "timer", "pool"};
static struct log logs[PARTS];
static volatile uint32_t checksum;
static volatile uint32_t failed, ended;

// Of the kernel; it is in no public header.
extern struct k_heap _system_heap;
void *z_thread_aligned_alloc(size_t alignment, size_t size_bytes);

K_HEAP_DEFINE(own_heap, 2048);

// Whether the heap in question is k_malloc's.
static bool is_systems(void) {
    return strcmp(CONFIG_TAUTOCHRONE_K_HEAP, "_system_heap") == 0;
}

static void add_to(volatile uint32_t *number, uint32_t value) {
    const unsigned int key = irq_lock();
    *number += value;
    irq_unlock(key);
}

static void add(const void *object, size_t size_bytes) {
    const unsigned char *const bytes = object;
    uint32_t sum = (uint32_t)size_bytes;
    for (size_t i = 0; i < size_bytes; i++) {
        sum = sum * 33 + bytes[i];
    }
    add_to(&checksum, sum);
}

static uint32_t next(uint32_t *random) {
    *random = *random * 1664525u + 1013904223u;
    return *random >> 16;
}

static size_t noted(enum part part, size_t size_bytes) {
    struct log *const log = &logs[part];
    log->sizes[log->count++] = (uint16_t)size_bytes;
    return size_bytes;
}

static void *checked(void *object, size_t alignment) {
    add_to(&failed, object == NULL || (uintptr_t)object % alignment != 0 ? 1 : 0);
    return object;
}

// ---- Parts ----

// In an interrupt.
static void expire(struct k_timer *timer) {
    static void *kept[EXPIRIES_KEPT];
    static unsigned int count;
    k_free(kept[count % EXPIRIES_KEPT]);
    kept[count % EXPIRIES_KEPT] = NULL;
    if (count < EXPIRIES) {
        kept[count % EXPIRIES_KEPT] = checked(k_malloc(noted(TIMER, 20 + count * 9)), 4);
    } else if (count == EXPIRIES + EXPIRIES_KEPT) {
        k_timer_stop(timer);
    }
    count++;
}

K_TIMER_DEFINE(timer, expire, NULL);

struct slot {
    unsigned char *object;
    size_t size_bytes;
};

// Inlined, so that the calls are in the part's own function.
__attribute__((always_inline)) static inline void step(enum part part, struct slot *slot,
                                                       uint32_t choice, size_t size_bytes) {
    const size_t alignment = (size_t)8 << choice / 8 % 4;
    if (slot->object == NULL && choice % 3 == 0) {
        slot->object = checked(k_malloc(noted(part, size_bytes)), 4);
    } else if (slot->object == NULL && choice % 3 == 1) {
        slot->object = checked(k_calloc(noted(part, size_bytes * 4) / 4, 4), 4);
        size_bytes *= 4;
        add(slot->object, size_bytes);
    } else if (slot->object == NULL) {
        slot->object = checked(k_aligned_alloc(alignment, noted(part, size_bytes)), alignment);
    } else if (choice % 2 == 0) {
        slot->object = checked(k_realloc(slot->object, noted(part, size_bytes + 1)), 4);
        size_bytes++;
        add(slot->object, MIN(size_bytes, slot->size_bytes));
    } else {
        add(slot->object, slot->size_bytes);
        k_free(slot->object);
        *slot = (struct slot){NULL, 0};
        return;
    }
    memset(slot->object, (int)choice, size_bytes);
    slot->size_bytes = size_bytes;
}

static void work(void *a, void *b, void *c) {
    const enum part part = (enum part)(uintptr_t)a;
    struct slot slots[SLOTS] = {{NULL, 0}};
    uint32_t random = part + 4711;
    ARG_UNUSED(b), ARG_UNUSED(c);
    for (unsigned int i = 0; i < STEPS; i++) {
        const uint32_t choice = next(&random);
        step(part, &slots[next(&random) % SLOTS], choice, next(&random) % 100);
    }
    for (unsigned int i = 0; i < SLOTS; i++) {
        k_free(slots[i].object);
    }
    add_to(&ended, 1);
}

// What goes to a heap of its own, and what the kernel and others take from the system's.
static void use_pools(void *a, void *b, void *c) {
    ARG_UNUSED(a), ARG_UNUSED(b), ARG_UNUSED(c);
    k_thread_heap_assign(k_current_get(), &own_heap);
    void *const elsewhere = checked(z_thread_aligned_alloc(8, 300), 8);
    if (is_systems()) {
        add_to(&failed, (uintptr_t)elsewhere - (uintptr_t)own_heap.heap.init_mem < 2048 ? 0 : 1);
    }
    k_thread_heap_assign(k_current_get(), &_system_heap);
    void *const here = checked(z_thread_aligned_alloc(32, noted(POOL, 77)), 32);
    void *const direct = checked(k_heap_alloc(&own_heap, 200, K_FOREVER), 4);
    void *const resized = checked(k_realloc(NULL, noted(POOL, 55)), 4);
    add_to(&failed, k_realloc(resized, 0) == NULL ? 0 : 1);
    k_free(elsewhere);
    k_free(here);
    k_heap_free(&own_heap, direct);
    for (unsigned int i = 0; i < 20; i++) {
        void *object = checked(k_heap_alloc(&_system_heap, 160, K_FOREVER), 4);
        object = checked(k_heap_realloc(&_system_heap, object, 40, K_NO_WAIT), 4);
        k_msleep(1);
        k_heap_free(&_system_heap, object);
    }
    add_to(&ended, 1);
}

K_THREAD_DEFINE(worker, 1024, work, (void *)WORKER, NULL, NULL, 4, 0, 0);
K_THREAD_DEFINE(other, 1024, work, (void *)OTHER_WORKER, NULL, NULL, 4, 0, 0);
K_THREAD_DEFINE(pools, 1024, use_pools, NULL, NULL, NULL, 1, 0, 0);

// ---- The end ----

#ifdef CONFIG_TAUTOCHRONE_HEAP
static size_t heard_bytes;

static void hear_alloc(uintptr_t heap_id, void *object, size_t size_bytes) {
    ARG_UNUSED(heap_id), ARG_UNUSED(object);
    heard_bytes += size_bytes;
}

static void hear_free(uintptr_t heap_id, void *object, size_t size_bytes) {
    ARG_UNUSED(heap_id), ARG_UNUSED(object);
    heard_bytes -= size_bytes;
}

static HEAP_LISTENER_ALLOC_DEFINE(allocs, HEAP_ID_FROM_POINTER(&_system_heap.heap), hear_alloc);
static HEAP_LISTENER_FREE_DEFINE(frees, HEAP_ID_FROM_POINTER(&_system_heap.heap), hear_free);

// What the heap says of itself is what two objects change. What is refused changes nothing.
static bool statistics_hold(void) {
    struct sys_heap *const heap = &_system_heap.heap;
    struct sys_memory_stats before, between, after;
    const size_t huge = SIZE_MAX / 4;
    if (!is_systems()) {
        return true;
    }
    heap_listener_register(&allocs);
    heap_listener_register(&frees);
    (void)sys_heap_runtime_stats_reset_max(heap);
    (void)sys_heap_runtime_stats_get(heap, &before);
    unsigned char *small = k_malloc(30);
    void *const large = k_malloc(300);
    const size_t bytes = sys_heap_usable_size(heap, small) + sys_heap_usable_size(heap, large);
    bool do_hold = k_malloc(huge) == NULL && k_calloc(huge + 2, 4) == NULL &&
                   heard_bytes == bytes && k_realloc(small, huge) == NULL &&
                   sys_heap_alloc(heap, 0) == NULL;
    (void)sys_heap_runtime_stats_get(heap, &between);
    do_hold &= sys_heap_realloc(heap, large, 0) == NULL;
    memset(small, 0x5a, 30);
    small = sys_heap_aligned_realloc(heap, small, 64, 90);
    do_hold &= (uintptr_t)small % 64 == 0 && small[0] == 0x5a && small[29] == 0x5a;
    k_free(small);
    k_free(small);  // wrong, and refused
    (void)sys_heap_runtime_stats_get(heap, &after);
    return do_hold && before.allocated_bytes == 0 && between.allocated_bytes == bytes &&
           bytes >= 330 && between.free_bytes <= before.free_bytes - bytes &&
           after.max_allocated_bytes == bytes && after.allocated_bytes == 0 && heard_bytes == 0 &&
           after.free_bytes == before.free_bytes && sys_heap_runtime_stats_get(heap, NULL) < 0;
}
#else
#define statistics_hold() true
#endif

int main(void) {
    k_timer_start(&timer, K_MSEC(2), K_MSEC(2));
    while (ended < 3) {
        k_msleep(100);  // the timer ends before, too
    }
    const bool do_hold = statistics_hold();
#ifdef CONFIG_TAUTOCHRONE_RECORD
    tau_record_wrap_flush();
#endif
    printk("checksum %08lx failed %lu statistics %s\n", (unsigned long)checksum,
           (unsigned long)failed, do_hold ? "hold" : "differ");
    for (unsigned int i = 0; i < PARTS; i++) {
        printk("%s", names[i]);
        for (unsigned int n = 0; n < logs[i].count; n++) {
            printk(" %u", logs[i].sizes[n]);
        }
        printk("\n");
    }
    return 0;
}
