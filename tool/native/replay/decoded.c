// Decodes a trace, learns its facts, and walks over its operations; its parts.
#include "tool/native/replay/decoded.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES_END (UINT64_MAX / 2)  // more live bytes than any trace has

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

// A misuse event is skipped, unless it makes a new object, which is then allocated. What is skipped
// gets slot 0: its own may be no object's, and runs fetch the slots of operations ahead.
static struct tau_replay_op op_of_event(const struct tau_trace_columns *columns, size_t i) {
    struct tau_replay_op op = {columns->size_bytes[i], columns->slot[i], columns->op[i],
                               columns->align_log2[i], 0};
    if (columns->flags[i] != 0) {
        const bool leaves_object = op.op == TAU_TRACE_REALLOC && op.slot != TAU_TRACE_SLOT_NONE;
        op.op = leaves_object ? TAU_TRACE_MALLOC : TAU_REPLAY_OP_SKIP;
        op.slot = leaves_object ? op.slot : 0;
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
    } else if (block < replay->blocks && replay->spool != NULL) {
        walk->has_failed = !tau_spool_read(replay->spool, block, replay->spool_buffer, replay->ops,
                                           &walk->count);
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

// Keeps a block of a trace that is not kept in memory, or gives the spool up.
static void spool_block(struct tau_replay *replay, const struct tau_replay_op *ops, size_t count) {
    if (replay->spool != NULL &&
        !tau_spool_write(replay->spool, replay->spool_buffer, ops, count)) {
        tau_spool_close(replay->spool);
        replay->spool = NULL;
    }
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
        spool_block(replay, ops, status == TAU_TRACE_OK ? count : 0);
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
    if (!replay->is_in_memory) {
        replay->spool_buffer = malloc(TAU_SPOOL_BUFFER_BYTES);
        replay->spool = replay->spool_buffer != NULL ? tau_spool_open() : NULL;
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
    tau_spool_close(replay->spool);
    free(replay->ops);
    free(replay->spool_buffer);
    free(replay->objects);
    free(replay->columns_memory);
    free(replay);
}

// ---- a part ----

// An object that is alive where a part starts.
struct alive {
    struct tau_replay_op op;  // that made it, as a malloc
    uint64_t event;           // 0: none is alive in this slot
};

static int order_by_event(const void *left, const void *right) {
    const struct alive *const one = left;
    const struct alive *const other = right;
    return one->event < other->event ? -1 : one->event > other->event;
}

// Appends OP to the part if no rule of replays is against it. False: one is.
static bool part_append(struct tau_replay *part, struct survey *survey,
                        const struct tau_replay_op *op) {
    part->ops[part->facts.events] = *op;
    return survey_op(&part->facts, survey, op, part->facts.events++);
}

// Puts what is alive before event FIRST, oldest first, and the operations to before END into PART.
static bool part_fill(struct tau_replay *replay, struct tau_replay *part, uint64_t first,
                      uint64_t end, struct alive *alive) {
    struct survey survey = {.size_plus_one =
                                calloc(part->facts.slots_count + 1, sizeof(uint64_t))};
    const struct tau_replay_op *op = NULL;
    struct tau_replay_walk walk = tau_replay_walk(replay);
    bool is_sound = survey.size_plus_one != NULL;
    for (uint64_t event = 0; is_sound && event < first && (op = tau_replay_next(&walk)) != NULL;
         event++) {
        if (!tau_replay_passes_over(op)) {
            struct alive *const object = &alive[op->slot];
            *object = (struct alive){*op, op->op == TAU_TRACE_FREE ? 0 : event + 1};
            object->op.op = op->op == TAU_TRACE_REALLOC ? TAU_TRACE_MALLOC : op->op;
        }
    }
    qsort(alive, part->facts.slots_count, sizeof *alive, order_by_event);
    for (uint64_t i = 0; is_sound && i < part->facts.slots_count; i++) {
        is_sound = alive[i].event == 0 || part_append(part, &survey, &alive[i].op);
    }
    for (uint64_t event = first; is_sound && event < end && (op = tau_replay_next(&walk)) != NULL;
         event++) {
        is_sound = part_append(part, &survey, op);
    }
    free(survey.size_plus_one);
    return is_sound && !walk.has_failed;
}

struct tau_replay *tau_replay_part(struct tau_replay *replay, uint64_t first, uint64_t end) {
    struct tau_replay *part = calloc(1, sizeof *part);
    const uint64_t slots = replay->facts.slots_count;
    struct alive *alive = calloc(slots + 1, sizeof *alive);
    if (part != NULL) {
        part->is_in_memory = true;
        part->facts.slots_count = slots;
        part->ops = malloc((slots + end - first + 1) * sizeof *part->ops);
        part->objects = calloc(slots + 1, sizeof *part->objects);
    }
    if (part == NULL || alive == NULL || part->ops == NULL || part->objects == NULL ||
        !part_fill(replay, part, first, end, alive)) {
        tau_replay_close(part);
        part = NULL;
    }
    free(alive);
    return part;
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
