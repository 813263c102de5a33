// Goal: several threads may make every public call of a heap at once, as core/port.h says. The hook
// of refusals is called exactly once for each refused request, by the thread that made it. Method:
// first one thread sees that each call takes the lock, so that no verdict hangs on luck. Then
// threads with their own objects make random calls on one heap that is too small for all of them.
// ThreadSanitizer detects memory that is accessed outside the lock. The test compares the contents
// itself. Arguments: a seed, the calls of each thread.
#include <pthread.h>

#include "core/budget.h"
#include "core/config.h"
#include "core/page_heap.h"
#include "core/private/heap/pools_table.h"
#include "core/tests/kit/port_threads.h"
#include "core/tests/kit/test.h"

enum { THREADS = 4, OBJECTS = 24, SIZE_MAX_BYTES = 600, HEAP_BYTES = 16384, LOG2 = 5, FRAMES = 48 };

// The calls of one heap. `look` makes every call that only reads, for one pointer.
struct calls {
    const char *name;
    void *(*allocate)(size_t size_bytes);
    void *(*clear)(size_t count, size_t size_bytes);
    void *(*align)(size_t alignment, size_t size_bytes);
    void *(*resize)(void *pointer, size_t size_bytes);
    enum tau_status (*release)(void *pointer);
    size_t (*look)(const void *pointer);
    const void *foreign;
};

struct object {
    unsigned char *bytes;
    size_t size;
};

struct player {
    const struct calls *calls;
    uint64_t random;
    unsigned calls_count;
    unsigned char mark;
    unsigned failures_count;
    unsigned refusals_count;
    struct object objects[OBJECTS];
};

static unsigned char memory[HEAP_BYTES];
static _Alignas(4096) unsigned char pages[4096 << LOG2];
static _Alignas(4096) unsigned char frames_memory[FRAMES * 4096];

// ---- The heaps ---------------------------------------------------------------------------------

static bool count_block(void *context, void *payload, size_t size_bytes, bool is_free) {
    (void)payload;
    *(size_t *)context += is_free ? 0 : size_bytes;
    return true;
}

static struct tau_tlsf *tlsf;

static void *tlsf_malloc(size_t size_bytes) {
    return tau_tlsf_malloc(tlsf, size_bytes);
}
static void *tlsf_calloc(size_t count, size_t size_bytes) {
    return tau_tlsf_calloc(tlsf, count, size_bytes);
}
static void *tlsf_aligned_alloc(size_t alignment, size_t size_bytes) {
    return tau_tlsf_aligned_alloc(tlsf, alignment, size_bytes);
}
static void *tlsf_realloc(void *pointer, size_t size_bytes) {
    return tau_tlsf_realloc(tlsf, pointer, size_bytes);
}
static enum tau_status tlsf_free(void *pointer) {
    return tau_tlsf_free(tlsf, pointer);
}
static size_t tlsf_look(const void *pointer) {
    const struct tau_tlsf_statistics statistics = tau_tlsf_statistics(tlsf);
    size_t used_bytes = 0;
    tau_tlsf_walk(tlsf, count_block, &used_bytes);
    const bool is_sound = tau_tlsf_invariants_hold(tlsf) &&
                          statistics.used_bytes <= statistics.peak_used_bytes &&
                          statistics.peak_used_bytes <= statistics.capacity_bytes &&
                          used_bytes <= statistics.capacity_bytes;
    const size_t bytes = tau_tlsf_usable_size(tlsf, pointer);
    const bool is_object = pointer != NULL && tau_tlsf_check_pointer(tlsf, pointer) == TAU_OK;
    return is_sound && is_object == (tau_tlsf_alignment(tlsf, pointer) != 0) ? bytes : SIZE_MAX;
}

static struct tau_budget *budget;

static void *budget_malloc(size_t size_bytes) {
    return tau_budget_malloc(budget, size_bytes);
}
static void *budget_calloc(size_t count, size_t size_bytes) {
    return tau_budget_calloc(budget, count, size_bytes);
}
static void *budget_aligned_alloc(size_t alignment, size_t size_bytes) {
    return tau_budget_aligned_alloc(budget, alignment, size_bytes);
}
static void *budget_realloc(void *pointer, size_t size_bytes) {
    return tau_budget_realloc(budget, pointer, size_bytes);
}
static enum tau_status budget_free(void *pointer) {
    return tau_budget_free(budget, pointer);
}
static size_t budget_look(const void *pointer) {
    const struct tau_budget_statistics statistics = tau_budget_statistics(budget);
    bool is_sound = tau_budget_invariants_hold(budget);
    for (size_t i = 0; i < statistics.classes_count; i++) {
        const struct tau_budget_class_statistics class = tau_budget_class_statistics(budget, i);
        is_sound = is_sound && class.used_count <= class.peak_used_count;
    }
    const size_t bytes = tau_budget_usable_size(budget, pointer);
    return is_sound ? bytes : SIZE_MAX;
}

