// Placements, and the core's TLSF in the same translation unit. See placing.h.
#define TAU_PORT_MOVE(to, from, size_bytes) ((void)(to), (void)(from), (void)(size_bytes))
#define TAU_PORT_FILL(to, value, size_bytes) ((void)(to), (void)(value), (void)(size_bytes))
#include "core/tlsf.c"

#include <stdlib.h>
#include <string.h>

#include "core/private/heap/budget_table.h"
#include "tool/native/replay/placing.h"

#define TABLE_UNITS 2048u  // larger sizes are looked for among the classes
#define AHEAD 8u           // operations whose objects are fetched into the cache

// On x86-64 the loop over the operations, with all that it calls, is compiled twice: for any
// processor, and with the bit scans that most processors have. The loader chooses.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define FASTEST_HERE __attribute__((flatten, target_clones("arch=x86-64-v3", "default")))
#else
#define FASTEST_HERE
#endif

struct class_state {
    uint64_t bucket_bytes;
    uint64_t count;
    uint64_t used_count;
};

// A slot holds a pointer, or, for an object in a bucket, the number of its class, or 0.
struct tau_placing {
    struct tau_tlsf *shared;  // NULL: no room for one
    uintptr_t *slots;
    size_t slots_capacity;
    size_t fixed_bytes;
    size_t spare_bytes;  // behind the fixed ones
    bool is_short;       // a decision depended on the end of the heap
    size_t classes_count;
    uint64_t blocks_bytes;  // counted: of all objects in no bucket, now and at most
    uint64_t peak_blocks_bytes;
    uint8_t table[TABLE_UNITS];  // class of a size in units; 0: none
    struct class_state classes[TAU_BUDGET_CLASSES_MAX + 1];
};

struct tau_placing *tau_placing_open(const struct tau_budget_class *classes, size_t count,
                                     size_t fixed_bytes) {
    struct tau_placing *placing = calloc(1, sizeof *placing);
    if (placing == NULL || count > TAU_BUDGET_CLASSES_MAX) {
        free(placing);
        return NULL;
    }
    placing->fixed_bytes = fixed_bytes;
    placing->classes_count = count;
    for (size_t i = 0; i < count; i++) {
        const uint64_t bytes = budget_bucket_for(classes[i].size_bytes);
        placing->classes[i + 1] = (struct class_state){bytes, classes[i].count, 0};
        if (bytes / TAU_ALIGNMENT < TABLE_UNITS) {
            placing->table[bytes / TAU_ALIGNMENT] = (uint8_t)(i + 1);
        }
    }
    return placing;
}

void tau_placing_close(struct tau_placing *placing) {
    if (placing != NULL) {
        free(placing->slots);
    }
    free(placing);
}

static bool start(struct tau_placing *placing, size_t slots_count) {
    if (slots_count + 1 > placing->slots_capacity) {
        free(placing->slots);
        placing->slots_capacity = 0;
        placing->slots = malloc((slots_count + 1) * sizeof *placing->slots);
        if (placing->slots == NULL) {
            return false;
        }
        placing->slots_capacity = slots_count + 1;
    }
    memset(placing->slots, 0, (slots_count + 1) * sizeof *placing->slots);
    for (size_t i = 1; i <= placing->classes_count; i++) {
        placing->classes[i].used_count = 0;
    }
    return true;
}

bool tau_placing_start(struct tau_placing *placing, uint8_t *arena, size_t heap_bytes,
                       size_t slots_count) {
    TAU_ASSERT(heap_bytes >= placing->fixed_bytes);
    placing->spare_bytes = heap_bytes - placing->fixed_bytes;
    placing->is_short = false;
    placing->shared =
        tau_tlsf_init(arena + placing->fixed_bytes, heap_bytes - placing->fixed_bytes, 0);
    return start(placing, slots_count);
}

static unsigned class_of(const struct tau_placing *placing, uint64_t size_bytes) {
    const uint64_t units = budget_bucket_for((size_t)size_bytes) / TAU_ALIGNMENT;
    if (TAU_ON_LONGEST_PATH(units < TABLE_UNITS)) {
        return placing->table[units];
    }
    for (unsigned class = 1; class <= placing->classes_count; class += 1) {
        if (placing->classes[class].bucket_bytes == units * TAU_ALIGNMENT) {
            return class;
        }
    }
    return 0;
}

// The number of the class with a free bucket, taken; 0: there is none.
TAU_INLINE uintptr_t take_bucket(struct tau_placing *placing, uint64_t size_bytes) {
    const unsigned class = class_of(placing, size_bytes);
    struct class_state *state = &placing->classes[class];
    if (class == 0 || state->used_count == state->count) {
        return 0;
    }
    state->used_count++;
    return class;
}

TAU_INLINE uintptr_t place_new(struct tau_placing *placing, uint64_t size_bytes) {
    const uintptr_t bucket = take_bucket(placing, size_bytes);
    if (bucket != 0 || placing->shared == NULL) {
        return bucket;
    }
    return (uintptr_t)tau_tlsf_malloc(placing->shared, (size_t)size_bytes);
}

