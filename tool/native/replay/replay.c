// Reads a trace's operations, runs them on a system and checks every result. See replay.h.
#include "tool/native/replay/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tool/native/replay/content.h"

#define BYTES_END (UINT64_MAX / 2)  // more live bytes than any trace has

struct tau_replay {
    struct tau_trace_reader *reader;
    struct tau_replay_facts facts;
    struct tau_replay_op *ops;  // all events, or one block when the trace is streamed
    bool is_in_memory;
    uint64_t next_block;  // for the walk under way; in memory, all events are one block
    uint64_t blocks;
    struct tau_trace_columns columns;
    void *columns_memory;
    struct tau_content_object *objects;  // one a slot
    uint8_t *arena_mapping;
    uint64_t arena_mapping_bytes;
    uint8_t *arena;
    uint64_t arena_bytes;
    struct tau_content content;
};

// ---- reading ----

static bool columns_allocate(struct tau_replay *replay) {
    const size_t count = TAU_TRACE_BLOCK_EVENTS_MAX;
    uint8_t *memory = malloc(count * (sizeof(uint64_t) + sizeof(uint32_t) + 3));
    if (memory == NULL) {
        return false;
    }
    replay->columns_memory = memory;
    replay->columns.size_bytes = (uint64_t *)(void *)memory;
    memory += count * sizeof(uint64_t);
    replay->columns.slot = (uint32_t *)(void *)memory;
    memory += count * sizeof(uint32_t);
    replay->columns.op = memory;
    replay->columns.flags = memory + count;
    replay->columns.align_log2 = memory + 2 * count;
    return true;
}

// A misuse event is skipped, unless it makes a new object, which is then allocated.
static struct tau_replay_op op_of_event(const struct tau_trace_columns *columns, size_t i) {
    struct tau_replay_op op = {columns->size_bytes[i], columns->slot[i], columns->op[i],
                               columns->align_log2[i], 0};
    if (columns->flags[i] != 0) {
        const bool leaves_object = op.op == TAU_TRACE_REALLOC && op.slot != TAU_TRACE_SLOT_NONE;
        op.op = leaves_object ? TAU_TRACE_MALLOC : TAU_REPLAY_OP_SKIP;
    }
    const bool is_request = op.op <= TAU_TRACE_ALIGNED_ALLOC;
    if (is_request && op.size_bytes == 0) {
        op.size_bytes = 1;
        op.is_empty = 1;
    }
    return op;
}

static enum tau_trace_status block_read(struct tau_replay *replay, uint64_t block,
                                        struct tau_replay_op *ops, size_t *count) {
    const enum tau_trace_status status =
        tau_trace_reader_block(replay->reader, block, &replay->columns, count);
    for (size_t i = 0; status == TAU_TRACE_OK && i < *count; i++) {
        ops[i] = op_of_event(&replay->columns, i);
    }
    return status;
}

struct tau_replay_walk tau_replay_walk(struct tau_replay *replay) {
    replay->next_block = 0;
    return (struct tau_replay_walk){.replay = replay, .ops = replay->ops};
}

bool tau_replay_walk_block(struct tau_replay_walk *walk) {
    struct tau_replay *replay = walk->replay;
    const uint64_t block = replay->next_block++;
    walk->next = 0;
    walk->count = 0;
    if (replay->is_in_memory) {
        walk->count = block == 0 ? (size_t)replay->facts.events : 0;
    } else if (block < replay->blocks) {
        walk->has_failed = block_read(replay, block, replay->ops, &walk->count) != TAU_TRACE_OK;
    }
    return walk->count > 0 && !walk->has_failed;
}

bool tau_replay_times(struct tau_replay *replay, uint64_t index, uint64_t *times, size_t *count) {
    const struct tau_trace_columns columns = {.time_ns = times};
    *count = 0;
    return index == replay->blocks ||
           tau_trace_reader_block(replay->reader, index, &columns, count) == TAU_TRACE_OK;
}

