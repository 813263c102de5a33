// A block of events as eight streams (SPEC.md, "A block of events").
//
// 1. op and flags share a byte; time is the distance to the event before; thread and site are taken
// as they are.
// 2. Sizes and alignments are kept for allocations only: a free has none.
// 3. An allocation's slot is predicted: slots freed in this block lie on a stack, and the writer
// takes them back in that order,
//    so the distance to the prediction is nearly always 0 and the stream vanishes. With the stack
//    empty the prediction is one above the slot taken last time it was empty.
// 4. A free's slot is the distance to the slot of the event before: programs free what they just
// used.
//
// The slot loops have no branch that depends on the data: a random order of malloc and free would
// mispredict every second one.
#include "tool/native/trace_block.h"

#include <stdlib.h>

#include "tool/native/trace_bytes.h"

#define FLAG_SHIFT 3u
#define OP_MASK 7u
#define FLAGS_ALL (TAU_TRACE_FLAG_UNKNOWN | TAU_TRACE_FLAG_INHERITED | TAU_TRACE_FLAG_DOUBLE_FREE)

bool tau_trace_block_coder_open(struct tau_trace_block_coder *coder, bool for_writing) {
    memset(coder, 0, sizeof *coder);
    bool complete = tau_trace_packer_open(&coder->packer, for_writing);
    coder->values = malloc(TAU_TRACE_BLOCK_EVENTS_MAX * sizeof *coder->values);
    coder->more_values = malloc(TAU_TRACE_BLOCK_EVENTS_MAX * sizeof *coder->more_values);
    coder->wide = malloc(TAU_TRACE_BLOCK_EVENTS_MAX * sizeof *coder->wide);
    coder->free_slots = malloc((TAU_TRACE_BLOCK_EVENTS_MAX + 2) * sizeof *coder->free_slots);
    coder->op_bytes = malloc(TAU_TRACE_BLOCK_EVENTS_MAX);
    return complete && coder->values != NULL && coder->more_values != NULL && coder->wide != NULL &&
           coder->free_slots != NULL && coder->op_bytes != NULL;
}

void tau_trace_block_coder_close(struct tau_trace_block_coder *coder) {
    tau_trace_packer_close(&coder->packer);
    free(coder->values);
    free(coder->more_values);
    free(coder->wide);
    free(coder->free_slots);
    free(coder->op_bytes);
    memset(coder, 0, sizeof *coder);
}

static inline bool op_takes_slot(uint32_t op) {
    return op != TAU_TRACE_OP_FREE && op != TAU_TRACE_OP_REALLOC;
}

// Small distances either way become small numbers: 0, -1, 1, -2 … to 0, 1, 2, 3 …
static inline uint32_t fold_sign(uint32_t distance) {
    return (distance << 1) ^ (0u - (distance >> 31));
}

static inline uint32_t unfold_sign(uint32_t folded) {
    return (folded >> 1) ^ (0u - (folded & 1u));
}

// The state of the slot prediction, which packing and unpacking advance alike.
struct slot_state {
    uint32_t *stack;  // [0]: the prediction when nothing was freed; then the freed slots
    uint32_t depth;
    uint32_t before;  // slot of the event before
};

// What an event's slot is told relative to. A flagged event's object is nobody's:
// TAU_TRACE_SLOT_NONE is its zero.
static inline uint32_t slot_reference(const struct slot_state *state, bool takes, bool flagged) {
    uint32_t reference = takes ? state->stack[state->depth] : state->before;
    return flagged ? TAU_TRACE_SLOT_NONE : reference;
}

static inline void slot_advance(struct slot_state *state, uint32_t slot, bool takes, bool gives) {
    bool from_stack = takes && state->depth > 0;
    bool explicit_slot = takes && state->depth == 0;
    state->stack[0] = explicit_slot ? slot + 1 : state->stack[0];
    state->stack[state->depth + 1] = slot;  // kept only if the depth grows
    state->depth += (uint32_t)gives - (uint32_t)from_stack;
}