static uintptr_t place_aligned(struct tau_placing *placing, const struct tau_replay_op *op) {
    const size_t alignment = (size_t)1 << op->align_log2;
    if (alignment <= TAU_ALIGNMENT) {
        return place_new(placing, op->size_bytes);
    }
    return placing->shared == NULL ? 0
                                   : (uintptr_t)tau_tlsf_aligned_alloc(
                                         placing->shared, alignment, (size_t)op->size_bytes);
}

TAU_INLINE void release(struct tau_placing *placing, uintptr_t place) {
    if (place > TAU_BUDGET_CLASSES_MAX) {
        (void)tau_tlsf_free(placing->shared, (void *)place);
    } else {
        placing->classes[place].used_count--;  // of no class for a slot that is empty
    }
}

// As tau_budget_realloc of an object in the shared region.
static uintptr_t place_shared_again(struct tau_placing *placing, tau_word *old,
                                    uint64_t size_bytes) {
    struct tau_tlsf *const heap = placing->shared;
    struct tlsf_resize resize;
    enum tau_status reason;
    if (!tlsf_begin_resize(heap, old, (size_t)size_bytes, &resize)) {
        return 0;
    }
    if (tlsf_fits_in_place(heap, old, &resize)) {
        return (uintptr_t)tlsf_resize_in_place(heap, old, (size_t)size_bytes, &resize);
    }
    placing->is_short |= resize.is_last;  // in a larger heap it grows in place
    const bool is_aligned = resize.alignment > TAU_ALIGNMENT;
    uintptr_t place =
        (uintptr_t)(is_aligned ? tau_tlsf_aligned_alloc(heap, resize.alignment, (size_t)size_bytes)
                               : tau_tlsf_malloc_or(heap, (size_t)size_bytes, &reason));
    if (place == 0 && !is_aligned) {
        placing->is_short = true;
        place = take_bucket(placing, size_bytes);
    }
    if (place != 0) {
        (void)tau_tlsf_free(heap, old);
    }
    return place;
}

static uintptr_t place_again(struct tau_placing *placing, uintptr_t place, uint64_t size_bytes) {
    if (place > TAU_BUDGET_CLASSES_MAX) {
        return place_shared_again(placing, (tau_word *)place, size_bytes);
    }
    if (place != 0 && size_bytes <= placing->classes[place].bucket_bytes) {
        return place;
    }
    const uintptr_t moved = place_new(placing, size_bytes);
    if (moved != 0) {
        release(placing, place);
    }
    return moved;
}

FASTEST_HERE size_t tau_placing_execute(struct tau_placing *placing,
                                        const struct tau_replay_op *ops, size_t count) {
    uintptr_t *const slots = placing->slots;
    for (size_t i = 0; i < count; i++) {  // bound: the operations
        const struct tau_replay_op *const op = &ops[i];
        uintptr_t *const slot = &slots[op->slot];
        if (i + AHEAD < count) {
            __builtin_prefetch((const void *)(slots[ops[i + AHEAD].slot] - TLSF_WORD_BYTES), 1);
        }
        switch (op->op) {
        case TAU_TRACE_FREE:
            release(placing, *slot);
            *slot = 0;
            continue;
        case TAU_TRACE_TOUCH:
        case TAU_REPLAY_OP_SKIP:
            continue;
        case TAU_TRACE_REALLOC:
            *slot = place_again(placing, *slot, op->size_bytes);
            break;
        default:
            *slot = op->align_log2 != 0 ? place_aligned(placing, op)
                                        : place_new(placing, op->size_bytes);
        }
        if (*slot == 0) {
            return i;
        }
    }
    return count;
}

// ---- Heaps of other sizes ----

_Static_assert(TAU_STATISTICS, "untouched_bytes counts");

size_t tau_placing_untouched(const struct tau_placing *placing) {
    if (placing->is_short) {
        return SIZE_MAX;
    }
    return placing->shared == NULL ? placing->spare_bytes
                                   : tau_tlsf_statistics(placing->shared).untouched_bytes;
}

// The classes of the TLSF in a heap of HEAP_BYTES, as tau_tlsf_init makes it; 0: it makes none.
static unsigned tables_of(const struct tau_placing *placing, size_t heap_bytes) {
    const size_t size_bytes = heap_bytes - placing->fixed_bytes;
    if (size_bytes < TAU_TLSF_POOL_MIN_BYTES) {
        return 0;
    }
    const unsigned classes = tlsf_classes_for((tau_word)size_bytes);
    const size_t heads = tau_bits_round_up(placing->fixed_bytes, TAU_ALIGNMENT);
    const size_t last = heap_bytes & ~(size_t)(TAU_ALIGNMENT - 1);
    return last - heads < tlsf_control_bytes_for(classes) + TLSF_BLOCK_MIN_BYTES ? 0 : classes;
}