static struct tau_pools *pools;

static void *pools_malloc(size_t size_bytes) {
    return tau_pools_malloc(pools, size_bytes);
}
static void *pools_calloc(size_t count, size_t size_bytes) {
    return tau_pools_calloc(pools, count, size_bytes);
}
static void *pools_aligned_alloc(size_t alignment, size_t size_bytes) {
    return tau_pools_aligned_alloc(pools, alignment, size_bytes);
}
static void *pools_realloc(void *pointer, size_t size_bytes) {
    return tau_pools_realloc(pools, pointer, size_bytes);
}
static enum tau_status pools_free(void *pointer) {
    return tau_pools_free(pools, pointer);
}
static size_t pools_look(const void *pointer) {
    const struct tau_pools_statistics statistics = tau_pools_statistics(pools);
    bool is_sound = tau_pools_invariants_hold(pools);
    for (size_t i = 0; i < statistics.bands_count; i++) {
        const struct tau_pools_band_statistics band = tau_pools_band_statistics(pools, i);
        const enum tau_status reason = tau_pools_reason(pools, band.size_bytes);
        is_sound = is_sound && band.used_count <= band.peak_used_count &&
                   band.peak_used_count <= band.limit_count &&
                   (reason == TAU_OK || reason == TAU_LIMIT_REACHED);
    }
    const size_t bytes = tau_pools_usable_size(pools, pointer);
    return is_sound ? bytes : SIZE_MAX;
}

static struct tau_page_heap paged;

static void *page_malloc(size_t size_bytes) {
    return tau_page_heap_malloc(&paged, size_bytes);
}
static void *page_calloc(size_t count, size_t size_bytes) {
    return tau_page_heap_calloc(&paged, count, size_bytes);
}
static void *page_aligned_alloc(size_t alignment, size_t size_bytes) {
    return tau_page_heap_aligned_alloc(&paged, alignment, size_bytes);
}
static void *page_realloc(void *pointer, size_t size_bytes) {
    return tau_page_heap_realloc(&paged, pointer, size_bytes);
}
static enum tau_status page_free(void *pointer) {
    return tau_page_heap_free(&paged, pointer);
}
static size_t page_look(const void *pointer) {
    const size_t bytes = tau_page_heap_usable_size(&paged, pointer);
    return tau_page_heap_invariants_hold(&paged) ? bytes : SIZE_MAX;
}

static const struct calls every_heap[] = {
    {"tlsf", tlsf_malloc, tlsf_calloc, tlsf_aligned_alloc, tlsf_realloc, tlsf_free, tlsf_look,
     memory + HEAP_BYTES},
    {"budget", budget_malloc, budget_calloc, budget_aligned_alloc, budget_realloc, budget_free,
     budget_look, memory + HEAP_BYTES},
    {"pools", pools_malloc, pools_calloc, pools_aligned_alloc, pools_realloc, pools_free,
     pools_look, memory + HEAP_BYTES},
    {"page_heap", page_malloc, page_calloc, page_aligned_alloc, page_realloc, page_free, page_look,
     pages + sizeof pages},
};

// ---- Playing -----------------------------------------------------------------------------------

static void expect(struct player *player, bool is_so, const char *what) {
    if (!is_so && player->failures_count++ == 0) {
        printf("%s: not so: %s\n", player->calls->name, what);
    }
}

static size_t draw(struct player *player, size_t limit) {
    player->random = player->random * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(player->random >> 33) % limit;
}

static bool holds(const struct player *player, const struct object *object, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (object->bytes[i] != player->mark) {
            return false;
        }
    }
    return true;
}

// Checks that the hook was called once if and only if the request of SIZE, which returned RESULT,
// was refused; then updates OBJECT.
static void placed(struct player *player, struct object *object, void *result, size_t size,
                   unsigned refused_before) {
    const unsigned refused = port_counts.out_of_memory - refused_before;
    expect(player, refused == (result == NULL && size != 0), "a hook for each refused request");
    player->refusals_count += refused;
    if (result != NULL) {
        *object = (struct object){result, size};
        memset(result, player->mark, size);
    }
}