// ---- packing --------------------------------------------------------------------------

struct payload_writer {
    struct tau_trace_block_coder *coder;
    uint8_t *directory;
    uint8_t *to;
};

static void put_stream(struct payload_writer *writer, unsigned stream, uint32_t *values,
                       uint32_t count, uint32_t wide_count) {
    writer->to += tau_trace_stream_pack(
        &writer->coder->packer, values, count, writer->coder->wide, wide_count,
        writer->directory + stream * TAU_TRACE_STREAM_ENTRY_BYTES, writer->to);
}

static void put_times(struct payload_writer *writer, const uint64_t *time_ns, uint32_t count) {
    uint32_t *values = writer->coder->values;
    uint64_t before = time_ns[0], wide_bits = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t distance = time_ns[i] - before;
        before = time_ns[i];
        values[i] = (uint32_t)distance;
        wide_bits |= distance;
    }
    uint32_t wide_count = 0;
    for (uint32_t i = 1; wide_bits >> 32 != 0 && i < count; i++) {
        uint64_t high = (time_ns[i] - time_ns[i - 1]) >> 32;
        if (high != 0) {
            writer->coder->wide[wide_count++] =
                (struct tau_trace_wide){.place = i, .high = (uint32_t)high};
        }
    }
    put_stream(writer, TAU_TRACE_STREAM_TIME, values, count, wide_count);
}

static void put_slots(struct payload_writer *writer, const struct tau_trace_columns *columns,
                      uint32_t count) {
    struct tau_trace_block_coder *coder = writer->coder;
    uint32_t *takes_codes = coder->values, *gives_codes = coder->more_values;
    struct slot_state state = {.stack = coder->free_slots, .depth = 0, .before = 0};
    state.stack[0] = 0;
    uint32_t takes_count = 0, gives_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t op = columns->op[i], slot = columns->slot[i];
        bool flagged = columns->flags[i] != 0;
        bool takes = op_takes_slot(op);
        uint32_t code = fold_sign(slot - slot_reference(&state, takes, flagged));
        // Both arrays have the room; the one that is not meant keeps its count and is overwritten.
        takes_codes[takes_count & (TAU_TRACE_BLOCK_EVENTS_MAX - 1)] = code;
        gives_codes[gives_count & (TAU_TRACE_BLOCK_EVENTS_MAX - 1)] = code;
        takes_count += takes;
        gives_count += !takes;
        slot_advance(&state, slot, takes, op == TAU_TRACE_OP_FREE && !flagged);
        state.before = flagged ? state.before : slot;
    }
    put_stream(writer, TAU_TRACE_STREAM_ALLOC_SLOT, takes_codes, takes_count, 0);
    put_stream(writer, TAU_TRACE_STREAM_FREE_SLOT, gives_codes, gives_count, 0);
}

static void put_sizes(struct payload_writer *writer, const struct tau_trace_columns *columns,
                      uint32_t count) {
    struct tau_trace_block_coder *coder = writer->coder;
    uint32_t *values = coder->values;
    uint32_t kept = 0, wide_count = 0;
    uint64_t wide_bits = 0;
    for (uint32_t i = 0; i < count; i++) {
        values[kept & (TAU_TRACE_BLOCK_EVENTS_MAX - 1)] = (uint32_t)columns->size_bytes[i];
        kept += columns->op[i] != TAU_TRACE_OP_FREE;
        wide_bits |= columns->size_bytes[i];
    }
    if (wide_bits >> 32 != 0) {
        uint32_t place = 0;
        for (uint32_t i = 0; i < count; i++) {
            if (columns->size_bytes[i] >> 32 != 0) {
                coder->wide[wide_count++] = (struct tau_trace_wide){
                    .place = place, .high = (uint32_t)(columns->size_bytes[i] >> 32)};
            }
            place += columns->op[i] != TAU_TRACE_OP_FREE;
        }
    }
    put_stream(writer, TAU_TRACE_STREAM_SIZE, values, kept, wide_count);
}