// The live objects while the trace is read for the first time.
struct survey {
    uint64_t *size_plus_one;  // a slot; 0 = not live
    uint64_t live_bytes;
    uint64_t live_objects;
    bool is_too_large;
};

static bool survey_op(struct tau_replay_facts *facts, struct survey *survey,
                      const struct tau_replay_op *op, uint64_t event) {
    if (op->op == TAU_REPLAY_OP_SKIP) {
        facts->skipped++;
        return true;
    }
    if (op->op >= TAU_TRACE_OPS_COUNT || op->slot >= facts->slots_count) {
        return false;
    }
    uint64_t *size_plus_one = &survey->size_plus_one[op->slot];
    if (op->op == TAU_TRACE_TOUCH) {
        facts->events_of_op[TAU_TRACE_TOUCH]++;
        return *size_plus_one != 0;
    }
    if (op->align_log2 > 63) {
        return false;
    }
    const bool takes_object = op->op == TAU_TRACE_FREE || op->op == TAU_TRACE_REALLOC;
    if (takes_object != (*size_plus_one != 0)) {
        return false;
    }
    if (takes_object) {
        survey->live_bytes -= *size_plus_one - 1;
        survey->live_objects--;
        *size_plus_one = 0;
    }
    if (op->op != TAU_TRACE_FREE) {
        const uint64_t asked = op->size_bytes - op->is_empty;
        *size_plus_one = asked + 1;
        survey->live_objects++;
        survey->is_too_large = asked >= BYTES_END - survey->live_bytes;
        if (survey->is_too_large) {
            return false;
        }
        survey->live_bytes += asked;
        if (op->size_bytes > facts->size_bytes_max) {
            facts->size_bytes_max = op->size_bytes;
        }
        if (op->align_log2 > facts->align_log2_max) {
            facts->align_log2_max = op->align_log2;
        }
    }
    facts->events_of_op[op->op]++;
    if (survey->live_bytes > facts->peak_live_bytes) {
        facts->peak_live_bytes = survey->live_bytes;
        facts->peak_event = event;
        facts->objects_at_peak = survey->live_objects;
    }
    if (survey->live_objects > facts->peak_live_objects) {
        facts->peak_live_objects = survey->live_objects;
    }
    return true;
}

// Reads the whole trace once: keeps the operations if they fit, and learns the facts.
static enum tau_trace_status read_all(struct tau_replay *replay, uint64_t events_max,
                                      struct tau_replay_refusal *refusal) {
    struct tau_replay_facts *facts = &replay->facts;
    struct survey survey = {0};
    survey.size_plus_one = calloc(facts->slots_count + 1, sizeof(uint64_t));
    if (survey.size_plus_one == NULL) {
        return TAU_TRACE_NO_MEMORY;
    }
    enum tau_trace_status status = TAU_TRACE_OK;
    for (uint64_t block = 0; block < replay->blocks && status == TAU_TRACE_OK; block++) {
        struct tau_replay_op *ops = replay->ops + (replay->is_in_memory ? facts->events : 0);
        size_t count = 0;
        status = block_read(replay, block, ops, &count);
        if (status == TAU_TRACE_OK && facts->events + count > events_max) {
            status = TAU_TRACE_CORRUPT;
        }
        for (size_t i = 0; i < count && status == TAU_TRACE_OK; i++) {
            refusal->event = facts->events + i;
            if (!survey_op(facts, &survey, &ops[i], refusal->event)) {
                status = TAU_TRACE_CORRUPT;
            }
        }
        facts->events += count;
    }
    free(survey.size_plus_one);
    refusal->is_too_large = survey.is_too_large ? 1 : 0;
    return status;
}

