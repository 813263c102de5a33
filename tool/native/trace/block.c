// A block of events as eight streams (docs/spec/trace.md, "A block of events").
//
// 1. op and flags share a byte, in which free is 0 and malloc 1, so that most blocks need one bit.
//    time is the distance to the event before. thread and site are stored unchanged.
// 2. Sizes and alignments are stored for all operations except free, which has none.
// 3. An allocation's slot is predicted. Slots freed in this block are on a stack, and the writer
//    takes them back in that order. So the distance to the prediction is nearly always 0 and the
//    stream vanishes. If the stack is empty, the prediction is one above the slot taken the last
//    time it was empty.
// 4. The slot of a free, realloc or touch is the distance to the slot of the event before, because
//    programs use and free objects that they have just used.
//
// The slot loops have no branch that depends on the data: a random order of malloc and free would
// mispredict every second one.
#include "tool/native/trace/block.h"

#include <stdlib.h>

#include "tool/native/trace/bytes.h"

#define FLAG_SHIFT 3u
#define OP_MASK 7u
// The operations that take a slot, one bit each.
#define TAKES                                                                                      \
    (1u << TAU_TRACE_OP_MALLOC | 1u << TAU_TRACE_OP_CALLOC | 1u << TAU_TRACE_OP_ALIGNED_ALLOC)
// A block's operations are noise if they take more than half a bit each: one byte in 16.
#define NOISY_SHARE 16u
// The largest code of an event without a flag, touches left out.
#define PLAIN_CODE_MAX TAU_TRACE_OP_FREE
#define FLAGS_ALL (TAU_TRACE_FLAG_UNKNOWN | TAU_TRACE_FLAG_INHERITED | TAU_TRACE_FLAG_DOUBLE_FREE)

bool tau_trace_block_coder_open(struct tau_trace_block_coder *coder, bool for_writing) {
    memset(coder, 0, sizeof *coder);
    bool complete = tau_trace_packer_open(&coder->packer, for_writing);
    coder->values = malloc((TAU_TRACE_BLOCK_EVENTS_MAX + 1) * sizeof *coder->values);
    coder->more_values = malloc((TAU_TRACE_BLOCK_EVENTS_MAX + 1) * sizeof *coder->more_values);
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
    return ((TAKES >> op) & 1u) != 0;
}

// Small distances either way become small numbers: 0, -1, 1, -2 … to 0, 1, 2, 3 …
static inline uint32_t fold_sign(uint32_t distance) {
    return (distance << 1) ^ (0u - (distance >> 31));
}

static inline uint32_t unfold_sign(uint32_t folded) {
    return (folded >> 1) ^ (0u - (folded & 1u));
}

// FIRST where MASK is all ones, SECOND where it is 0. Written so because a compiler may turn a ?:
// into a branch.
static inline uint32_t choose(uint32_t mask, uint32_t first, uint32_t second) {
    return second ^ ((first ^ second) & mask);
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
        &writer->coder->packer, stream, values, count, writer->coder->wide, wide_count,
        writer->directory + stream * TAU_TRACE_STREAM_ENTRY_BYTES, writer->to);
}

// The low halves of the distances between times; returns the union of their bits.
TAU_TRACE_VECTOR static uint64_t time_distances(const uint64_t *time_ns, uint32_t count,
                                                uint32_t *values) {
    uint64_t bits = 0;
    values[0] = 0;
    for (uint32_t i = 1; i < count; i++) {
        uint64_t distance = time_ns[i] - time_ns[i - 1];
        values[i] = (uint32_t)distance;
        bits |= distance;
    }
    return bits;
}

