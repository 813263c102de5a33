// The ledger of live objects. A slot's entry names its line of the size table, so that a free needs
// no lookup. Sizes below DIRECT_SIZES are their own line; larger ones
// are found by hash. After TAU_TRACE_SIZES_EXACT_MAX distinct sizes a new one is counted under a
// rounded size, which bounds the table whatever the program asks for.
#include "tool/native/trace/totals.h"

#include <stdlib.h>
#include <string.h>

#include "tool/native/trace/bytes.h"

#define DIRECT_SIZES TAU_TRACE_SIZES_DIRECT
#define LINES_MAX (DIRECT_SIZES + TAU_TRACE_SIZES_EXACT_MAX + TAU_TRACE_SIZES_ROUNDED_MAX)
#define HASH_BITS 18u
#define HASH_ENTRIES (1u << HASH_BITS)
#define LINE_NONE UINT32_MAX
// Events whose columns are looked at together before their objects are.
#define BATCH_EVENTS 1024u

struct size_line {
    uint64_t size_bytes;
    uint64_t allocations;
    uint64_t live;
    uint64_t peak_live;
};

struct tau_trace_ledger {
    struct tau_trace_totals totals;
    uint32_t *line_of_slot;  // LINE_NONE: the slot is free
    uint64_t *size_of_slot;  // only where the line is not direct: then they may differ
    size_t slots_room;
    struct size_line *lines;       // LINES_MAX of them
    uint32_t lines_count;          // the direct ones included
    uint32_t *line_of_hash;        // line, or 0 for none: line 0 is direct
    uint64_t live_low, live_high;  // 128 bits of live bytes: sizes near the largest must not wrap
    uint64_t last_ns;
    uint32_t last_thread;
    uint8_t *thread_seen;  // one bit per thread
    const char *bad_rule;
};

_Static_assert(LINES_MAX < HASH_ENTRIES / 2, "the hash stays at most half full");

struct tau_trace_ledger *tau_trace_ledger_open(void) {
    struct tau_trace_ledger *ledger = calloc(1, sizeof *ledger);
    if (ledger == NULL) {
        return NULL;
    }
    ledger->lines = calloc(LINES_MAX, sizeof *ledger->lines);
    ledger->line_of_hash = calloc(HASH_ENTRIES, sizeof *ledger->line_of_hash);
    ledger->thread_seen = calloc(TAU_TRACE_THREADS_MAX / 8, 1);
    ledger->slots_room = 4096;
    ledger->line_of_slot = malloc(ledger->slots_room * sizeof *ledger->line_of_slot);
    ledger->size_of_slot = malloc(ledger->slots_room * sizeof *ledger->size_of_slot);
    ledger->last_thread = UINT32_MAX;
    ledger->bad_rule = "no rule was broken";
    if (ledger->lines == NULL || ledger->line_of_hash == NULL || ledger->thread_seen == NULL ||
        ledger->line_of_slot == NULL || ledger->size_of_slot == NULL) {
        tau_trace_ledger_close(ledger);
        return NULL;
    }
    memset(ledger->line_of_slot, 0xff, ledger->slots_room * sizeof *ledger->line_of_slot);
    for (uint32_t line = 0; line < DIRECT_SIZES; line++) {
        ledger->lines[line].size_bytes = line;
    }
    ledger->lines_count = DIRECT_SIZES;
    return ledger;
}

void tau_trace_ledger_close(struct tau_trace_ledger *ledger) {
    if (ledger != NULL) {
        free(ledger->line_of_slot);
        free(ledger->size_of_slot);
        free(ledger->lines);
        free(ledger->line_of_hash);
        free(ledger->thread_seen);
        free(ledger);
    }
}

const char *tau_trace_ledger_bad_rule(const struct tau_trace_ledger *ledger) {
    return ledger->bad_rule;
}

struct tau_trace_totals *tau_trace_ledger_totals(struct tau_trace_ledger *ledger) {
    return &ledger->totals;
}

// ---- sizes ----------------------------------------------------------------------------

// Rounds up to an eighth of a power of two: at most an eighth too large, and at most
// TAU_TRACE_SIZES_ROUNDED_MAX classes.
static uint64_t rounded_size(uint64_t size_bytes) {
    unsigned log2 = 63u - (unsigned)__builtin_clzll(size_bytes);
    uint64_t step = 1ull << (log2 - 3u);
    uint64_t rounded = (size_bytes + step - 1) & ~(step - 1);
    return rounded < size_bytes ? UINT64_MAX : rounded;
}