static void put_aligns(struct payload_writer *writer, const struct tau_trace_columns *columns,
                       uint32_t count) {
    uint32_t *values = writer->coder->values;
    uint32_t kept = 0;
    for (uint32_t i = 0; columns->align_log2 != NULL && i < count; i++) {
        values[kept & (TAU_TRACE_BLOCK_EVENTS_MAX - 1)] = columns->align_log2[i];
        kept += columns->op[i] != TAU_TRACE_OP_FREE;
    }
    put_stream(writer, TAU_TRACE_STREAM_ALIGN, values, kept, 0);
}

size_t tau_trace_block_pack(struct tau_trace_block_coder *coder,
                            const struct tau_trace_columns *columns, uint32_t count,
                            uint8_t *payload) {
    struct payload_writer writer = {.coder = coder, .directory = payload};
    writer.to = payload + TAU_TRACE_STREAMS_COUNT * TAU_TRACE_STREAM_ENTRY_BYTES;
    memset(payload, 0, TAU_TRACE_STREAMS_COUNT * TAU_TRACE_STREAM_ENTRY_BYTES);
    for (uint32_t i = 0; i < count; i++) {
        coder->values[i] = columns->op[i] | (uint32_t)columns->flags[i] << FLAG_SHIFT;
    }
    put_stream(&writer, TAU_TRACE_STREAM_OP, coder->values, count, 0);
    put_times(&writer, columns->time_ns, count);
    memcpy(coder->values, columns->thread, count * sizeof *coder->values);
    put_stream(&writer, TAU_TRACE_STREAM_THREAD, coder->values, count, 0);
    put_slots(&writer, columns, count);
    put_sizes(&writer, columns, count);
    if (columns->site != NULL) {
        memcpy(coder->values, columns->site, count * sizeof *coder->values);
        put_stream(&writer, TAU_TRACE_STREAM_SITE, coder->values, count, 0);
    }
    put_aligns(&writer, columns, count);
    return (size_t)(writer.to - payload);
}

// ---- unpacking ------------------------------------------------------------------------

struct payload_reader {
    struct tau_trace_block_coder *coder;
    const uint8_t *directory;
    const uint8_t *from;
    size_t left;
};

// Unpacks the stream at the reader's place, or steps over it if VALUES is NULL.
static bool take_stream(struct payload_reader *reader, unsigned stream, uint32_t count,
                        uint32_t *values, struct tau_trace_wide *wide, uint32_t *wide_count) {
    const uint8_t *entry = reader->directory + stream * TAU_TRACE_STREAM_ENTRY_BYTES;
    size_t bytes = 0;
    if (!tau_trace_stream_size(entry, count, &bytes) || bytes > reader->left) {
        return false;
    }
    const uint8_t *stored = reader->from;
    reader->from += bytes;
    reader->left -= bytes;
    return values == NULL || tau_trace_stream_unpack(&reader->coder->packer, entry, stored, count,
                                                     values, wide, wide_count);
}

static uint32_t max_of(const uint32_t *values, uint32_t count) {
    uint32_t max = 0;
    for (uint32_t i = 0; i < count; i++) {
        max = values[i] > max ? values[i] : max;
    }
    return max;
}

// How many values the streams of allocations and of sizes have follows from the ops.
struct op_counts {
    uint32_t takes;  // malloc, calloc, aligned_alloc
    uint32_t sized;  // all but free
    bool flagged;
};

