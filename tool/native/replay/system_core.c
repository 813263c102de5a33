// Systems that live in a shared library with the interface of core/tlsf.h or, with a plan, of
// core/budget.h or core/pools.h.
#include <assert.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/budget.h"
#include "core/config.h"
#include "core/pools.h"
#include "core/status.h"
#include "tool/native/replay/placing.h"
#include "tool/native/replay/replay.h"

#define SYMBOL_BYTES_MAX 128u

typedef void *(*tlsf_init)(void *memory, size_t size_bytes, size_t pool_max_bytes);
typedef int (*budget_init)(void **heap, void *memory, size_t size_bytes,
                           const struct tau_budget_class *classes, size_t count);

typedef int (*pools_init)(void **heap, void *memory, size_t size_bytes,
                          const struct tau_budget_class *bands, size_t count,
                          size_t alignment_bytes);

typedef struct tau_tlsf_statistics (*tlsf_statistics)(const void *heap);
typedef struct tau_budget_statistics (*budget_statistics)(const void *heap);
typedef struct tau_pools_statistics (*pools_statistics)(const void *heap);
typedef struct tau_budget_class_statistics (*class_statistics)(const void *heap, size_t index);
typedef struct tau_pools_band_statistics (*band_statistics)(const void *heap, size_t index);

struct placing_calls {
    struct tau_placing *(*open)(const struct tau_budget_class *classes, size_t count,
                                size_t fixed_bytes);
    bool (*start)(struct tau_placing *placing, uint8_t *arena, size_t heap_bytes,
                  size_t slots_count);
    size_t (*execute)(struct tau_placing *placing, const struct tau_replay_op *ops, size_t count);
    bool (*count_start)(struct tau_placing *placing, size_t slots_count);
    size_t (*untouched)(const struct tau_placing *placing);
    void (*tables)(const struct tau_placing *placing, size_t heap_bytes, bool is_by_level,
                   struct tau_replay_tables *tables);
    void (*count)(struct tau_placing *placing, const struct tau_replay_op *ops, size_t count);
    size_t (*least)(const struct tau_placing *placing);
    void (*close)(struct tau_placing *placing);
};

struct core_state {
    void *library;
    void *placing_library;  // NULL: unchecked runs call the library, too
    struct tau_placing *placing;
    struct placing_calls place;
    tlsf_init init_tlsf;
    budget_init init_budget;
    pools_init init_pools;
    tlsf_statistics tlsf;
    budget_statistics budget;
    pools_statistics pools;
    class_statistics budget_class;
    band_statistics pools_band;
    size_t block_alignment;  // for pools
    size_t classes_count;
    struct tau_budget_class classes[];
};

static void *tlsf_start(struct tau_replay_system *system, void *arena, size_t size_bytes) {
    const struct core_state *state = system->state;
    void *heap = state->init_tlsf(arena, size_bytes, 0);
    system->init_status = heap == NULL ? TAU_POOL_TOO_SMALL : TAU_OK;
    return heap;
}

static void *budget_start(struct tau_replay_system *system, void *arena, size_t size_bytes) {
    const struct core_state *state = system->state;
    void *heap = NULL;
    system->init_status =
        state->init_budget(&heap, arena, size_bytes, state->classes, state->classes_count);
    return system->init_status == TAU_OK ? heap : NULL;
}

static void *pools_start(struct tau_replay_system *system, void *arena, size_t size_bytes) {
    const struct core_state *state = system->state;
    void *heap = NULL;
    system->init_status = state->init_pools(&heap, arena, size_bytes, state->classes,
                                            state->classes_count, state->block_alignment);
    return system->init_status == TAU_OK ? heap : NULL;
}

// Adds what the heap behind the pools, or the heap without pools, holds.
static void parts_add(struct tau_replay_parts *parts, const struct tau_tlsf_statistics *shared) {
    parts->control_bytes += shared->control_bytes;
    parts->blocks_bytes += shared->used_bytes;
}

static void pooled_add(struct tau_replay_parts *parts, size_t alignment, uint64_t size_bytes,
                       uint64_t used_count) {
    parts->pooled += used_count;
    parts->blocks_bytes += (size_bytes + alignment - 1) / alignment * alignment * used_count;
}