// The hash entry of SIZE_BYTES: holds its line, or 0 where it belongs.
static uint32_t *hash_entry(struct tau_trace_ledger *ledger, uint64_t size_bytes) {
    uint64_t at = (size_bytes * 0x9E3779B97F4A7C15ull) >> (64 - HASH_BITS);
    // bound: the hash is at most half full
    while (ledger->line_of_hash[at] != 0 &&
           ledger->lines[ledger->line_of_hash[at]].size_bytes != size_bytes) {
        at = (at + 1) & (HASH_ENTRIES - 1);
    }
    return &ledger->line_of_hash[at];
}

// The line of a size that is not direct; new sizes get one.
static __attribute__((noinline)) uint32_t line_of_large(struct tau_trace_ledger *ledger,
                                                        uint64_t size_bytes) {
    uint32_t *entry = hash_entry(ledger, size_bytes);
    if (*entry != 0) {
        return *entry;
    }
    if (ledger->lines_count >= DIRECT_SIZES + TAU_TRACE_SIZES_EXACT_MAX) {
        uint64_t rounded = rounded_size(size_bytes);
        ledger->totals.sizes_rounded_count += rounded != size_bytes;
        size_bytes = rounded;
        entry = hash_entry(ledger, size_bytes);
        if (*entry != 0) {
            return *entry;
        }
    }
    uint32_t line = ledger->lines_count++;
    ledger->lines[line].size_bytes = size_bytes;
    *entry = line;
    return line;
}

static int compare_sizes(const void *left, const void *right) {
    uint64_t a = ((const struct tau_trace_size *)left)->size_bytes;
    uint64_t b = ((const struct tau_trace_size *)right)->size_bytes;
    return (a > b) - (a < b);
}

struct tau_trace_size *tau_trace_ledger_sizes(const struct tau_trace_ledger *ledger,
                                              size_t *count) {
    struct tau_trace_size *sizes = malloc(LINES_MAX * sizeof *sizes);
    if (sizes == NULL) {
        return NULL;
    }
    size_t used = 0;
    for (uint32_t i = 0; i < ledger->lines_count; i++) {
        const struct size_line *line = &ledger->lines[i];
        if (line->allocations > 0) {
            sizes[used++] =
                (struct tau_trace_size){line->size_bytes, line->allocations, line->peak_live};
        }
    }
    qsort(sizes, used, sizeof *sizes, compare_sizes);
    *count = used;
    return sizes;
}

// ---- events ---------------------------------------------------------------------------

// Makes room for MORE slots and one that is looked at only. False iff memory is short.
static bool reserve_slots(struct tau_trace_ledger *ledger, size_t more) {
    size_t wanted = (size_t)ledger->totals.slots_count_max + more + 1, room = ledger->slots_room;
    if (wanted <= room) {
        return true;
    }
    while (room < wanted) {
        room *= 2;
    }
    uint32_t *lines = realloc(ledger->line_of_slot, room * sizeof *lines);
    if (lines == NULL) {
        return false;
    }
    ledger->line_of_slot = lines;
    uint64_t *sizes = realloc(ledger->size_of_slot, room * sizeof *sizes);
    if (sizes == NULL) {
        return false;
    }
    ledger->size_of_slot = sizes;
    // All ones: LINE_NONE.
    memset(lines + ledger->slots_room, 0xff, (room - ledger->slots_room) * sizeof *lines);
    ledger->slots_room = room;
    return true;
}

static inline void add_live(struct tau_trace_ledger *ledger, uint32_t slot, uint64_t size_bytes) {
    uint32_t index = (uint32_t)size_bytes;
    if (size_bytes >= DIRECT_SIZES) {
        index = line_of_large(ledger, size_bytes);
        ledger->size_of_slot[slot] = size_bytes;
    }
    struct size_line *line = &ledger->lines[index];
    line->allocations++;
    line->live++;
    line->peak_live = line->live > line->peak_live ? line->live : line->peak_live;
    ledger->line_of_slot[slot] = index;
    ledger->live_low += size_bytes;
    ledger->live_high += ledger->live_low < size_bytes;
}

// The size of the object in a slot that is in use.
static inline uint64_t live_size(const struct tau_trace_ledger *ledger, uint32_t slot) {
    uint32_t line = ledger->line_of_slot[slot];
    return line < DIRECT_SIZES ? line : ledger->size_of_slot[slot];
}

