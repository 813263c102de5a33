// The ledger of live objects. One slot costs 16 bytes; a slot's entry names its line of the size
// table, so that a free needs no lookup. Sizes below DIRECT_SIZES are their own line; larger ones
// are found by hash. After TAU_TRACE_SIZES_EXACT_MAX distinct sizes a new one is counted under a
// rounded size, which bounds the table whatever the program asks for.
#include "tool/native/trace_totals.h"

#include <stdlib.h>
#include <string.h>

#define DIRECT_SIZES 1024u
#define LINES_MAX (DIRECT_SIZES + TAU_TRACE_SIZES_EXACT_MAX + TAU_TRACE_SIZES_ROUNDED_MAX)
#define HASH_BITS 18u
#define HASH_ENTRIES (1u << HASH_BITS)
#define LINE_NONE UINT32_MAX

struct live_slot {
    uint64_t size_bytes;
    uint32_t line;  // LINE_NONE: the slot is free
};

struct size_line {
    uint64_t size_bytes;
    uint64_t allocations;
    uint64_t live;
    uint64_t peak_live;
};

struct tau_trace_ledger {
    struct tau_trace_totals totals;
    struct live_slot *slots;
    size_t slots_room;
    struct size_line *lines;       // LINES_MAX of them
    uint32_t lines_count;          // the direct ones included
    uint32_t *line_of_hash;        // line, or 0 for none: line 0 is direct
    uint64_t live_low, live_high;  // 128 bits of live bytes: sizes near the largest must not wrap
    uint64_t last_ns;
    uint32_t last_thread;
    uint8_t *thread_seen;  // one bit a thread
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
    ledger->slots = malloc(ledger->slots_room * sizeof *ledger->slots);
    ledger->last_thread = UINT32_MAX;
    ledger->bad_rule = "no rule was broken";
    if (ledger->lines == NULL || ledger->line_of_hash == NULL || ledger->thread_seen == NULL ||
        ledger->slots == NULL) {
        tau_trace_ledger_close(ledger);
        return NULL;
    }
    for (uint32_t line = 0; line < DIRECT_SIZES; line++) {
        ledger->lines[line].size_bytes = line;
    }
    ledger->lines_count = DIRECT_SIZES;
    return ledger;
}

void tau_trace_ledger_close(struct tau_trace_ledger *ledger) {
    if (ledger != NULL) {
        free(ledger->slots);
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

// Makes room for one more slot. False iff memory is short.
static bool grow_slots(struct tau_trace_ledger *ledger) {
    if (ledger->totals.slots_count_max < ledger->slots_room) {
        return true;
    }
    size_t room = ledger->slots_room * 2;
    struct live_slot *slots = realloc(ledger->slots, room * sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    ledger->slots = slots;
    ledger->slots_room = room;
    return true;
}

static inline void add_live(struct tau_trace_ledger *ledger, struct live_slot *slot,
                            uint64_t size_bytes) {
    uint32_t index =
        size_bytes < DIRECT_SIZES ? (uint32_t)size_bytes : line_of_large(ledger, size_bytes);
    struct size_line *line = &ledger->lines[index];
    line->allocations++;
    line->live++;
    line->peak_live = line->live > line->peak_live ? line->live : line->peak_live;
    slot->size_bytes = size_bytes;
    slot->line = index;
    ledger->live_low += size_bytes;
    ledger->live_high += ledger->live_low < size_bytes;
}

static inline void remove_live(struct tau_trace_ledger *ledger, struct live_slot *slot) {
    ledger->lines[slot->line].live--;
    ledger->live_high -= ledger->live_low < slot->size_bytes;
    ledger->live_low -= slot->size_bytes;
    slot->line = LINE_NONE;
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
    if (slot >= ledger->totals.slots_count_max || ledger->slots[slot].line == LINE_NONE) {
        return "[TRACE-26] free and realloc name a slot in use";
    }
    struct live_slot *live = &ledger->slots[slot];
    if (op == TAU_TRACE_OP_FREE) {
        if (size_bytes != 0) {
            return "[TRACE-20] the size of a free is 0";
        }
        remove_live(ledger, live);
        ledger->totals.end_live_objects--;
        return NULL;
    }
    remove_live(ledger, live);
    add_live(ledger, live, size_bytes);
    note_peak(ledger);
    return NULL;
}

// A malloc, calloc or aligned_alloc; the slots have room for one more.
static inline const char *take_new(struct tau_trace_ledger *ledger, uint32_t slot,
                                   uint64_t size_bytes) {
    struct tau_trace_totals *totals = &ledger->totals;
    if (slot >= totals->slots_count_max) {
        if (slot != totals->slots_count_max || slot == TAU_TRACE_SLOT_NONE) {
            return "[TRACE-25] an allocation names a free slot, or the first one never used";
        }
        totals->slots_count_max++;
    } else if (ledger->slots[slot].line != LINE_NONE) {
        return "[TRACE-25] an allocation names a free slot, or the first one never used";
    }
    add_live(ledger, &ledger->slots[slot], size_bytes);
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
    if (columns->op[i] > TAU_TRACE_OP_FREE) {
        return "[TRACE-19] the operation is one of the five";
    }
    if (columns->time_ns[i] < ledger->last_ns) {
        return "[TRACE-27] time never goes back";
    }
    if (columns->site != NULL && columns->site[i] > sites_count) {
        return "[TRACE-29] a site was named before it is used";
    }
    if (columns->align_log2 != NULL && columns->align_log2[i] != 0 &&
        (columns->align_log2[i] > 63 || columns->op[i] == TAU_TRACE_OP_FREE)) {
        return "[TRACE-30] an alignment is below 2^64, and a free has none";
    }
    return columns->thread[i] == ledger->last_thread ? NULL
                                                     : note_thread(ledger, columns->thread[i]);
}

size_t tau_trace_ledger_take(struct tau_trace_ledger *ledger,
                             const struct tau_trace_columns *columns, size_t count,
                             uint64_t sites_count, enum tau_trace_status *status) {
    struct tau_trace_totals *totals = &ledger->totals;
    size_t i = 0;
    *status = TAU_TRACE_OK;
    for (; i < count; i++) {
        uint8_t op = columns->op[i], flags = columns->flags[i];
        const char *broken = check_shape(ledger, columns, i, sites_count);
        if (broken == NULL && !grow_slots(ledger)) {
            *status = TAU_TRACE_NO_MEMORY;
            break;
        }
        if (broken == NULL && flags != 0) {
            broken = take_flagged(ledger, op, flags, columns->slot[i], columns->size_bytes[i]);
        } else if (broken == NULL && (op == TAU_TRACE_OP_FREE || op == TAU_TRACE_OP_REALLOC)) {
            broken = take_live(ledger, op, columns->slot[i], columns->size_bytes[i]);
        } else if (broken == NULL) {
            broken = take_new(ledger, columns->slot[i], columns->size_bytes[i]);
        }
        if (broken != NULL) {
            ledger->bad_rule = broken;
            *status = TAU_TRACE_BAD_EVENT;
            break;
        }
        totals->events++;
        totals->events_of_op[op]++;
        ledger->last_ns = columns->time_ns[i];
    }
    totals->duration_ns = ledger->last_ns;
    totals->end_live_bytes = ledger->live_high == 0 ? ledger->live_low : UINT64_MAX;
    return i;
}