static enum tau_trace_status open_all(struct tau_replay *replay, uint64_t ops_in_memory_max,
                                      struct tau_replay_refusal *refusal) {
    const struct tau_trace_totals *totals = tau_trace_reader_totals(replay->reader);
    if (totals->slots_count_max > totals->events) {
        return TAU_TRACE_CORRUPT;
    }
    replay->blocks = totals->blocks;
    replay->facts.slots_count = totals->slots_count_max;
    replay->is_in_memory = totals->events <= ops_in_memory_max;
    // A block more than the events: a block is decoded before its count is compared with the total.
    const uint64_t ops_count =
        (replay->is_in_memory ? totals->events : 0) + TAU_TRACE_BLOCK_EVENTS_MAX;
    replay->ops = malloc(ops_count * sizeof(struct tau_replay_op));
    replay->objects = calloc(totals->slots_count_max + 1, sizeof(struct tau_content_object));
    if (replay->ops == NULL || replay->objects == NULL || !columns_allocate(replay)) {
        return TAU_TRACE_NO_MEMORY;
    }
    return read_all(replay, totals->events, refusal);
}

struct tau_replay *tau_replay_open(struct tau_trace_reader *reader, uint64_t ops_in_memory_max,
                                   struct tau_replay_refusal *refusal) {
    struct tau_replay *replay = calloc(1, sizeof(struct tau_replay));
    *refusal = (struct tau_replay_refusal){.status = TAU_TRACE_NO_MEMORY};
    if (replay == NULL) {
        return NULL;
    }
    replay->reader = reader;
    const enum tau_trace_status status = open_all(replay, ops_in_memory_max, refusal);
    refusal->status = (uint64_t)status;
    if (status != TAU_TRACE_OK) {
        tau_replay_close(replay);
        return NULL;
    }
    return replay;
}

const struct tau_replay_facts *tau_replay_facts(const struct tau_replay *replay) {
    return &replay->facts;
}

void tau_replay_close(struct tau_replay *replay) {
    if (replay == NULL) {
        return;
    }
    if (replay->arena_mapping != NULL) {
        (void)munmap(replay->arena_mapping, replay->arena_mapping_bytes);
    }
    tau_content_release(&replay->content);
    free(replay->ops);
    free(replay->objects);
    free(replay->columns_memory);
    free(replay);
}

int tau_replay_dump(struct tau_replay *replay, int file_descriptor) {
    struct tau_replay_walk walk = tau_replay_walk(replay);
    while (tau_replay_walk_block(&walk)) {
        const uint8_t *bytes = (const uint8_t *)walk.ops;
        size_t left = walk.count * sizeof(struct tau_replay_op);
        while (left > 0) {
            const ssize_t written = write(file_descriptor, bytes, left);
            if (written < 0 && errno != EINTR) {
                return errno;
            }
            const size_t step = written < 0 ? 0 : (size_t)written;
            bytes += step;
            left -= step;
        }
    }
    return walk.has_failed ? EIO : 0;
}

// ---- the arena ----

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
    const uint64_t bytes = 2 * size_bytes + TAU_REPLAY_ARENA_ALIGNMENT;
    uint8_t *mapping = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) {
        return NULL;
    }
    const uint64_t misplaced = (uintptr_t)mapping % TAU_REPLAY_ARENA_ALIGNMENT;
    replay->arena_mapping = mapping;
    replay->arena_mapping_bytes = bytes;
    replay->arena = mapping + (misplaced == 0 ? 0 : TAU_REPLAY_ARENA_ALIGNMENT - misplaced);
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

// As run_all for an unchecked run of a system that places whole blocks of operations.
static enum tau_replay_fault place_all(struct tau_replay *replay, struct run *run, uint8_t *arena,
                                       uint64_t heap_bytes) {
    struct tau_replay_system *system = run->system;
    if (!system->place_start(system, arena, (size_t)heap_bytes, replay->facts.slots_count)) {
        return TAU_REPLAY_HOST_MEMORY;
    }
    struct tau_replay_walk walk = tau_replay_walk(replay);
    while (tau_replay_walk_block(&walk)) {
        const size_t done = system->place(system, walk.ops, walk.count);
        system->event += done;
        if (done < walk.count) {
            run->result->fault_event = system->event;
            run->result->fault_size_bytes = walk.ops[done].size_bytes;
            return TAU_REPLAY_NO_MEMORY;
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