static void put_times(struct payload_writer *writer, const uint64_t *time_ns, uint32_t count) {
    uint32_t *values = writer->coder->values;
    uint64_t wide_bits = time_distances(time_ns, count, values);
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

// Stores each slot's distance to its prediction: for allocations in TAKES, for frees and reallocs
// in GIVES. Returns the number of allocations.
static uint32_t pack_slots(uint32_t *stack, const struct tau_trace_columns *columns, uint32_t count,
                           uint32_t *takes, uint32_t *gives) {
    const uint32_t *const takes_start = takes;
    uint32_t depth = 0, next = 0, before = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t op = columns->op[i], slot = columns->slot[i];
        if (columns->flags[i] != 0) {
            *gives++ = slot - TAU_TRACE_SLOT_NONE;
            continue;
        }
        if (op == TAU_TRACE_OP_FREE) {
            *gives++ = slot - before;
            stack[depth++] = slot;
        } else if (op == TAU_TRACE_OP_REALLOC || op == TAU_TRACE_OP_TOUCH) {
            *gives++ = slot - before;
        } else if (depth > 0) {
            *takes++ = slot - stack[--depth];
        } else {
            *takes++ = slot - next;
            next = slot + 1;
        }
        before = slot;
    }
    return (uint32_t)(takes - takes_start);
}

// The same without a branch, for a block without flags and touches whose operations come in no
// order that a processor could predict: then it takes half the time.
static uint32_t pack_noisy_slots(uint32_t *stack, const struct tau_trace_columns *columns,
                                 uint32_t count, uint32_t *takes, uint32_t *gives) {
    uint32_t depth = 0, next = 0, before = 0, takes_at = 0;
    stack[0] = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t op = columns->op[i], slot = columns->slot[i];
        uint32_t is_take = (TAKES >> op) & 1u, take_mask = 0u - is_take, empty = depth == 0;
        // Both get the value; the one that is not meant keeps its count and is overwritten.
        takes[takes_at] = slot - choose(0u - empty, next, stack[depth]);
        gives[i - takes_at] = slot - before;
        takes_at += is_take;
        next = choose(take_mask & (0u - empty), slot + 1, next);
        stack[depth + 1] = slot;  // kept only if the depth grows
        depth += (op >> 2) - (is_take & (empty ^ 1u));
        before = slot;
    }
    return takes_at;
}

static void put_slots(struct payload_writer *writer, const struct tau_trace_columns *columns,
                      uint32_t count, bool noisy) {
    struct tau_trace_block_coder *coder = writer->coder;
    uint32_t *takes = coder->values, *gives = coder->more_values;
    uint32_t takes_count = noisy ? pack_noisy_slots(coder->free_slots, columns, count, takes, gives)
                                 : pack_slots(coder->free_slots, columns, count, takes, gives);
    uint32_t gives_count = count - takes_count;
    for (uint32_t i = 0; i < takes_count; i++) {
        takes[i] = fold_sign(takes[i]);
    }
    for (uint32_t i = 0; i < gives_count; i++) {
        gives[i] = fold_sign(gives[i]);
    }
    put_stream(writer, TAU_TRACE_STREAM_ALLOC_SLOT, takes, takes_count, 0);
    put_stream(writer, TAU_TRACE_STREAM_FREE_SLOT, gives, gives_count, 0);
}

static void put_sizes(struct payload_writer *writer, const struct tau_trace_columns *columns,
                      uint32_t count) {
    struct tau_trace_block_coder *coder = writer->coder;
    uint32_t *values = coder->values;
    uint32_t kept = 0, wide_count = 0;
    uint64_t wide_bits = 0;
    for (uint32_t i = 0; i < count; i++) {
        values[kept] = (uint32_t)columns->size_bytes[i];
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
    uint8_t any = 0;
    for (uint32_t i = 0; columns->align_log2 != NULL && i < count; i++) {
        any |= columns->align_log2[i];
    }
    if (any == 0) {
        return;  // an entry of zeros: all are 0
    }
    for (uint32_t i = 0; i < count; i++) {
        values[kept] = columns->align_log2[i];
        kept += columns->op[i] != TAU_TRACE_OP_FREE;
    }
    put_stream(writer, TAU_TRACE_STREAM_ALIGN, values, kept, 0);
}

// Op and flags as one byte; returns the largest.
TAU_TRACE_VECTOR static uint8_t code_ops(const struct tau_trace_columns *columns, uint32_t count,
                                         uint8_t *codes) {
    const uint8_t *ops = columns->op, *all_flags = columns->flags;
    uint8_t max = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t code = ops[i] == TAU_TRACE_OP_FREE ? 0 : (uint8_t)(ops[i] + 1);
        codes[i] = (uint8_t)(code | all_flags[i] << FLAG_SHIFT);
        max = codes[i] > max ? codes[i] : max;
    }
    return max;
}

