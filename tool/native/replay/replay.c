// Runs a trace's operations on a system and checks every result. See replay.h.
#include "tool/native/replay/replay.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tool/native/replay/decoded.h"

#define ALIGNMENT_LOG2_MAX 36

// ---- the arena ----

// Where the arena starts: no object's offset depends on the address that the system gave. A heap
// is too small for objects at larger alignments.
static uint64_t arena_alignment(const struct tau_replay *replay) {
    const uint64_t log2 = replay->facts.align_log2_max;
    const uint64_t asked = UINT64_C(1) << (log2 < ALIGNMENT_LOG2_MAX ? log2 : ALIGNMENT_LOG2_MAX);
    return asked > TAU_REPLAY_ARENA_ALIGNMENT ? asked : TAU_REPLAY_ARENA_ALIGNMENT;
}

uint8_t *tau_replay_arena(struct tau_replay *replay, uint64_t size_bytes) {
    if (size_bytes <= replay->arena_bytes) {
        return replay->arena;
    }
    if (size_bytes > (UINT64_C(1) << 46)) {
        return NULL;
    }
    if (replay->arena_mapping != NULL) {
        (void)munmap(replay->arena_mapping, replay->arena_mapping_bytes);
        replay->arena_mapping = NULL;
        replay->arena_bytes = 0;
    }
    // Twice the requested size, so that a galloping search seldom maps again. Untouched pages cost
    // nothing.
    const uint64_t alignment = arena_alignment(replay);
    const uint64_t bytes = 2 * size_bytes + alignment;
    uint8_t *mapping = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) {
        return NULL;
    }
    const uint64_t misplaced = (uintptr_t)mapping % alignment;
    replay->arena_mapping = mapping;
    replay->arena_mapping_bytes = bytes;
    replay->arena = mapping + (misplaced == 0 ? 0 : alignment - misplaced);
    replay->arena_bytes = 2 * size_bytes;
    return replay->arena;
}

// ---- running ----

// tau_replay_map's arguments, the arena and the next column.
struct map {
    const uint8_t *arena;
    uint64_t row_bytes;
    uint64_t rows;
    uint64_t columns;
    uint64_t column;
    uint8_t *cells;
};

struct run {
    struct map *map;  // NULL: none is drawn.
    struct tau_replay_system *system;
    struct tau_replay_result *result;
    void *heap;
    struct tau_content_object *objects;
    struct tau_content *content;  // NULL: unchecked
};

// Alignment takes precedence over clearing: no system offers both, and placement is what counts.
static bool is_cleared(const struct tau_replay_system *system, const struct tau_replay_op *op) {
    return op->op == TAU_TRACE_CALLOC && op->align_log2 == 0 && system->calloc != NULL;
}

static void *run_allocate(const struct run *run, const struct tau_replay_op *op) {
    const struct tau_replay_system *system = run->system;
    const size_t size_bytes = (size_t)op->size_bytes;
    if (op->align_log2 != 0 && op->op != TAU_TRACE_REALLOC && system->aligned_alloc != NULL) {
        return system->aligned_alloc(run->heap, (size_t)1 << op->align_log2, size_bytes);
    }
    // Unchecked, calloc's clearing would only cost time: the object lies where malloc puts it.
    if (is_cleared(system, op) && run->content != NULL) {
        return system->calloc(run->heap, 1, size_bytes);
    }
    return system->malloc(run->heap, size_bytes);
}

static enum tau_replay_fault run_refused(struct run *run) {
    struct tau_replay_result *result = run->result;
    if (!run->system->goes_on) {
        return TAU_REPLAY_NO_MEMORY;
    }
    result->first_refusal = result->refusals == 0 ? run->system->event : result->first_refusal;
    result->refusals++;
    return TAU_REPLAY_COMPLETED;
}

static enum tau_replay_fault run_new_object(struct run *run, const struct tau_replay_op *op,
                                            uint8_t *pointer) {
    const struct tau_replay_system *system = run->system;
    struct tau_content_object *object = &run->objects[op->slot];
    if (pointer == NULL || run->content == NULL) {
        object->pointer = pointer;
        object->size_bytes = op->size_bytes;
        return pointer == NULL ? run_refused(run) : TAU_REPLAY_COMPLETED;
    }
    struct tau_content_answer answer = {
        .event = system->event,
        .offset = (uint64_t)((uintptr_t)pointer - (uintptr_t)run->content->arena),
        .alignment = object->alignment,
        .is_cleared = is_cleared(system, op),
    };
    if (op->op != TAU_TRACE_REALLOC || system->realloc_forgets_alignment) {
        answer.alignment = system->aligned_alloc != NULL
                               ? tau_replay_alignment(op, system->alignment)
                               : system->alignment;
    }
    return tau_content_take(run->content, object, op, &answer);
}