static unsigned level_of(const struct tau_placing *placing, size_t heap_bytes) {
    return tables_of(placing, heap_bytes) == 0
               ? 0
               : tlsf_second_level_bits_for((tau_word)(heap_bytes - placing->fixed_bytes));
}

// The least heap of LEAST to MOST bytes whose tables are VALUE or larger ones.
static size_t tables_from(const struct tau_placing *placing,
                          unsigned (*measure)(const struct tau_placing *, size_t), unsigned value,
                          size_t least, size_t most) {
    while (least < most) {  // bound: 64, as the distance is halved
        const size_t middle = least + (most - least) / 2;
        if (measure(placing, middle) >= value) {
            most = middle;
        } else {
            least = middle + 1;
        }
    }
    return least;
}

void tau_placing_tables(const struct tau_placing *placing, size_t heap_bytes, bool is_by_level,
                        struct tau_replay_tables *tables) {
    const size_t least = placing->fixed_bytes, most = least + TLSF_POOL_MAX_BYTES;
    const size_t size = heap_bytes < least ? least : heap_bytes < most ? heap_bytes : most;
    unsigned (*const measure)(const struct tau_placing *, size_t) =
        is_by_level ? level_of : tables_of;
    const unsigned classes = tables_of(placing, size), value = measure(placing, size);
    tables->level = level_of(placing, size);
    tables->first_bytes = tau_bits_round_up(least, TAU_ALIGNMENT);
    tables->first_bytes += classes == 0 ? 0 : tlsf_control_bytes_for(classes);
    tables->least_bytes = tables_from(placing, measure, value, least, size);
    tables->most_bytes = measure(placing, most) == value
                             ? most
                             : tables_from(placing, measure, value + 1, size, most) - 1;
}

// ---- What no heap can do without ----

bool tau_placing_count_start(struct tau_placing *placing, size_t slots_count) {
    placing->blocks_bytes = 0;
    placing->peak_blocks_bytes = 0;
    return start(placing, slots_count);
}

// A slot holds the number of its object's class, or the bytes of its block, of at least one unit,
// after that many bits.
#define COUNTED_SHIFT 8u

TAU_INLINE void count_end(struct tau_placing *placing, uintptr_t counted) {
    placing->classes[counted & ((1u << COUNTED_SHIFT) - 1)].used_count--;
    placing->blocks_bytes -= counted >> COUNTED_SHIFT;
}

TAU_INLINE uintptr_t count_block(struct tau_placing *placing, uint64_t size_bytes) {
    const uint64_t bytes =
        tau_bits_round_up(size_bytes + TLSF_WORD_BYTES + TLSF_CANARY_BYTES, TAU_ALIGNMENT);
    const uint64_t block_bytes = bytes < TLSF_BLOCK_MIN_BYTES ? TLSF_BLOCK_MIN_BYTES : bytes;
    placing->blocks_bytes += block_bytes;
    if (placing->blocks_bytes > placing->peak_blocks_bytes) {
        placing->peak_blocks_bytes = placing->blocks_bytes;
    }
    return block_bytes << COUNTED_SHIFT;
}

void tau_placing_count(struct tau_placing *placing, const struct tau_replay_op *ops,
                       size_t count) {
    for (size_t i = 0; i < count; i++) {  // bound: the operations
        const struct tau_replay_op *const op = &ops[i];
        uintptr_t *const slot = &placing->slots[op->slot];
        const uintptr_t old = *slot;
        if (tau_replay_passes_over(op)) {
            continue;
        }
        if (op->op == TAU_TRACE_FREE) {
            count_end(placing, old);
            *slot = 0;
            continue;
        }
        const bool is_resize = op->op == TAU_TRACE_REALLOC && old != 0;
        if (is_resize && old <= TAU_BUDGET_CLASSES_MAX &&
            op->size_bytes <= placing->classes[old].bucket_bytes) {
            continue;
        }
        const bool is_shared = (is_resize && old > TAU_BUDGET_CLASSES_MAX) ||
                               (op->op != TAU_TRACE_REALLOC && op->align_log2 > TAU_ALIGNMENT_LOG2);
        const uintptr_t bucket = is_shared ? 0 : take_bucket(placing, op->size_bytes);
        if (is_resize) {
            count_end(placing, old);
        }
        *slot = bucket != 0 ? bucket : count_block(placing, op->size_bytes);
    }
}

size_t tau_placing_least(const struct tau_placing *placing) {
    const size_t blocks_bytes = (size_t)placing->peak_blocks_bytes;
    if (blocks_bytes < TAU_TLSF_POOL_MIN_BYTES) {
        return placing->fixed_bytes + blocks_bytes;
    }
    // The tables grow with the heap, so those of a smaller one are fewer.
    return placing->fixed_bytes + tau_tlsf_control_bytes(blocks_bytes) + blocks_bytes;
}