static void play_empty(struct player *player, struct object *object) {
    const struct calls *const calls = player->calls;
    const unsigned before = port_counts.out_of_memory;
    const size_t size = draw(player, SIZE_MAX_BYTES);
    const size_t choice = draw(player, 8);
    if (choice == 0) {
        unsigned char *const bytes = calls->clear(size, 1);
        for (size_t i = 0; bytes != NULL && i < size; i++) {
            expect(player, bytes[i] == 0, "calloc clears");
        }
        placed(player, object, bytes, size, before);
    } else if (choice == 1) {
        placed(player, object, calls->align((size_t)16 << draw(player, 3), size), size, before);
    } else if (choice == 2) {
        placed(player, object, calls->resize(NULL, size), size, before);
    } else {
        placed(player, object, calls->allocate(size), size, before);
    }
}

static void play_object(struct player *player, struct object *object) {
    const struct calls *const calls = player->calls;
    const unsigned before = port_counts.out_of_memory;
    const size_t choice = draw(player, 8);
    expect(player, holds(player, object, object->size), "nobody else writes to an object");
    if (choice < 3) {
        expect(player, calls->release(object->bytes) == TAU_OK, "free of an object");
        object->bytes = NULL;
    } else if (choice < 6) {
        const size_t size = 1 + draw(player, SIZE_MAX_BYTES);
        const size_t kept = size < object->size ? size : object->size;
        struct object resized = {calls->resize(object->bytes, size), size};
        expect(player, resized.bytes == NULL || holds(player, &resized, kept), "realloc copies");
        placed(player, object, resized.bytes, size, before);
    } else {
        const size_t bytes = calls->look(object->bytes);
        expect(player, bytes >= object->size && bytes != SIZE_MAX, "a look at an object");
    }
}

static void play_misuse(struct player *player) {
    const struct calls *const calls = player->calls;
    const unsigned before = port_counts.misuse;
    expect(player, calls->look(calls->foreign) == 0, "no bytes outside the heap");
    expect(player, calls->look(NULL) == 0, "no bytes at NULL");
#if TAU_CHECK_LEVEL >= 1
    void *const foreign = (void *)(uintptr_t)calls->foreign;
    expect(player, calls->release(foreign) != TAU_OK, "free of a foreign pointer");
    expect(player, calls->resize((char *)foreign + 1, 9) == NULL, "realloc of a foreign pointer");
    expect(player, port_counts.misuse == before + 2, "a hook for each misuse");
#endif
    (void)before;
}

static void *play(void *context) {
    struct player *const player = context;
    for (unsigned i = 0; i < player->calls_count; i++) {
        struct object *const object = &player->objects[draw(player, OBJECTS)];
        if (draw(player, 32) == 0) {
            play_misuse(player);
        } else if (object->bytes == NULL) {
            play_empty(player, object);
        } else {
            play_object(player, object);
        }
    }
    for (unsigned i = 0; i < OBJECTS; i++) {
        expect(player, player->calls->release(player->objects[i].bytes) == TAU_OK, "free at last");
    }
    return NULL;
}

static void play_all(const struct calls *calls, uint64_t seed, unsigned calls_count) {
    static struct player players[THREADS];
    pthread_t threads[THREADS];
    unsigned refusals_count = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        players[i] = (struct player){calls, seed * THREADS + i, calls_count, 0, 0, 0, {{0}}};
        players[i].mark = (unsigned char)(i + 1);
        REQUIRE(pthread_create(&threads[i], NULL, play, &players[i]) == 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        REQUIRE(pthread_join(threads[i], NULL) == 0);
        EXPECT_EQUAL(players[i].failures_count, 0);
        refusals_count += players[i].refusals_count;
    }
    EXPECT(refusals_count > 0);
    printf("%s: %u refused\n", calls->name, refusals_count);
}

// ---- Locks -------------------------------------------------------------------------------------

#define EXPECT_LOCKED(call)                                                                        \
    do {                                                                                           \
        const unsigned locks_before = port_counts.locks;                                           \
        (void)(call);                                                                              \
        EXPECT(port_counts.locks > locks_before);                                                  \
    } while (0)

static bool lock_walk(const struct tau_tlsf *heap) {
    size_t used_bytes = 0;
    tau_tlsf_walk(heap, count_block, &used_bytes);
    return used_bytes > 0;
}

static void see_locks(const struct calls *calls) {
    void *object = NULL;
    EXPECT_LOCKED(object = calls->allocate(100));
    EXPECT_LOCKED(calls->look(object));
    EXPECT_LOCKED(object = calls->resize(object, 300));
    EXPECT_LOCKED(calls->release(object));
    EXPECT_LOCKED(object = calls->clear(10, 10));
    EXPECT_LOCKED(calls->release(object));
    EXPECT_LOCKED(object = calls->align(64, 100));
    EXPECT_LOCKED(calls->release(object));
}