static inline void remove_live(struct tau_trace_ledger *ledger, uint32_t slot) {
    uint32_t line = ledger->line_of_slot[slot];
    uint64_t size_bytes = live_size(ledger, slot);
    ledger->lines[line].live--;
    ledger->live_high -= ledger->live_low < size_bytes;
    ledger->live_low -= size_bytes;
    ledger->line_of_slot[slot] = LINE_NONE;
}

static inline void note_peak(struct tau_trace_ledger *ledger) {
    uint64_t live = ledger->live_high == 0 ? ledger->live_low : UINT64_MAX;
    ledger->totals.peak_live_bytes =
        live > ledger->totals.peak_live_bytes ? live : ledger->totals.peak_live_bytes;
}

// A flagged event: counted, and nothing else changes. Returns the rule it breaks, or NULL.
static const char *take_flagged(struct tau_trace_ledger *ledger, uint8_t op, uint8_t flags,
                                uint32_t slot, uint64_t size_bytes) {
    struct tau_trace_totals *totals = &ledger->totals;
    if (op != TAU_TRACE_OP_FREE && op != TAU_TRACE_OP_REALLOC) {
        return "[TRACE-22] only free and realloc carry a flag";
    }
    if (op == TAU_TRACE_OP_FREE && size_bytes != 0) {
        return "[TRACE-20] the size of a free is 0";
    }
    if (flags == TAU_TRACE_FLAG_DOUBLE_FREE) {
        if (slot != TAU_TRACE_SLOT_NONE && slot >= totals->slots_count_max) {
            return "[TRACE-24] a double free names no slot, or one that was in use";
        }
        totals->double_free_first_event =
            totals->double_free_count++ == 0 ? totals->events : totals->double_free_first_event;
    } else if (slot != TAU_TRACE_SLOT_NONE) {
        return "[TRACE-23] an unknown or inherited object has no slot";
    } else if (flags == TAU_TRACE_FLAG_UNKNOWN) {
        totals->unknown_first_event =
            totals->unknown_count++ == 0 ? totals->events : totals->unknown_first_event;
    } else if (flags == TAU_TRACE_FLAG_INHERITED) {
        totals->inherited_count++;
    } else {
        return "[TRACE-21] an event has one of the known flags, or none";
    }
    return NULL;
}

// An unflagged free or realloc.
static inline const char *take_live(struct tau_trace_ledger *ledger, uint8_t op, uint32_t slot,
                                    uint64_t size_bytes) {
    if (slot >= ledger->totals.slots_count_max || ledger->line_of_slot[slot] == LINE_NONE) {
        return "[TRACE-26] free and realloc name a slot in use";
    }
    if (op == TAU_TRACE_OP_FREE) {
        if (size_bytes != 0) {
            return "[TRACE-20] the size of a free is 0";
        }
        remove_live(ledger, slot);
        ledger->totals.end_live_objects--;
        return NULL;
    }
    remove_live(ledger, slot);
    add_live(ledger, slot, size_bytes);
    note_peak(ledger);
    return NULL;
}

// A touch: only its own totals change.
static const char *take_touch(struct tau_trace_ledger *ledger, uint32_t slot, uint64_t offset_bytes,
                              uint64_t granules) {
    if (slot >= ledger->totals.slots_count_max || ledger->line_of_slot[slot] == LINE_NONE) {
        return "[TRACE-44] a touch names a slot in use";
    }
    uint64_t size_bytes = live_size(ledger, slot);
    if (granules == 0 || offset_bytes % TAU_TRACE_GRANULE_BYTES != 0 ||
        offset_bytes >= size_bytes ||
        granules - 1 > (size_bytes - 1 - offset_bytes) / TAU_TRACE_GRANULE_BYTES) {
        return "[TRACE-45] a touch names 1 to 255 granules inside its object";
    }
    ledger->totals.touched_granules += granules;
    return NULL;
}

// A malloc, calloc or aligned_alloc.
static inline const char *take_new(struct tau_trace_ledger *ledger, uint32_t slot,
                                   uint64_t size_bytes) {
    struct tau_trace_totals *totals = &ledger->totals;
    if (slot >= totals->slots_count_max) {
        if (slot != totals->slots_count_max || slot == TAU_TRACE_SLOT_NONE) {
            return "[TRACE-25] an allocation names a free slot, or the first one never used";
        }
        totals->slots_count_max++;
    } else if (ledger->line_of_slot[slot] != LINE_NONE) {
        return "[TRACE-25] an allocation names a free slot, or the first one never used";
    }
    add_live(ledger, slot, size_bytes);
    uint64_t objects = ++totals->end_live_objects;
    totals->peak_live_objects =
        objects > totals->peak_live_objects ? objects : totals->peak_live_objects;
    note_peak(ledger);
    return NULL;
}