static bool take_ops(struct payload_reader *reader, uint32_t count, struct op_counts *counts) {
    uint32_t *values = reader->coder->values;
    if (!take_stream(reader, TAU_TRACE_STREAM_OP, count, values, NULL, NULL)) {
        return false;
    }
    uint32_t takes = 0, frees = 0, bad = 0, flags = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t op = values[i] & OP_MASK, flag = values[i] >> FLAG_SHIFT;
        bool taking = op_takes_slot(op);
        bad |= (op > TAU_TRACE_OP_FREE) | (flag > FLAGS_ALL) | ((flag & (flag - 1)) != 0) |
               (taking & (flag != 0));
        takes += taking;
        frees += op == TAU_TRACE_OP_FREE;
        flags |= flag;
        reader->coder->op_bytes[i] = (uint8_t)values[i];
    }
    *counts = (struct op_counts){.takes = takes, .sized = count - frees, .flagged = flags != 0};
    return bad == 0;
}

static bool take_times(struct payload_reader *reader, uint32_t count, uint64_t start_ns,
                       uint64_t *time_ns) {
    struct tau_trace_block_coder *coder = reader->coder;
    uint32_t wide_count = 0;
    if (!take_stream(reader, TAU_TRACE_STREAM_TIME, count, time_ns == NULL ? NULL : coder->values,
                     coder->wide, &wide_count)) {
        return false;
    }
    if (time_ns == NULL) {
        return true;
    }
    uint64_t now = start_ns;
    bool backwards = false;
    uint32_t at = 0;
    for (uint32_t w = 0; w <= wide_count; w++) {
        uint32_t stop = w < wide_count ? coder->wide[w].place : count;
        for (; at < stop; at++) {
            now += coder->values[at];
            time_ns[at] = now;
        }
        if (w < wide_count) {
            uint64_t distance = coder->values[at] | (uint64_t)coder->wide[w].high << 32;
            backwards = backwards || now + distance < now;
            now += distance;
            time_ns[at++] = now;
        }
    }
    return !backwards && now >= start_ns;
}

static bool take_slots(struct payload_reader *reader, uint32_t count,
                       const struct op_counts *counts, uint64_t slots_count, uint32_t *slot_out) {
    struct tau_trace_block_coder *coder = reader->coder;
    uint32_t *takes_codes = slot_out == NULL ? NULL : coder->values;
    uint32_t *gives_codes = slot_out == NULL ? NULL : coder->more_values;
    if (!take_stream(reader, TAU_TRACE_STREAM_ALLOC_SLOT, counts->takes, takes_codes, NULL, NULL) ||
        !take_stream(reader, TAU_TRACE_STREAM_FREE_SLOT, count - counts->takes, gives_codes, NULL,
                     NULL)) {
        return false;
    }
    if (slot_out == NULL) {
        return true;
    }
    struct slot_state state = {.stack = coder->free_slots, .depth = 0, .before = 0};
    state.stack[0] = 0;
    uint32_t takes_at = 0, gives_at = 0;
    bool bad = false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t op = coder->op_bytes[i] & OP_MASK;
        bool flagged = coder->op_bytes[i] >> FLAG_SHIFT != 0;
        bool takes = op_takes_slot(op);
        uint32_t code = takes ? takes_codes[takes_at & (TAU_TRACE_BLOCK_EVENTS_MAX - 1)]
                              : gives_codes[gives_at & (TAU_TRACE_BLOCK_EVENTS_MAX - 1)];
        takes_at += takes;
        gives_at += !takes;
        uint32_t slot = slot_reference(&state, takes, flagged) + unfold_sign(code);
        slot_advance(&state, slot, takes, op == TAU_TRACE_OP_FREE && !flagged);
        state.before = flagged ? state.before : slot;
        bad |= (slot >= slots_count) & !(flagged & (slot == TAU_TRACE_SLOT_NONE));
        slot_out[i] = slot;
    }
    return !bad;
}