static void tlsf_parts(const struct tau_replay_system *system, const void *heap,
                       struct tau_replay_parts *parts) {
    const struct core_state *state = system->state;
    const struct tau_tlsf_statistics found = state->tlsf(heap);
    parts_add(parts, &found);
}

static void budget_parts(const struct tau_replay_system *system, const void *heap,
                         struct tau_replay_parts *parts) {
    const struct core_state *state = system->state;
    const struct tau_budget_statistics found = state->budget(heap);
    parts->control_bytes = found.control_bytes;
    parts_add(parts, &found.shared);
    for (size_t i = 0; i < found.classes_count; i++) {
        const struct tau_budget_class_statistics one = state->budget_class(heap, i);
        pooled_add(parts, system->alignment, one.size_bytes, one.used_count);
    }
}

static void pools_parts(const struct tau_replay_system *system, const void *heap,
                        struct tau_replay_parts *parts) {
    const struct core_state *state = system->state;
    const struct tau_pools_statistics found = state->pools(heap);
    parts->control_bytes = found.control_bytes;
    parts_add(parts, &found.overflow);
    for (size_t i = 0; i < found.bands_count; i++) {
        const struct tau_pools_band_statistics one = state->pools_band(heap, i);
        pooled_add(parts, system->alignment, one.size_bytes, one.used_count);
    }
}

static size_t place_untouched(const struct tau_replay_system *system) {
    const struct core_state *state = system->state;
    return state->place.untouched(state->placing);
}

void tau_system_core_tables(struct tau_replay_system *system, uint64_t heap_bytes,
                            uint32_t is_by_level, struct tau_replay_tables *tables) {
    const struct core_state *state = system->state;
    assert(state->placing != NULL);
    state->place.tables(state->placing, (size_t)heap_bytes, is_by_level != 0, tables);
}

static bool place_start(struct tau_replay_system *system, uint8_t *arena, size_t size_bytes,
                        size_t slots_count) {
    const struct core_state *state = system->state;
    return state->place.start(state->placing, arena, size_bytes, slots_count);
}

static size_t place(struct tau_replay_system *system, const struct tau_replay_op *ops,
                    size_t count) {
    const struct core_state *state = system->state;
    return state->place.execute(state->placing, ops, count);
}

static bool count_start(struct tau_replay_system *system, size_t slots_count) {
    const struct core_state *state = system->state;
    return state->place.count_start(state->placing, slots_count);
}

static size_t count(struct tau_replay_system *system, const struct tau_replay_op *ops,
                    size_t ops_count) {
    const struct core_state *state = system->state;
    state->place.count(state->placing, ops, ops_count);
    return state->place.least(state->placing);
}

static void core_close(struct tau_replay_system *system) {
    struct core_state *state = system->state;
    if (state != NULL && state->placing != NULL) {
        state->place.close(state->placing);
    }
    if (state != NULL && state->placing_library != NULL) {
        (void)dlclose(state->placing_library);
    }
    if (state != NULL && state->library != NULL) {
        (void)dlclose(state->library);
    }
    free(state);
    free(system);
}

