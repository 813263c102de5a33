// Replays the decoded events of a recording on several allocators of this process, in alternating
// rounds: a library's mi_malloc, our TLSF, our budgeted heap, and our pools for bands. All go
// through the same loop and the same table of functions.
//
//     host_speed EVENTS SLOTS HEAP_BYTES ROUNDS TOUCH LIBRARY ALIGNMENT BANDS [SIZE COUNT] …
//
// The first BANDS sizes are the pools', with blocks at multiples of ALIGNMENT; the others are the
// budgeted heap's classes.
// With TOUCH 1, malloc and realloc are followed by a store to the object's first byte, as programs
// do. Each of ours has memory of its own. In a round each allocator replays twice in a row, and the
// second time counts, so the memory of all of them is in the caches as far as it fits. Prints one
// line per round: nanoseconds of CPU time per free, of each allocator.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "core/budget.h"
#include "core/pools.h"
#include "core/tlsf.h"
#include "facts/gen/tau_trace_format.h"

struct event {  // as tau_replay_dump writes it
    uint64_t size_bytes;
    uint32_t slot;
    uint8_t op;
    uint8_t align_log2;
    uint16_t unused;
};

struct allocator {
    void (*begin)(void);
    void *(*malloc)(size_t size_bytes);
    void *(*aligned_alloc)(size_t alignment, size_t size_bytes);
    void *(*realloc)(void *pointer, size_t size_bytes);
    void (*free)(void *pointer);
};

static void *tlsf_memory, *budget_memory, *pools_memory;
static size_t heap_bytes;
static struct tau_budget_class sizes[2 * TAU_BUDGET_CLASSES_MAX];  // bands, then classes
static size_t sizes_count, bands_count, bands_alignment;
static struct tau_tlsf *tlsf;
static struct tau_budget *budget;
static struct tau_pools *pools;

static void fail(const char *cause) {
    fprintf(stderr, "host_speed: %s\n", cause);
    exit(1);
}

static void tlsf_begin(void) {
    tlsf = tau_tlsf_init(tlsf_memory, heap_bytes, 0);
}

static void budget_begin(void) {
    if (tau_budget_init(&budget, budget_memory, heap_bytes, sizes + bands_count,
                        sizes_count - bands_count) != TAU_OK) {
        fail("no heap for these classes");
    }
}

static void pools_begin(void) {
    if (tau_pools_init(&pools, pools_memory, heap_bytes, sizes, bands_count, bands_alignment) !=
        TAU_OK) {
        fail("no heap for these bands");
    }
}

// The calls of one of our heaps, as the table has them.
#define CALLS_OF(heap)                                                                             \
    static void *heap##_malloc(size_t size_bytes) {                                                \
        return tau_##heap##_malloc(heap, size_bytes);                                              \
    }                                                                                              \
    static void *heap##_aligned_alloc(size_t alignment, size_t size_bytes) {                       \
        return tau_##heap##_aligned_alloc(heap, alignment, size_bytes);                            \
    }                                                                                              \
    static void *heap##_realloc(void *pointer, size_t size_bytes) {                                \
        return tau_##heap##_realloc(heap, pointer, size_bytes);                                    \
    }                                                                                              \
    static void heap##_free(void *pointer) {                                                       \
        (void)tau_##heap##_free(heap, pointer);                                                    \
    }
CALLS_OF(tlsf)
CALLS_OF(budget)
CALLS_OF(pools)

static void peer_begin(void) {
}

static struct allocator allocators[] = {
    {.begin = peer_begin},  // the rest is the library's
    {tlsf_begin, tlsf_malloc, tlsf_aligned_alloc, tlsf_realloc, tlsf_free},
    {budget_begin, budget_malloc, budget_aligned_alloc, budget_realloc, budget_free},
    {pools_begin, pools_malloc, pools_aligned_alloc, pools_realloc, pools_free},
};
#define ALLOCATORS (sizeof allocators / sizeof *allocators)

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