// Resizes an object of a system that has no realloc. Its content has been checked.
static enum tau_replay_fault run_move(struct run *run, const struct tau_replay_op *op,
                                      const struct tau_content_object *old) {
    struct tau_replay_system *system = run->system;
    uint8_t *pointer = run_allocate(run, op);
    const uint64_t kept = old->size_bytes < op->size_bytes ? old->size_bytes : op->size_bytes;
    if (pointer != NULL &&
        (run->content == NULL || tau_content_has_room(run->content, pointer, kept))) {
        memmove(pointer, old->pointer, kept);
        system->payload_bytes += kept;
    }
    const enum tau_replay_fault fault = run_new_object(run, op, pointer);
    if (fault == TAU_REPLAY_COMPLETED && pointer != NULL) {
        (void)system->free(run->heap, old->pointer);
    }
    return fault;
}

static enum tau_replay_fault run_realloc(struct run *run, const struct tau_replay_op *op) {
    struct tau_content_object *object = &run->objects[op->slot];
    const struct tau_content_object old = *object;
    enum tau_replay_fault fault = TAU_REPLAY_COMPLETED;
    if (old.pointer == NULL) {  // it was refused
        struct tau_replay_op malloc_op = *op;
        malloc_op.op = TAU_TRACE_MALLOC;
        run->system->op = &malloc_op;
        return run_new_object(run, &malloc_op, run_allocate(run, &malloc_op));
    }
    if (run->content != NULL && !tau_content_remove(run->content, object, op->slot)) {
        return TAU_REPLAY_OVERWRITTEN;
    }
    if (run->system->realloc == NULL) {
        fault = run_move(run, op, &old);
    } else {
        uint8_t *pointer = run->system->realloc(run->heap, old.pointer, (size_t)op->size_bytes);
        if (pointer != NULL && run->content != NULL &&
            !tau_content_survives(run->content, pointer, old.size_bytes, op->size_bytes,
                                  op->slot)) {
            return TAU_REPLAY_OVERWRITTEN;
        }
        fault = run_new_object(run, op, pointer);
    }
    if (fault == TAU_REPLAY_COMPLETED && object->pointer == NULL) {  // refused: it stays as it was
        *object = old;
        fault =
            run->content == NULL ? fault : tau_content_add(run->content, object, op->slot, false);
    }
    return fault;
}

static enum tau_replay_fault run_free(struct run *run, const struct tau_replay_op *op) {
    struct tau_content_object *object = &run->objects[op->slot];
    if (object->pointer == NULL) {
        return TAU_REPLAY_COMPLETED;
    }
    if (run->content != NULL && !tau_content_remove(run->content, object, op->slot)) {
        return TAU_REPLAY_OVERWRITTEN;
    }
    const int status = run->system->free(run->heap, object->pointer);
    object->pointer = NULL;
    return status == 0 ? TAU_REPLAY_COMPLETED : TAU_REPLAY_FREE_REFUSED;
}

static enum tau_replay_fault run_op(struct run *run, const struct tau_replay_op *op) {
    switch (op->op) {
    case TAU_TRACE_FREE:
        return run_free(run, op);
    case TAU_TRACE_REALLOC:
        return run_realloc(run, op);
    case TAU_TRACE_TOUCH:
    case TAU_REPLAY_OP_SKIP:
        return TAU_REPLAY_COMPLETED;
    default:
        return run_new_object(run, op, run_allocate(run, op));
    }
}