// Function and data pointers differ in ISO C; POSIX makes dlsym's result usable as either.
static bool symbol_find(void *library, const char *prefix, const char *verb, void *function) {
    char name[SYMBOL_BYTES_MAX];
    const int length = snprintf(name, sizeof name, "%s_%s", prefix, verb);
    if (length < 0 || (size_t)length >= sizeof name) {
        return false;
    }
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

static bool symbols_find(struct tau_replay_system *system, const char *prefix, uint32_t kind) {
    struct core_state *state = system->state;
    void *library = state->library;
    void *const inits[] = {&state->init_tlsf, &state->init_budget, &state->init_pools};
    void *(*const starts[])(struct tau_replay_system *, void *, size_t) = {tlsf_start, budget_start,
                                                                           pools_start};
    // A first-fit list has no others.
    (void)symbol_find(library, prefix, "calloc", &system->calloc);
    (void)symbol_find(library, prefix, "aligned_alloc", &system->aligned_alloc);
    (void)symbol_find(library, prefix, "realloc", &system->realloc);
    system->init = starts[kind];
    return symbol_find(library, prefix, "init", inits[kind]) &&
           symbol_find(library, prefix, "malloc", &system->malloc) &&
           symbol_find(library, prefix, "free", &system->free);
}

// Lets a heap of ours say how it is divided. Functions of these names in other libraries may have
// other prototypes.
static void parts_find(struct tau_replay_system *system, const char *prefix, uint32_t kind) {
    struct core_state *state = system->state;
    static const char *const ours[] = {"tau_tlsf", "tau_budget", "tau_pools"};
    void *const functions[] = {&state->tlsf, &state->budget, &state->pools};
    void (*const parts[])(const struct tau_replay_system *, const void *,
                          struct tau_replay_parts *) = {tlsf_parts, budget_parts, pools_parts};
    if (strcmp(prefix, ours[kind]) == 0 &&
        symbol_find(state->library, prefix, "statistics", functions[kind]) &&
        symbol_find(state->library, "tau_budget", "class_statistics", &state->budget_class) &&
        symbol_find(state->library, "tau_pools", "band_statistics", &state->pools_band)) {
        system->parts = parts[kind];
    }
}

struct tau_replay_system *tau_system_core_open(const char *library, const char *prefix,
                                               uint32_t kind, const uint32_t *classes,
                                               uint64_t count, uint64_t alignment,
                                               uint64_t block_alignment, const char **cause) {
    if (count > TAU_BUDGET_CLASSES_MAX || kind > TAU_SYSTEM_POOLS) {
        *cause = "a plan has at most 64 classes";
        return NULL;
    }
    *cause = "memory is short";
    struct tau_replay_system *system = calloc(1, sizeof *system);
    struct core_state *state =
        calloc(1, sizeof *state + (size_t)count * sizeof(struct tau_budget_class));
    if (system == NULL || state == NULL) {
        free(system);
        free(state);
        return NULL;
    }
    system->state = state;
    system->alignment = (size_t)alignment;
    system->realloc_forgets_alignment = kind == TAU_SYSTEM_POOLS;
    system->close = core_close;
    state->block_alignment = (size_t)block_alignment;
    state->classes_count = (size_t)count;
    for (size_t i = 0; i < state->classes_count; i++) {
        state->classes[i].size_bytes = classes[2 * i];
        state->classes[i].count = classes[2 * i + 1];
    }
    state->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    *cause = "the library cannot be loaded";
    if (state->library != NULL) {
        *cause = "the library lacks a function of the system";
        if (symbols_find(system, prefix, kind)) {
            parts_find(system, prefix, kind);
            *cause = "";
            return system;
        }
    }
    core_close(system);
    return NULL;
}

bool tau_system_core_place(struct tau_replay_system *system, const char *library) {
    struct core_state *state = system->state;
    size_t fixed_bytes = 0;
    size_t (*size)(const struct tau_budget_class *, size_t, size_t) = NULL;
    assert(state->placing_library == NULL);
    if (state->classes_count != 0) {
        if (!symbol_find(state->library, "tau_budget", "size", &size)) {
            return false;
        }
        fixed_bytes = size(state->classes, state->classes_count, 0);
    }
    struct placing_calls *place_calls = &state->place;
    const struct {
        const char *verb;
        void *function;
    } calls[] = {
        {"untouched", &place_calls->untouched},
        {"tables", &place_calls->tables},
        {"open", &place_calls->open},
        {"start", &place_calls->start},
        {"execute", &place_calls->execute},
        {"count_start", &place_calls->count_start},
        {"count", &place_calls->count},
        {"least", &place_calls->least},
        {"close", &place_calls->close},
    };
    state->placing_library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        if (state->placing_library == NULL || !symbol_find(state->placing_library, "tau_placing",
                                                           calls[i].verb, calls[i].function)) {
            return false;
        }
    }
    state->placing = state->place.open(state->classes, state->classes_count, fixed_bytes);
    if (state->placing == NULL) {
        return false;
    }
    system->place_start = place_start;
    system->place = place;
    system->place_untouched = place_untouched;
    system->count_start = count_start;
    system->count = count;
    return true;
}