// The nanoseconds that all events take on ONE; objects that live to the end are freed then.
static double replay(const struct allocator *one, const struct event *events, size_t count,
                     void **objects, size_t slots, int is_touched) {
    memset(objects, 0, slots * sizeof *objects);
    one->begin();
    const double start = now();
    for (size_t i = 0; i < count; i++) {
        void **const object = &objects[events[i].slot];
        switch (events[i].op) {
        case TAU_TRACE_OP_FREE:
            one->free(*object);
            *object = NULL;
            continue;
        case TAU_TRACE_OP_REALLOC:
            *object = one->realloc(*object, events[i].size_bytes);
            break;
        case TAU_TRACE_OP_ALIGNED_ALLOC:
            *object = one->aligned_alloc((size_t)1 << events[i].align_log2, events[i].size_bytes);
            break;
        case TAU_TRACE_OP_MALLOC:
        case TAU_TRACE_OP_CALLOC:
            *object = one->malloc(events[i].size_bytes);
            break;
        default:
            continue;
        }
        if (*object == NULL && events[i].size_bytes != 0) {
            fail("a request was refused");
        }
        if (is_touched && *object != NULL) {
            *(volatile char *)*object = 1;
        }
    }
    for (size_t slot = 0; slot < slots; slot++) {
        one->free(objects[slot]);
    }
    return now() - start;
}

static void *mapped(void) {
    void *const memory = mmap(NULL, heap_bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED) {
        fail("no memory");
    }
    return memory;
}

static void find_peer(const char *library) {
    void *const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        fail(dlerror());
    }
    struct allocator *const peer = &allocators[0];
    *(void **)&peer->malloc = dlsym(handle, "mi_malloc");
    *(void **)&peer->aligned_alloc = dlsym(handle, "mi_aligned_alloc");
    *(void **)&peer->realloc = dlsym(handle, "mi_realloc");
    *(void **)&peer->free = dlsym(handle, "mi_free");
    if (!peer->malloc || !peer->aligned_alloc || !peer->realloc || !peer->free) {
        fail("the library is not mimalloc");
    }
}

int main(int words_count, char **words) {
    if (words_count < 9) {
        fail("usage: EVENTS SLOTS HEAP_BYTES ROUNDS TOUCH LIBRARY ALIGNMENT BANDS [SIZE COUNT] …");
    }
    const size_t slots = strtoul(words[2], NULL, 10);
    heap_bytes = strtoul(words[3], NULL, 10);
    const int rounds = atoi(words[4]);
    const int is_touched = atoi(words[5]);
    find_peer(words[6]);
    bands_alignment = strtoul(words[7], NULL, 10);
    bands_count = strtoul(words[8], NULL, 10);
    for (int i = 9; i + 1 < words_count && sizes_count < sizeof sizes / sizeof *sizes; i += 2) {
        sizes[sizes_count].size_bytes = (uint32_t)strtoul(words[i], NULL, 10);
        sizes[sizes_count++].count = (uint32_t)strtoul(words[i + 1], NULL, 10);
    }
    if (bands_count > sizes_count) {
        fail("fewer sizes than bands");
    }
    FILE *const file = fopen(words[1], "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        fail("cannot read the events");
    }
    const size_t count = (size_t)ftell(file) / sizeof(struct event);
    struct event *const events = malloc(count * sizeof *events);
    void **const objects = malloc(slots * sizeof *objects);
    rewind(file);
    tlsf_memory = mapped();
    budget_memory = mapped();
    pools_memory = mapped();
    if (events == NULL || objects == NULL || fread(events, sizeof *events, count, file) != count) {
        fail("cannot read the events");
    }
    size_t frees = 0;
    for (size_t i = 0; i < count; i++) {
        frees += events[i].op == TAU_TRACE_OP_FREE;
    }
    for (int round = 0; round < rounds; round++) {
        for (size_t which = 0; which < ALLOCATORS; which++) {
            (void)replay(&allocators[which], events, count, objects, slots, is_touched);
            const double spent =
                replay(&allocators[which], events, count, objects, slots, is_touched);
            printf("%.3f%c", spent / (double)frees, which + 1 < ALLOCATORS ? ' ' : '\n');
        }
    }
    return 0;
}