// Draws the next column.
static void map_column(const struct tau_replay *replay, struct map *map) {
    uint64_t used[TAU_REPLAY_MAP_ROWS_MAX] = {0};
    for (uint64_t slot = 0; slot < replay->facts.slots_count; slot++) {
        const struct tau_content_object *object = &replay->objects[slot];
        uint64_t at = object->pointer == NULL ? 0 : (uint64_t)(object->pointer - map->arena);
        const uint64_t end = object->pointer == NULL ? 0 : at + object->size_bytes;
        while (at < end && at / map->row_bytes < map->rows) {
            const uint64_t row = at / map->row_bytes;
            const uint64_t next = (row + 1) * map->row_bytes;
            used[row] += (next < end ? next : end) - at;
            at = next;
        }
    }
    for (uint64_t row = 0; row < map->rows; row++) {
        const uint64_t share = (255 * used[row] + map->row_bytes - 1) / map->row_bytes;
        map->cells[row * map->columns + map->column] = (uint8_t)share;
    }
    map->column++;
}

static enum tau_replay_fault run_all(struct tau_replay *replay, struct run *run) {
    struct tau_replay_system *system = run->system;
    struct tau_replay_walk walk = tau_replay_walk(replay);
    for (const struct tau_replay_op *op; (op = tau_replay_next(&walk)) != NULL; system->event++) {
        system->op = op;
        const enum tau_replay_fault fault = run_op(run, op);
        if (fault != TAU_REPLAY_COMPLETED || system->is_stopped) {
            run->result->fault_event = system->event;
            run->result->fault_size_bytes = op->size_bytes;
            return system->is_stopped ? system->stop_fault : fault;
        }
        if (system->parts != NULL && system->event == replay->facts.peak_event) {
            system->parts(system, run->heap, &run->result->at_peak);
        }
        struct map *map = run->map;
        while (map != NULL && map->column < map->columns &&
               (system->event + 1) * map->columns >= (map->column + 1) * replay->facts.events) {
            map_column(replay, map);
        }
    }
    return walk.has_failed ? TAU_REPLAY_TRACE_FAILED : TAU_REPLAY_COMPLETED;
}

// Notes the heap that the events up to here needed, of HEAP_BYTES.
static void place_note(const struct tau_replay *replay, const struct run *run,
                       uint64_t heap_bytes) {
    const struct tau_replay_system *system = run->system;
    const uint64_t untouched_bytes = system->place_untouched(system);
    for (unsigned prefix = 0; prefix < TAU_REPLAY_PREFIXES; prefix++) {
        uint64_t *const bytes = &run->result->prefix_bytes[prefix];
        if (*bytes == 0 && untouched_bytes != SIZE_MAX &&
            system->event >= replay->facts.events * (prefix + 1) / TAU_REPLAY_PREFIXES) {
            *bytes = heap_bytes - untouched_bytes;
        }
    }
}

// How many of COUNT operations from EVENT on are in the same sixteenth of the events.
static size_t place_count(const struct tau_replay *replay, uint64_t event, size_t count) {
    for (uint64_t prefix = 1; prefix <= TAU_REPLAY_PREFIXES; prefix++) {
        const uint64_t end = replay->facts.events * prefix / TAU_REPLAY_PREFIXES;
        if (event < end) {
            return end - event < count ? (size_t)(end - event) : count;
        }
    }
    return count;
}

// As run_all for an unchecked run of a system that places whole blocks of operations.
static enum tau_replay_fault place_all(struct tau_replay *replay, struct run *run, uint8_t *arena,
                                       uint64_t heap_bytes) {
    struct tau_replay_system *system = run->system;
    if (!system->place_start(system, arena, (size_t)heap_bytes, replay->facts.slots_count)) {
        return TAU_REPLAY_HOST_MEMORY;
    }
    struct tau_replay_walk walk = tau_replay_walk(replay);
    while (tau_replay_walk_block(&walk)) {
        while (walk.next < walk.count) {
            const size_t count = place_count(replay, system->event, walk.count - walk.next);
            const size_t done = system->place(system, walk.ops + walk.next, count);
            system->event += done;
            walk.next += done;
            if (done < count) {
                run->result->fault_event = system->event;
                run->result->fault_size_bytes = walk.ops[walk.next].size_bytes;
                return TAU_REPLAY_NO_MEMORY;
            }
            place_note(replay, run, heap_bytes);
        }
    }
    return walk.has_failed ? TAU_REPLAY_TRACE_FAILED : TAU_REPLAY_COMPLETED;
}