static bool take_sizes(struct payload_reader *reader, uint32_t count, uint32_t sized,
                       uint64_t *size_out) {
    struct tau_trace_block_coder *coder = reader->coder;
    uint32_t wide_count = 0;
    if (!take_stream(reader, TAU_TRACE_STREAM_SIZE, sized, size_out == NULL ? NULL : coder->values,
                     coder->wide, &wide_count)) {
        return false;
    }
    if (size_out == NULL) {
        return true;
    }
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t is_sized = (coder->op_bytes[i] & OP_MASK) != TAU_TRACE_OP_FREE;
        size_out[i] = coder->values[at & (TAU_TRACE_BLOCK_EVENTS_MAX - 1)] & (0u - is_sized);
        at += is_sized;
    }
    uint32_t place = 0;
    for (uint32_t i = 0, w = 0; w < wide_count && i < count; i++) {
        if ((coder->op_bytes[i] & OP_MASK) != TAU_TRACE_OP_FREE &&
            place++ == coder->wide[w].place) {
            size_out[i] |= (uint64_t)coder->wide[w++].high << 32;
        }
    }
    return true;
}

static bool take_aligns(struct payload_reader *reader, uint32_t count, uint32_t sized,
                        uint8_t *align_out) {
    struct tau_trace_block_coder *coder = reader->coder;
    const uint8_t *entry =
        reader->directory + TAU_TRACE_STREAM_ALIGN * TAU_TRACE_STREAM_ENTRY_BYTES;
    static const uint8_t absent[TAU_TRACE_STREAM_ENTRY_BYTES];
    if (align_out != NULL && memcmp(entry, absent, sizeof absent) == 0) {
        memset(align_out, 0, count);  // nearly every block: no alignment was asked for
        return true;
    }
    if (!take_stream(reader, TAU_TRACE_STREAM_ALIGN, sized,
                     align_out == NULL ? NULL : coder->values, NULL, NULL)) {
        return false;
    }
    if (align_out == NULL) {
        return true;
    }
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t is_sized = (coder->op_bytes[i] & OP_MASK) != TAU_TRACE_OP_FREE;
        align_out[i] =
            (uint8_t)(coder->values[at & (TAU_TRACE_BLOCK_EVENTS_MAX - 1)] & (0u - is_sized));
        at += is_sized;
    }
    return max_of(coder->values, sized) < 64;
}

bool tau_trace_block_unpack(struct tau_trace_block_coder *coder, const uint8_t *payload,
                            size_t payload_bytes, uint32_t count, uint64_t start_ns,
                            const struct tau_trace_bounds *bounds,
                            const struct tau_trace_columns *columns) {
    const size_t directory_bytes = TAU_TRACE_STREAMS_COUNT * TAU_TRACE_STREAM_ENTRY_BYTES;
    if (payload_bytes < directory_bytes || count == 0 || count > TAU_TRACE_BLOCK_EVENTS_MAX) {
        return false;
    }
    struct payload_reader reader = {.coder = coder,
                                    .directory = payload,
                                    .from = payload + directory_bytes,
                                    .left = payload_bytes - directory_bytes};
    struct op_counts counts;
    if (!take_ops(&reader, count, &counts) ||
        !take_times(&reader, count, start_ns, columns->time_ns) ||
        !take_stream(&reader, TAU_TRACE_STREAM_THREAD, count, columns->thread, NULL, NULL) ||
        !take_slots(&reader, count, &counts, bounds->slots_count, columns->slot) ||
        !take_sizes(&reader, count, counts.sized, columns->size_bytes) ||
        !take_stream(&reader, TAU_TRACE_STREAM_SITE, count, columns->site, NULL, NULL) ||
        !take_aligns(&reader, count, counts.sized, columns->align_log2)) {
        return false;
    }
    for (uint32_t i = 0; columns->op != NULL && i < count; i++) {
        columns->op[i] = coder->op_bytes[i] & OP_MASK;
    }
    for (uint32_t i = 0; columns->flags != NULL && i < count; i++) {
        columns->flags[i] = coder->op_bytes[i] >> FLAG_SHIFT;
    }
    return reader.left == 0 &&
           (columns->thread == NULL || max_of(columns->thread, count) < TAU_TRACE_THREADS_MAX) &&
           (columns->site == NULL || max_of(columns->site, count) <= bounds->sites_count);
}