size_t tau_trace_block_pack(struct tau_trace_block_coder *coder,
                            const struct tau_trace_columns *columns, uint32_t count,
                            uint8_t *payload) {
    struct payload_writer writer = {.coder = coder, .directory = payload};
    writer.to = payload + TAU_TRACE_STREAMS_COUNT * TAU_TRACE_STREAM_ENTRY_BYTES;
    memset(payload, 0, TAU_TRACE_STREAMS_COUNT * TAU_TRACE_STREAM_ENTRY_BYTES);
    uint8_t max = code_ops(columns, count, coder->op_bytes);
    size_t op_stored = tau_trace_stream_pack_bytes(&coder->packer, TAU_TRACE_STREAM_OP,
                                                   coder->op_bytes, count, payload, writer.to);
    writer.to += op_stored;
    bool noisy = max <= PLAIN_CODE_MAX && op_stored > count / NOISY_SHARE;
    put_times(&writer, columns->time_ns, count);
    memcpy(coder->values, columns->thread, count * sizeof *coder->values);
    put_stream(&writer, TAU_TRACE_STREAM_THREAD, coder->values, count, 0);
    put_slots(&writer, columns, count, noisy);
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

TAU_TRACE_VECTOR static uint32_t max_of(const uint32_t *values, uint32_t count) {
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
    bool mixed;  // flags or touches: an event's byte is not its op alone, or takes the long way
    bool noisy;  // not mixed, and the operations took more than half a bit each
};

// The stream of ops and flags as bytes.
static bool take_op_bytes(struct payload_reader *reader, uint32_t count, uint8_t *bytes) {
    const uint8_t *entry = reader->directory + TAU_TRACE_STREAM_OP * TAU_TRACE_STREAM_ENTRY_BYTES;
    size_t stored_bytes = 0;
    if (!tau_trace_stream_size(entry, count, &stored_bytes) || stored_bytes > reader->left) {
        return false;
    }
    const uint8_t *stored = reader->from;
    reader->from += stored_bytes;
    reader->left -= stored_bytes;
    return tau_trace_stream_unpack_bytes(&reader->coder->packer, entry, stored, count, bytes,
                                         reader->coder->values);
}

// Counts in bytes first, as the compiler's vectors like it; 255 is the most that a byte takes.
TAU_TRACE_VECTOR static void count_ops(const uint8_t *bytes, uint32_t count, uint32_t *frees,
                                       uint32_t *reallocs) {
    for (uint32_t at = 0; at < count;) {
        uint8_t part_frees = 0, part_reallocs = 0;
        uint32_t stop = count - at < 240 ? count : at + 240;
        for (; at < stop; at++) {
            part_frees = (uint8_t)(part_frees + (bytes[at] == TAU_TRACE_OP_FREE));
            part_reallocs = (uint8_t)(part_reallocs + (bytes[at] == TAU_TRACE_OP_REALLOC));
        }
        *frees += part_frees;
        *reallocs += part_reallocs;
    }
}

// Decodes a block with flags or touches. Returns false if a byte is none that a writer makes.
static bool decode_mixed_ops(uint8_t *bytes, uint32_t count, struct op_counts *counts) {
    uint32_t takes = 0, frees = 0, flags = 0, bad = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t code = bytes[i] & OP_MASK, flag = bytes[i] >> FLAG_SHIFT;
        uint32_t op = code == 0 ? TAU_TRACE_OP_FREE : code - 1;
        bytes[i] = (uint8_t)((op & OP_MASK) | flag << FLAG_SHIFT);
        bad |= (code == TAU_TRACE_OP_FREE + 1) | (op > TAU_TRACE_OP_TOUCH) | (flag > FLAGS_ALL) |
               ((flag & (flag - 1)) != 0) |
               ((flag != 0) & (op != TAU_TRACE_OP_FREE) & (op != TAU_TRACE_OP_REALLOC));
        takes += op_takes_slot(op);
        frees += op == TAU_TRACE_OP_FREE;
        flags |= flag;
    }
    *counts = (struct op_counts){
        .takes = takes, .sized = count - frees, .flagged = flags != 0, .mixed = true};
    return bad == 0;
}