// Lets the system start in ARENA, and prepares the checks of its memory. Returns the fault it
// shows.
static enum tau_replay_fault run_start(struct run *run, uint8_t *arena, uint64_t heap_bytes) {
    struct tau_replay_system *system = run->system;
    system->event = 0;
    run->heap = system->init(system, arena, (size_t)heap_bytes);
    run->result->init_status = (uint64_t)system->init_status;
    if (run->heap == NULL || system->is_stopped) {
        return system->is_stopped ? system->stop_fault : TAU_REPLAY_INIT_FAILED;
    }
    const bool has_own = system->arena != NULL;
    const bool is_ready =
        run->content == NULL || tau_content_start(run->content, has_own ? system->arena : arena,
                                                  has_own ? system->arena_bytes : heap_bytes);
    return is_ready ? TAU_REPLAY_COMPLETED : TAU_REPLAY_HOST_MEMORY;
}

// The heap that a completed run needed, of HEAP_BYTES; 0: unknown.
static uint64_t needed_bytes(const struct run *run, bool is_placed, uint64_t heap_bytes) {
    const struct tau_replay_system *const system = run->system;
    if (!is_placed || system->place_untouched == NULL) {
        return 0;
    }
    const uint64_t untouched_bytes = system->place_untouched(system);
    return untouched_bytes <= heap_bytes ? heap_bytes - untouched_bytes : 0;
}

static void run_with(struct tau_replay *replay, struct tau_replay_system *system,
                     uint64_t heap_bytes, uint32_t is_checked, struct map *map,
                     struct tau_replay_result *result) {
    memset(result, 0, sizeof *result);
    uint8_t *arena = tau_replay_arena(replay, heap_bytes);
    if (arena == NULL) {
        result->fault = TAU_REPLAY_HOST_MEMORY;
        return;
    }
    const bool is_placed = is_checked == 0 && map == NULL && system->place != NULL;
    if (!is_placed) {
        memset(replay->objects, 0, replay->facts.slots_count * sizeof(struct tau_content_object));
    }
    struct run run = {.map = map, .system = system, .result = result, .objects = replay->objects};
    run.content = is_checked != 0 ? &replay->content : NULL;
    enum tau_replay_fault fault = run_start(&run, arena, heap_bytes);
    if (fault != TAU_REPLAY_COMPLETED || system->is_stopped) {
        result->fault = (uint64_t)fault;
        return;
    }
    if (map != NULL) {
        map->arena = arena;
    }
    fault = is_placed ? place_all(replay, &run, arena, heap_bytes) : run_all(replay, &run);
    result->fault = (uint64_t)fault;
    result->needed_bytes = fault == TAU_REPLAY_COMPLETED
                               ? needed_bytes(&run, is_placed, heap_bytes)
                               : 0;
    result->placement_hash = is_checked != 0 ? replay->content.placement_hash : 0;
    result->footprint_bytes = system->footprint == NULL ? heap_bytes : system->footprint(run.heap);
}

void tau_replay_run(struct tau_replay *replay, struct tau_replay_system *system,
                    uint64_t heap_bytes, uint32_t is_checked, struct tau_replay_result *result) {
    run_with(replay, system, heap_bytes, is_checked, NULL, result);
}

uint64_t tau_replay_least(struct tau_replay *replay, struct tau_replay_system *system) {
    if (system->count == NULL || !system->count_start(system, replay->facts.slots_count)) {
        return 0;
    }
    uint64_t least_bytes = 0;
    struct tau_replay_walk walk = tau_replay_walk(replay);
    while (tau_replay_walk_block(&walk)) {
        least_bytes = system->count(system, walk.ops, walk.count);
    }
    return walk.has_failed ? 0 : least_bytes;
}

bool tau_replay_map(struct tau_replay *replay, struct tau_replay_system *system,
                    uint64_t heap_bytes, uint64_t rows, uint64_t columns, uint8_t *cells) {
    if (rows == 0 || rows > TAU_REPLAY_MAP_ROWS_MAX || system->arena != NULL) {
        return false;
    }
    struct map map = {.rows = rows, .columns = columns, .cells = cells};
    map.row_bytes = heap_bytes / rows + 1;
    struct tau_replay_result result;
    run_with(replay, system, heap_bytes, 0, &map, &result);
    return result.fault == TAU_REPLAY_COMPLETED;
}

void tau_system_close(struct tau_replay_system *system) {
    if (system != NULL) {
        system->close(system);
    }
}