static void see_locks_of_looks(void) {
    void *const object = tau_tlsf_malloc(tlsf, 100);
    EXPECT_LOCKED(tau_tlsf_usable_size(tlsf, object));
    EXPECT_LOCKED(tau_tlsf_alignment(tlsf, object));
    EXPECT_LOCKED(tau_tlsf_check_pointer(tlsf, object));
    EXPECT_LOCKED(tau_tlsf_statistics(tlsf));
    EXPECT_LOCKED(tau_tlsf_invariants_hold(tlsf));
    EXPECT_LOCKED(lock_walk(tlsf));
    EXPECT_LOCKED(tau_tlsf_free(tlsf, object));
}

static void see_locks_of_budget_looks(void) {
    void *const object = tau_budget_malloc(budget, 100);
    EXPECT_LOCKED(tau_budget_usable_size(budget, object));
    EXPECT_LOCKED(tau_budget_statistics(budget));
    EXPECT_LOCKED(tau_budget_class_statistics(budget, 0));
    EXPECT_LOCKED(tau_budget_invariants_hold(budget));
    EXPECT_LOCKED(tau_budget_free(budget, object));
}

static void see_locks_of_pool_looks(void) {
    void *const object = tau_pools_malloc(pools, 100);
    EXPECT_LOCKED(tau_pools_usable_size(pools, object));
    EXPECT_LOCKED(tau_pools_reason(pools, 100));
    EXPECT_LOCKED(tau_pools_statistics(pools));
    EXPECT_LOCKED(tau_pools_band_statistics(pools, 0));
    EXPECT_LOCKED(tau_pools_invariants_hold(pools));
    EXPECT_LOCKED(tau_pools_free(pools, object));
}

static void see_locks_of_page_looks(void) {
    void *const object = tau_page_heap_malloc(&paged, 100);
    EXPECT_LOCKED(tau_page_heap_usable_size(&paged, object));
    EXPECT_LOCKED(tau_page_heap_invariants_hold(&paged));
    EXPECT_LOCKED(tau_page_heap_resize(&paged, object, 120));
    EXPECT_LOCKED(tau_page_heap_free(&paged, object));
}

int main(int argc, char **argv) {
    static uint32_t tables[(5u << LOG2) + 256];
    static uint32_t links[FRAMES];
    static struct tau_vspace space;
    static struct tau_frames pool;
    static const struct tau_budget_class plan[] = {{24, 20}, {100, 12}, {500, 6}};
    const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    const unsigned calls_count = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 0) : 10000;
    printf("seed %llu\n", (unsigned long long)seed);

    tlsf = tau_tlsf_init(memory, HEAP_BYTES, 0);
    port_threads_add(tlsf);
    see_locks(&every_heap[0]);
    see_locks_of_looks();
    play_all(&every_heap[0], seed, calls_count);

    REQUIRE(tau_budget_init(&budget, memory, HEAP_BYTES, plan, 3) == TAU_OK);
    port_threads_add(budget);
    port_threads_add(tau_budget_shared(budget));
    see_locks(&every_heap[1]);
    see_locks_of_budget_looks();
    play_all(&every_heap[1], seed, calls_count);

    REQUIRE(tau_pools_init(&pools, memory, HEAP_BYTES, plan, 3, 0) == TAU_OK);
    port_threads_add(pools);
    port_threads_add(tau_budget_shared(&pools->blocks));
    see_locks(&every_heap[2]);
    see_locks_of_pool_looks();
    play_all(&every_heap[2], seed, calls_count);

    REQUIRE(tau_frames_init(&pool, links, FRAMES, frames_memory) == TAU_OK);
    REQUIRE(tau_frames_add(&pool, (struct tau_frame){0}, FRAMES) == TAU_OK);
    REQUIRE(tau_vspace_init(&space, tables, sizeof tables, LOG2, &pool, TAU_VSPACE_OVERCOMMIT) ==
            TAU_OK);
    REQUIRE(tau_page_heap_init(&paged, &space, (uintptr_t)pages, (struct tau_page){1}, 4,
                               UINT32_MAX) == TAU_OK);
    port_threads_add(paged.blocks);
    see_locks(&every_heap[3]);
    see_locks_of_page_looks();
    play_all(&every_heap[3], seed, calls_count);
    return test_failures_count > 0;
}