// Flags and touches are rare in most traces, so a block without them is known by its largest byte
// and takes the short way.
static bool take_ops(struct payload_reader *reader, uint32_t count, struct op_counts *counts) {
    uint8_t *bytes = reader->coder->op_bytes;
    const uint8_t *stored = reader->from;
    if (!take_op_bytes(reader, count, bytes)) {
        return false;
    }
    size_t stored_bytes = (size_t)(reader->from - stored);
    uint8_t max = 0;
    for (uint32_t i = 0; i < count; i++) {
        max = bytes[i] > max ? bytes[i] : max;
    }
    if (max > PLAIN_CODE_MAX) {
        return decode_mixed_ops(bytes, count, counts);
    }
    uint32_t frees = 0, reallocs = 0;
    for (uint32_t i = 0; i < count; i++) {
        bytes[i] = bytes[i] == 0 ? TAU_TRACE_OP_FREE : (uint8_t)(bytes[i] - 1);
    }
    count_ops(bytes, count, &frees, &reallocs);
    *counts = (struct op_counts){.takes = count - frees - reallocs,
                                 .sized = count - frees,
                                 .noisy = stored_bytes > count / NOISY_SHARE};
    return true;
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

// The slots of a block. TAKES has the distances of allocations, GIVES the others. Returns the
// largest slot; TAU_TRACE_SLOT_NONE of a flagged event does not count.
static uint32_t unpack_slots(uint32_t *stack, const uint8_t *ops, uint32_t count,
                             const uint32_t *takes, const uint32_t *gives, uint32_t *slot_out) {
    uint32_t depth = 0, next = 0, before = 0, max = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slot;
        if (ops[i] == TAU_TRACE_OP_FREE) {
            slot = before + *gives++;
            stack[depth++] = slot;
        } else if (ops[i] > OP_MASK) {
            slot_out[i] = TAU_TRACE_SLOT_NONE + *gives++;
            max = slot_out[i] > max && slot_out[i] != TAU_TRACE_SLOT_NONE ? slot_out[i] : max;
            continue;
        } else if (ops[i] == TAU_TRACE_OP_REALLOC || ops[i] == TAU_TRACE_OP_TOUCH) {
            slot = before + *gives++;
        } else if (depth > 0) {
            slot = stack[--depth] + *takes++;
        } else {
            slot = next + *takes++;
            next = slot + 1;
        }
        before = slot;
        max = slot > max ? slot : max;
        slot_out[i] = slot;
    }
    return max;
}

// The same for a block without flags and touches whose operations come in no order that a
// processor could predict: without a branch on them it takes half the time; with an order it would
// take twice.
static uint32_t unpack_noisy_slots(uint32_t *stack, const uint8_t *ops, uint32_t count,
                                   const uint32_t *takes, const uint32_t *gives,
                                   uint32_t *slot_out) {
    uint32_t depth = 0, next = 0, before = 0, takes_at = 0, max = 0;
    stack[0] = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t op = ops[i];
        uint32_t is_take = (TAKES >> op) & 1u;
        uint32_t take_mask = 0u - is_take;
        uint32_t empty = depth == 0;
        uint32_t predicted = choose(0u - empty, next, stack[depth]);
        uint32_t code = choose(take_mask, takes[takes_at], gives[i - takes_at]);
        uint32_t slot = choose(take_mask, predicted, before) + code;
        takes_at += is_take;
        next = choose(take_mask & (0u - empty), slot + 1, next);
        stack[depth + 1] = slot;  // kept only if the depth grows
        depth += (op >> 2) - (is_take & (empty ^ 1u));
        before = slot;
        max = slot > max ? slot : max;
        slot_out[i] = slot;
    }
    return max;
}

