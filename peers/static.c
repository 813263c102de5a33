// The paper's "simple static allocator" [P1-19]: every size has its own buckets, as many as were
// ever live at once.
//
// The regions are laid out once, before the first request, and nothing is reused between sizes:
// what a program without a heap needs. Sizes are rounded up to 8 bytes; objects with an asked
// alignment have classes of their own with that alignment. The counts come from a first walk over
// the trace, so no request ever fails. A resized object moves to the class of its new size. Which
// buckets are free is noted outside the arena: a program with static allocation keeps no such notes
// at run time, so only buckets count.
#include "peers/peers.h"

#include <stdlib.h>
#include <string.h>

#define GRANULE_LOG2 3u
#define TABLE_ENTRIES_MIN 1024u

struct class {
    uint64_t size_bytes;  // rounded up to the granule and the alignment; 0: unused entry
    uint32_t align_log2;
    uint32_t live_count;  // while the trace is walked
    uint32_t count;       // the maximum of live_count: the buckets
    uint32_t free_count;
    uint64_t start_bytes;    // offset of the region
    uint32_t *free_buckets;  // the stack of this class, inside buckets
};

struct static_heap {
    struct tau_replay_system system;
    struct class *classes;  // open addressing, a power of two of entries
    uint64_t capacity;
    uint64_t used;
    uint32_t *buckets;       // the stacks of all classes
    struct class **regions;  // the used classes by start_bytes
    uint64_t total_bytes;
    uint8_t *arena;
};

// ---- the table of classes ----

static uint64_t size_rounded(uint64_t size_bytes, uint32_t align_log2) {
    const uint64_t unit = UINT64_C(1) << align_log2;
    return size_bytes == 0 ? unit : (size_bytes + unit - 1) & ~(unit - 1);
}

static struct class *entry_of(const struct static_heap *heap, uint64_t size_bytes,
                              uint32_t align_log2) {
    uint64_t at = ((size_bytes ^ align_log2) * UINT64_C(0x9e3779b97f4a7c15)) >> 20;
    for (;; at++) {  // bound: half of the entries are unused
        struct class *class = &heap->classes[at & (heap->capacity - 1)];
        if (class->size_bytes == 0 ||
            (class->size_bytes == size_bytes && class->align_log2 == align_log2)) {
            return class;
        }
    }
}

static struct class *class_find(const struct static_heap *heap, uint64_t size_bytes,
                                uint32_t align_log2) {
    const uint32_t align = align_log2 < GRANULE_LOG2 ? GRANULE_LOG2 : align_log2;
    return entry_of(heap, size_rounded(size_bytes, align), align);
}

// Doubles the table. Entries move, so no pointer to one is kept across a call.
static bool table_grow(struct static_heap *heap) {
    struct static_heap larger = *heap;
    larger.capacity = heap->capacity == 0 ? TABLE_ENTRIES_MIN : 2 * heap->capacity;
    larger.classes = calloc(larger.capacity, sizeof(struct class));
    if (larger.classes == NULL) {
        return false;
    }
    for (uint64_t i = 0; i < heap->capacity; i++) {
        const struct class *class = &heap->classes[i];
        if (class->size_bytes != 0) {
            *entry_of(&larger, class->size_bytes, class->align_log2) = *class;
        }
    }
    free(heap->classes);
    heap->classes = larger.classes;
    heap->capacity = larger.capacity;
    return true;
}

static bool class_enter(struct static_heap *heap, uint64_t size_bytes, uint32_t align_log2) {
    if (2 * heap->used >= heap->capacity && !table_grow(heap)) {
        return false;
    }
    struct class *class = class_find(heap, size_bytes, align_log2);
    if (class->size_bytes == 0) {
        class->align_log2 = align_log2 < GRANULE_LOG2 ? GRANULE_LOG2 : align_log2;
        class->size_bytes = size_rounded(size_bytes, class->align_log2);
        heap->used++;
    }
    if (++class->live_count > class->count) {
        class->count = class->live_count;
    }
    return true;
}

// ---- counting what the trace needs ----

// LIVE holds the operation that made each slot's object. While an object moves, both places are
// taken.
static bool survey_op(struct static_heap *heap, struct tau_replay_op *live,
                      const struct tau_replay_op *op) {
    if (tau_replay_passes_over(op)) {
        return true;
    }
    const struct tau_replay_op old = live[op->slot];
    const bool takes_object = op->op == TAU_TRACE_FREE || op->op == TAU_TRACE_REALLOC;
    if (op->op != TAU_TRACE_FREE) {
        const uint8_t align_log2 = takes_object ? old.align_log2 : op->align_log2;
        const bool stays = takes_object && old.size_bytes != 0 &&
                           class_find(heap, old.size_bytes, align_log2) ==
                               class_find(heap, op->size_bytes, align_log2);
        live[op->slot] = *op;
        live[op->slot].align_log2 = align_log2;
        if (stays) {
            return true;
        }
        if (op->size_bytes != 0 && !class_enter(heap, op->size_bytes, align_log2)) {
            return false;
        }
    }
    if (takes_object && old.size_bytes != 0) {
        class_find(heap, old.size_bytes, old.align_log2)->live_count--;
    }
    return true;
}

static bool survey(struct static_heap *heap, struct tau_replay *replay) {
    const uint64_t slots_count = tau_replay_facts(replay)->slots_count;
    struct tau_replay_op *live = calloc(slots_count + 1, sizeof *live);
    struct tau_replay_walk walk = tau_replay_walk(replay);
    const struct tau_replay_op *op = NULL;
    bool is_well = live != NULL;
    while (is_well && (op = tau_replay_next(&walk)) != NULL) {
        is_well = survey_op(heap, live, op);
    }
    free(live);
    return is_well && !walk.has_failed;
}