static const char *note_thread(struct tau_trace_ledger *ledger, uint32_t thread) {
    if (thread >= TAU_TRACE_THREADS_MAX) {
        return "[TRACE-28] threads are numbered below 1048576";
    }
    uint8_t bit = (uint8_t)(1u << (thread & 7u));
    ledger->totals.threads += (ledger->thread_seen[thread >> 3] & bit) == 0;
    ledger->thread_seen[thread >> 3] |= bit;
    ledger->last_thread = thread;
    return NULL;
}

// The rules that no object's state is needed for.
static inline const char *check_shape(struct tau_trace_ledger *ledger,
                                      const struct tau_trace_columns *columns, size_t i,
                                      uint64_t sites_count) {
    if (columns->op[i] > TAU_TRACE_OP_TOUCH) {
        return "[TRACE-19] the operation is one of the six";
    }
    if (columns->time_ns[i] < ledger->last_ns) {
        return "[TRACE-27] time never goes back";
    }
    if (columns->site != NULL && columns->site[i] > sites_count) {
        return "[TRACE-29] a site was named before it is used";
    }
    if (columns->align_log2 != NULL && columns->align_log2[i] != 0 &&
        columns->op[i] != TAU_TRACE_OP_TOUCH &&
        (columns->align_log2[i] > 63 || columns->op[i] == TAU_TRACE_OP_FREE)) {
        return "[TRACE-30] an alignment is below 2^64, and a free has none";
    }
    return columns->thread[i] == ledger->last_thread ? NULL
                                                     : note_thread(ledger, columns->thread[i]);
}

// Whether none of these events needs a look at its time, thread, site, alignment or flags. All are
// plain loops over one column, for the compiler's vectors.
TAU_TRACE_VECTOR static bool columns_plain(const struct tau_trace_ledger *ledger,
                                           const struct tau_trace_columns *columns, size_t from,
                                           size_t stop, uint64_t sites_count) {
    uint64_t backwards = columns->time_ns[from] - ledger->last_ns;
    uint32_t threads = 0, sites = 0;
    uint8_t others = 0, ops = 0;
    for (size_t i = from + 1; i < stop; i++) {
        backwards |= columns->time_ns[i] - columns->time_ns[i - 1];
    }
    for (size_t i = from; i < stop; i++) {
        threads |= columns->thread[i];
    }
    for (size_t i = from; i < stop; i++) {
        others |= columns->flags[i];
        ops = columns->op[i] > ops ? columns->op[i] : ops;
    }
    for (size_t i = from; columns->align_log2 != NULL && i < stop; i++) {
        others |= columns->align_log2[i];
    }
    for (size_t i = from; columns->site != NULL && i < stop; i++) {
        sites = columns->site[i] > sites ? columns->site[i] : sites;
    }
    // No thread's number is above the union of all their bits.
    bool threads_seen = threads < 63;
    if (threads_seen) {
        uint64_t seen;
        memcpy(&seen, ledger->thread_seen, sizeof seen);
        uint64_t needed = (1ull << (threads + 1)) - 1;
        threads_seen = (seen & needed) == needed;
    }
    return backwards >> 63 == 0 && others == 0 && ops <= TAU_TRACE_OP_FREE &&
           sites <= sites_count && threads_seen;
}