static bool take_slots(struct payload_reader *reader, uint32_t count,
                       const struct op_counts *counts, uint64_t slots_count, uint32_t *slot_out) {
    struct tau_trace_block_coder *coder = reader->coder;
    uint32_t *takes = slot_out == NULL ? NULL : coder->values;
    uint32_t *gives = slot_out == NULL ? NULL : coder->more_values;
    uint32_t gives_count = count - counts->takes;
    if (!take_stream(reader, TAU_TRACE_STREAM_ALLOC_SLOT, counts->takes, takes, NULL, NULL) ||
        !take_stream(reader, TAU_TRACE_STREAM_FREE_SLOT, gives_count, gives, NULL, NULL)) {
        return false;
    }
    if (slot_out == NULL) {
        return true;
    }
    for (uint32_t i = 0; i < counts->takes; i++) {
        takes[i] = unfold_sign(takes[i]);
    }
    for (uint32_t i = 0; i < gives_count; i++) {
        gives[i] = unfold_sign(gives[i]);
    }
    const uint8_t *ops = coder->op_bytes;
    uint32_t max = counts->noisy
                       ? unpack_noisy_slots(coder->free_slots, ops, count, takes, gives, slot_out)
                       : unpack_slots(coder->free_slots, ops, count, takes, gives, slot_out);
    return max < slots_count || (counts->flagged && slots_count == 0 && max == 0);
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

static bool take_aligns(struct payload_reader *reader, uint32_t count,
                        const struct op_counts *counts, uint8_t *align_out) {
    struct tau_trace_block_coder *coder = reader->coder;
    const uint8_t *entry =
        reader->directory + TAU_TRACE_STREAM_ALIGN * TAU_TRACE_STREAM_ENTRY_BYTES;
    static const uint8_t absent[TAU_TRACE_STREAM_ENTRY_BYTES];
    if (align_out != NULL && !counts->mixed && memcmp(entry, absent, sizeof absent) == 0) {
        memset(align_out, 0, count);  // nearly every block: no alignment was asked for
        return true;
    }
    if (!take_stream(reader, TAU_TRACE_STREAM_ALIGN, counts->sized,
                     align_out == NULL ? NULL : coder->values, NULL, NULL)) {
        return false;
    }
    if (align_out == NULL) {
        return true;
    }
    uint32_t at = 0, bad = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t op = coder->op_bytes[i] & OP_MASK, is_sized = op != TAU_TRACE_OP_FREE;
        uint32_t value = coder->values[at & (TAU_TRACE_BLOCK_EVENTS_MAX - 1)] & (0u - is_sized);
        bad |= op == TAU_TRACE_OP_TOUCH ? value - 1 >= TAU_TRACE_TOUCH_GRANULES_MAX : value >= 64;
        align_out[i] = (uint8_t)value;
        at += is_sized;
    }
    return bad == 0;
}

// Ops and flags apart, for the caller.
static void give_ops(const struct tau_trace_block_coder *coder, uint32_t count, bool mixed,
                     const struct tau_trace_columns *columns) {
    if (columns->op != NULL) {
        memcpy(columns->op, coder->op_bytes, count);
    }
    if (columns->flags != NULL) {
        memset(columns->flags, 0, count);
    }
    for (uint32_t i = 0; mixed && columns->op != NULL && i < count; i++) {
        columns->op[i] &= OP_MASK;
    }
    for (uint32_t i = 0; mixed && columns->flags != NULL && i < count; i++) {
        columns->flags[i] = coder->op_bytes[i] >> FLAG_SHIFT;
    }
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
        !take_aligns(&reader, count, &counts, columns->align_log2)) {
        return false;
    }
    give_ops(coder, count, counts.mixed, columns);
    return reader.left == 0 &&
           (columns->thread == NULL || max_of(columns->thread, count) < TAU_TRACE_THREADS_MAX) &&
           (columns->site == NULL || max_of(columns->site, count) <= bounds->sites_count);
}