// ---- laying the regions out ----

static int by_size(const void *left, const void *right) {
    const struct class *a = *(struct class *const *)left;
    const struct class *b = *(struct class *const *)right;
    if (a->align_log2 != b->align_log2) {
        return a->align_log2 < b->align_log2 ? 1 : -1;
    }
    return a->size_bytes < b->size_bytes ? 1 : -(a->size_bytes > b->size_bytes);
}

// The largest alignments come first, so that nothing is lost between regions.
static bool regions_place(struct static_heap *heap) {
    heap->regions = calloc(heap->used + 1, sizeof(struct class *));
    if (heap->regions == NULL) {
        return false;
    }
    uint64_t regions_count = 0;
    uint64_t buckets_count = 0;
    for (uint64_t i = 0; i < heap->capacity; i++) {
        if (heap->classes[i].size_bytes != 0) {
            heap->regions[regions_count++] = &heap->classes[i];
            buckets_count += heap->classes[i].count;
        }
    }
    qsort(heap->regions, regions_count, sizeof(struct class *), by_size);
    heap->buckets = malloc((buckets_count + 1) * sizeof(uint32_t));
    if (heap->buckets == NULL) {
        return false;
    }
    uint32_t *stack = heap->buckets;
    for (uint64_t i = 0; i < regions_count; i++) {
        struct class *class = heap->regions[i];
        class->start_bytes = heap->total_bytes;
        class->free_buckets = stack;
        heap->total_bytes += class->size_bytes * class->count;
        stack += class->count;
    }
    return true;
}

// ---- the interface ----

static void *static_init(struct tau_replay_system *system, void *arena, size_t size_bytes) {
    struct static_heap *heap = system->state;
    if (size_bytes < heap->total_bytes) {
        return NULL;
    }
    heap->arena = arena;
    for (uint64_t i = 0; i < heap->used; i++) {
        struct class *class = heap->regions[i];
        class->free_count = class->count;
        for (uint32_t bucket = 0; bucket < class->count; bucket++) {
            class->free_buckets[bucket] = class->count - 1 - bucket;
        }
    }
    return heap;
}

static void *bucket_take(const struct static_heap *heap, size_t size_bytes, uint32_t align_log2) {
    struct class *class = class_find(heap, size_bytes, align_log2);
    if (size_bytes == 0 || class->free_count == 0) {
        return NULL;
    }
    const uint64_t bucket = class->free_buckets[--class->free_count];
    return heap->arena + class->start_bytes + bucket * class->size_bytes;
}

static struct class *class_of_pointer(const struct static_heap *heap, const uint8_t *pointer) {
    const uint64_t offset = (uint64_t)(pointer - heap->arena);
    uint64_t low = 0;
    uint64_t high = heap->used;
    while (high - low > 1) {  // bound: log2 of the classes
        const uint64_t middle = (low + high) / 2;
        if (heap->regions[middle]->start_bytes <= offset) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return heap->regions[low];
}

static void *static_malloc(void *context, size_t size_bytes) {
    return bucket_take(context, size_bytes, GRANULE_LOG2);
}

static void *static_calloc(void *context, size_t count, size_t size_bytes) {
    void *pointer = static_malloc(context, count * size_bytes);
    if (pointer != NULL) {
        memset(pointer, 0, count * size_bytes);
    }
    return pointer;
}

static void *static_aligned_alloc(void *context, size_t alignment, size_t size_bytes) {
    return bucket_take(context, size_bytes, (uint32_t)__builtin_ctzll(alignment));
}

static int static_free(void *context, void *pointer) {
    const struct static_heap *heap = context;
    struct class *class = class_of_pointer(heap, pointer);
    const uint64_t offset = (uint64_t)((uint8_t *)pointer - heap->arena) - class->start_bytes;
    class->free_buckets[class->free_count++] = (uint32_t)(offset / class->size_bytes);
    return 0;
}

static void *static_realloc(void *context, void *pointer, size_t size_bytes) {
    const struct static_heap *heap = context;
    const struct class *class = class_of_pointer(heap, pointer);
    if (class_find(heap, size_bytes, class->align_log2) == class) {
        return pointer;
    }
    void *moved = bucket_take(heap, size_bytes, class->align_log2);
    if (moved != NULL) {
        memcpy(moved, pointer, size_bytes < class->size_bytes ? size_bytes : class->size_bytes);
        (void)static_free(context, pointer);
    }
    return moved;
}

static size_t static_footprint(void *context) {
    const struct static_heap *heap = context;
    return (size_t)heap->total_bytes;
}

static void static_close(struct tau_replay_system *system) {
    struct static_heap *heap = system->state;
    free(heap->classes);
    free(heap->buckets);
    free(heap->regions);
    free(heap);
}

struct tau_replay_system *tau_system_static_open(struct tau_replay *replay) {
    struct static_heap *heap = calloc(1, sizeof *heap);
    if (heap == NULL) {
        return NULL;
    }
    heap->system = (struct tau_replay_system){
        .init = static_init,
        .malloc = static_malloc,
        .calloc = static_calloc,
        .aligned_alloc = static_aligned_alloc,
        .realloc = static_realloc,
        .free = static_free,
        .footprint = static_footprint,
        .close = static_close,
        .alignment = (size_t)1 << GRANULE_LOG2,
        .state = heap,
    };
    if (!table_grow(heap) || !survey(heap, replay) || !regions_place(heap)) {
        static_close(&heap->system);
        return NULL;
    }
    return &heap->system;
}