// Takes plain events (columns_plain) from FROM on while each is a malloc, calloc or aligned_alloc
// of a direct size, or a free, and keeps every rule. Returns the index of the first that is not.
// There is one branch per event, almost never taken. In a random order of malloc and free, a branch
// on the operation would cost more than all of this.
static size_t take_common(struct tau_trace_ledger *ledger, const struct tau_trace_columns *columns,
                          size_t from, size_t stop) {
    struct tau_trace_totals *totals = &ledger->totals;
    uint32_t *line_of_slot = ledger->line_of_slot;
    struct size_line *lines = ledger->lines;
    uint64_t live_bytes = ledger->live_low, peak_bytes = totals->peak_live_bytes;
    uint64_t objects = totals->end_live_objects, peak_objects = totals->peak_live_objects;
    uint64_t slots_count = totals->slots_count_max;
    uint64_t of_op[8] = {0};
    size_t i = from;
    for (; i < stop; i++) {
        uint32_t op = columns->op[i], slot = columns->slot[i];
        uint64_t size_bytes = columns->size_bytes[i], is_free = op >> 2, is_new = is_free ^ 1u;
        uint64_t free_mask = 0u - is_free;
        if (slot > slots_count) {
            break;
        }
        uint32_t old_line = line_of_slot[slot];
        // A free's size is below 1, another's below DIRECT_SIZES; so is the freed object's line.
        uint64_t freed_bytes = old_line & free_mask;
        if ((op == TAU_TRACE_OP_REALLOC) |
            (size_bytes >= DIRECT_SIZES - (free_mask & (DIRECT_SIZES - 1))) |
            (freed_bytes >= DIRECT_SIZES) | ((old_line != LINE_NONE) ^ (uint32_t)is_free)) {
            break;
        }
        struct size_line *line = &lines[freed_bytes | size_bytes];
        line->allocations += is_new;
        line->live += is_new - is_free;
        line->peak_live = line->live > line->peak_live ? line->live : line->peak_live;
        live_bytes += size_bytes - freed_bytes;
        peak_bytes = live_bytes > peak_bytes ? live_bytes : peak_bytes;
        objects += is_new - is_free;
        peak_objects = objects > peak_objects ? objects : peak_objects;
        line_of_slot[slot] = (uint32_t)size_bytes | (uint32_t)free_mask;  // LINE_NONE for a free
        slots_count += slot == slots_count;
        of_op[op]++;
    }
    for (unsigned op = 0; op < 5; op++) {
        totals->events_of_op[op] += of_op[op];
    }
    totals->events += i - from;
    totals->peak_live_bytes = peak_bytes;
    totals->end_live_objects = objects;
    totals->peak_live_objects = peak_objects;
    totals->slots_count_max = slots_count;
    ledger->live_low = live_bytes;
    ledger->last_ns = i > from ? columns->time_ns[i - 1] : ledger->last_ns;
    return i;
}

// Any one event. Returns the rule that it breaks, or NULL.
static const char *take_one(struct tau_trace_ledger *ledger,
                            const struct tau_trace_columns *columns, size_t i,
                            uint64_t sites_count) {
    uint8_t op = columns->op[i], flags = columns->flags[i];
    const char *broken = check_shape(ledger, columns, i, sites_count);
    if (broken == NULL && flags != 0) {
        broken = take_flagged(ledger, op, flags, columns->slot[i], columns->size_bytes[i]);
    } else if (broken == NULL && (op == TAU_TRACE_OP_FREE || op == TAU_TRACE_OP_REALLOC)) {
        broken = take_live(ledger, op, columns->slot[i], columns->size_bytes[i]);
    } else if (broken == NULL && op == TAU_TRACE_OP_TOUCH) {
        broken = take_touch(ledger, columns->slot[i], columns->size_bytes[i],
                            columns->align_log2 == NULL ? 0 : columns->align_log2[i]);
    } else if (broken == NULL) {
        broken = take_new(ledger, columns->slot[i], columns->size_bytes[i]);
    }
    if (broken == NULL) {
        ledger->totals.events++;
        ledger->totals.events_of_op[op]++;
        ledger->last_ns = columns->time_ns[i];
    }
    return broken;
}

size_t tau_trace_ledger_take(struct tau_trace_ledger *ledger,
                             const struct tau_trace_columns *columns, size_t count,
                             uint64_t sites_count, enum tau_trace_status *status) {
    size_t i = 0, batch_end = 0;
    bool plain = false;
    *status = TAU_TRACE_OK;
    while (i < count && *status == TAU_TRACE_OK) {
        if (i == batch_end) {
            batch_end = count - i < BATCH_EVENTS ? count : i + BATCH_EVENTS;
            if (!reserve_slots(ledger, batch_end - i)) {
                *status = TAU_TRACE_NO_MEMORY;
                break;
            }
            plain = columns_plain(ledger, columns, i, batch_end, sites_count);
        }
        // Below 2^62 live bytes, a batch of direct sizes cannot overflow.
        if (plain && ledger->live_high == 0 && ledger->live_low >> 62 == 0) {
            i = take_common(ledger, columns, i, batch_end);
        }
        if (i < batch_end) {
            const char *broken = take_one(ledger, columns, i, sites_count);
            if (broken != NULL) {
                ledger->bad_rule = broken;
                *status = TAU_TRACE_BAD_EVENT;
                break;
            }
            i++;
        }
    }
    ledger->totals.duration_ns = ledger->last_ns;
    ledger->totals.end_live_bytes = ledger->live_high == 0 ? ledger->live_low : UINT64_MAX;
    return i;
}
