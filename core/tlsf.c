// Two-level segregated fit. Layout: docs/spec/tlsf.md. Reasons: docs/design/tlsf.md. The steps:
//
// 1. malloc turns the size into a class and tries the first block of that class. Otherwise it takes
//    the lowest non-empty class above it (two bit scans). It allocates the front of that block and
//    lists the rest again. If there is none, it takes from the memory behind all blocks.
// 2. free merges the block with its free neighbors and lists the result. The neighbors leave their
//    lists through their own links. The last block returns to the memory behind it.
//
// Every call takes a bounded number of instructions in any state: docs/spec/bounds.md.
#include "core/tlsf.h"

#include "core/private/heap/tlsf_block.h"
#include "core/private/heap/tlsf_check.h"
#include "core/private/heap/tlsf_inside.h"
#include "core/private/heap/tlsf_last.h"
#include "core/private/heap/tlsf_list.h"
#include "core/private/heap/tlsf_merge.h"
#include "core/private/heap/tlsf_realloc.h"
#include "core/private/heap/tlsf_request.h"
#include "core/private/heap/tlsf_rows.h"

const unsigned char TAU_TLSF_BUILT = TAU_CHECK_LEVEL;

// ---- The operations, locked --------------------------------------------------------------------

TAU_INLINE enum tau_status tlsf_release(struct tau_tlsf *heap, tau_word *payload,
                                        struct tlsf_used used) {
    struct tlsf_marks marks = tlsf_marks_of(heap);
    const struct tlsf_merged merged = tlsf_merge_with(heap, payload, used, true, &marks);
    if (TAU_CHECK_LEVEL >= 1 && merged.payload == NULL) {
        return tlsf_unmerged(heap, payload, payload, merged.header != 0);
    }
    TAU_ASSERT(merged.header >= used.size);
    TAU_ASSERT(merged.payload <= payload);
    if (TAU_ON_LONGEST_PATH((merged.header & TLSF_FREE) != 0)) {
        tlsf_insert_with(heap, merged.payload, merged.header, &marks);
    } else {
        tlsf_move_end(heap, 0 - merged.header);
    }
    tlsf_leave(heap, &marks);
    TAU_PORT_TRACE(heap, payload, NULL, 0, 0);
    TAU_PORT_UNLOCK(heap);
    return TAU_OK;
}

// ---- Making a heap -----------------------------------------------------------------------------

struct tau_tlsf *tau_tlsf_init(void *memory, size_t size_bytes, size_t pool_max_bytes) {
    const size_t pool_bytes = pool_max_bytes > size_bytes ? pool_max_bytes : size_bytes;
    const uintptr_t end = (uintptr_t)memory + size_bytes;
    if (memory == NULL || size_bytes < TAU_TLSF_POOL_MIN_BYTES ||
        pool_bytes > TLSF_POOL_MAX_BYTES || end < (uintptr_t)memory) {
        return NULL;
    }
    const unsigned level = tlsf_second_level_bits_for((tau_word)pool_bytes);
    const unsigned classes = tlsf_classes_for((tau_word)pool_bytes);
    const unsigned words = classes / 32 + 1;
    TAU_ASSERT(words <= TLSF_WORDS_MAX);

    // Sizes are compared, not addresses: the control block alone may lead around the end of memory.
    const uintptr_t heads = tau_bits_round_up((uintptr_t)memory, TAU_ALIGNMENT);
    tau_word *const last = tlsf_last_payload(end);
    if ((uintptr_t)last - heads < tlsf_control_bytes_for(classes) + TLSF_BLOCK_MIN_BYTES) {
        return NULL;
    }
    struct tau_tlsf *const heap =
        (struct tau_tlsf *)(heads + (classes - 1) * TLSF_WORD_BYTES + sizeof(struct tlsf_fields));
    tau_word *const first = tlsf_first_payload((uintptr_t)heap + words * sizeof(uint32_t));
    TAU_ASSERT((uintptr_t)first == heads + tlsf_control_bytes_for(classes));
    *tlsf_fields_of(heap) = (struct tlsf_fields){
        .range_bytes = ((tau_word)pool_bytes & TLSF_SIZE_MASK) - TLSF_BLOCK_MIN_BYTES,
        .lowest = tlsf_link_to(heap, first),
        .wilderness_bytes = (tau_word)((uintptr_t)last - (uintptr_t)first),
        .untouched_bytes = (tau_word)((uintptr_t)last - (uintptr_t)first),
        .classes = (uint16_t)classes,
        .turns = (uint8_t)(tau_bits_turns(level) | TLSF_NO_ROOM),
        .leading_zeros = (uint8_t)(TAU_WORD_BITS - 1 - level),
    };
    TAU_ASSERT((uintptr_t)tlsf_head_of(heap, classes - 1) == heads);
    TAU_ASSERT((uintptr_t)(heap->bitmap + words) <= (uintptr_t)(first - 1));
    for (unsigned class = 1; class < classes; class += 1) {  // bound: at most 32 * TLSF_WORDS_MAX
        *tlsf_head_of(heap, class) = tlsf_no_block(heap);
    }
    for (unsigned word = 0; word < words; word++) {  // bound: TLSF_WORDS_MAX
        heap->bitmap[word] = 0;
    }
    first[-1] = 0;
    TAU_INVARIANT(tau_tlsf_invariants_hold_locked(heap));
    return heap;
}

size_t tau_tlsf_control_bytes(size_t pool_max_bytes) {
    TAU_ASSERT(pool_max_bytes >= TAU_TLSF_POOL_MIN_BYTES);
    TAU_ASSERT(pool_max_bytes <= TLSF_POOL_MAX_BYTES);
    return tlsf_control_bytes_for(tlsf_classes_for((tau_word)pool_max_bytes));
}

struct tlsf_range {
    uintptr_t start;
    uintptr_t end;
    bool is_overlapped;
};

static bool tlsf_is_apart(void *context, struct tlsf_row row) {
    struct tlsf_range *const range = context;
    TAU_ASSERT(range->start <= range->end);
    TAU_ASSERT(row.memory < (uintptr_t)row.last);
    range->is_overlapped = row.memory < range->end && range->start < (uintptr_t)row.last;
    return !range->is_overlapped;
}

enum tau_status tau_tlsf_add_pool(struct tau_tlsf *heap, void *memory, size_t size_bytes) {
    struct tlsf_range range = {(uintptr_t)memory, (uintptr_t)memory + size_bytes, false};
    if (memory == NULL || range.end < range.start) {
        return TAU_BAD_ARGUMENT;
    }
    tau_word *const first = tlsf_first_payload(tau_bits_round_up(range.start, TLSF_WORD_BYTES) +
                                               sizeof(struct tlsf_pool));
    struct tlsf_pool *const pool = (struct tlsf_pool *)(void *)(first - 1) - 1;
    tau_word *const last = tlsf_last_payload(range.end);
    if (tlsf_at(heap, tlsf_link_to(heap, pool)) != (void *)pool ||
        tlsf_at(heap, tlsf_link_to(heap, last)) != last) {
        return TAU_BAD_ARGUMENT;  // farther from the heap than a link can express
    }
    if (size_bytes < sizeof(struct tlsf_pool) || (uintptr_t)first < range.start || last < first ||
        (uintptr_t)last - (uintptr_t)first < TLSF_BLOCK_MIN_BYTES) {
        return TAU_POOL_TOO_SMALL;
    }
    const uintptr_t row_bytes = (uintptr_t)last - (uintptr_t)first;
    if (row_bytes > tlsf_block_max_bytes(heap)) {
        return TAU_POOL_TOO_LARGE;
    }
    TAU_PORT_LOCK(heap);
    TAU_INVARIANT(tau_tlsf_invariants_hold_locked(heap));
    const bool apart = tlsf_each_row(heap, tlsf_is_apart, &range);
    if (apart) {
        struct tlsf_fields *const fields = tlsf_fields_of(heap);
        tlsf_list_wilderness(heap);
        const uintptr_t lowest = (uintptr_t)tlsf_at(heap, fields->lowest);
        const uintptr_t highest = lowest + fields->span_bytes;
        const uintptr_t start = (uintptr_t)first < lowest ? (uintptr_t)first : lowest;
        const uintptr_t end = (uintptr_t)last > highest ? (uintptr_t)last : highest;
        TAU_ASSERT(start < end);
        TAU_ASSERT(((uintptr_t)first & (TAU_ALIGNMENT - 1)) == 0);
        *pool = (struct tlsf_pool){fields->pools, (tau_word)row_bytes + TLSF_NO_BLOCK,
                                   tlsf_capacity_bytes(heap)};
        fields->pools = tlsf_link_to(heap, pool);
        fields->lowest = tlsf_link_to(heap, (void *)start);
        fields->span_bytes = (tau_word)(end - start);
        tlsf_list_row(heap, first, last);
    }
    TAU_PORT_UNLOCK(heap);
    return apart ? TAU_OK : range.is_overlapped ? TAU_POOL_OVERLAPS : TAU_OVERWRITTEN;
}

// ---- Public operations -------------------------------------------------------------------------

void *tau_tlsf_malloc(struct tau_tlsf *heap, size_t size_bytes) {
    const tau_word needed = tlsf_needed(heap, size_bytes, 0);
    if (needed == 0) {
        return tlsf_refuse(heap, size_bytes, TAU_NO_MEMORY);
    }
    const tau_word size = (tau_word)tau_bits_hold(needed);  // gcc would keep it twice
    TAU_PORT_LOCK(heap);
    TAU_INVARIANT(tau_tlsf_invariants_hold_locked(heap));
    enum tau_status reason;
    tau_word header;
    struct tlsf_marks marks = tlsf_marks_of(heap);
    tau_word *const payload = tlsf_take_with(heap, size, &header, &reason, &marks);
    if (payload == NULL) {
        return tlsf_malloc_wild(heap, size, size_bytes, reason);
    }
    const tau_word kept = tlsf_keep_with(heap, payload, header, size, 0, &marks);
    tlsf_leave(heap, &marks);
    return tlsf_hand_out(heap, payload, kept, size_bytes, TAU_ALIGNMENT);
}

void *tau_tlsf_calloc(struct tau_tlsf *heap, size_t count, size_t size_bytes) {
    size_t total_bytes;
    if (__builtin_mul_overflow(count, size_bytes, &total_bytes)) {
        return tlsf_refuse(heap, SIZE_MAX, TAU_NO_MEMORY);
    }
    void *const payload = tau_tlsf_malloc(heap, total_bytes);
    if (payload != NULL) {
        TAU_PORT_FILL(payload, 0, total_bytes);
    }
    return payload;
}

// Not inlined: realloc calls it only for over-aligned objects, which have their own bound.
__attribute__((noinline)) void *tau_tlsf_aligned_alloc(struct tau_tlsf *heap, size_t alignment,
                                                       size_t size_bytes) {
    if (!tau_bits_is_power_of_two(alignment)) {
        return NULL;
    }
    if (alignment <= TAU_ALIGNMENT) {
        return tau_tlsf_malloc(heap, size_bytes);
    }
    const tau_word size = tlsf_needed(heap, size_bytes, TLSF_WORD_BYTES);
    const tau_word gap_more = TLSF_BLOCK_MIN_BYTES - TAU_ALIGNMENT;  // a smaller gap is no block
    const size_t room = (size_t)tlsf_block_max_bytes(heap) - size;
    if (size == 0 || room < gap_more || room - gap_more < alignment) {
        return tlsf_refuse(heap, size_bytes, TAU_NO_MEMORY);
    }
    TAU_PORT_LOCK(heap);
    TAU_INVARIANT(tau_tlsf_invariants_hold_locked(heap));
    enum tau_status reason;
    tau_word header;
    const tau_word searched = size + (tau_word)alignment + gap_more;
    tau_word *const found = tlsf_take(heap, searched, &header, &reason);
    if (found == NULL) {
        return tlsf_aligned_wild(heap, alignment, size, size_bytes, reason);
    }
    tau_word *const payload = tlsf_aligned_in(found, alignment);
    const tau_word gap = (tau_word)((uintptr_t)payload - (uintptr_t)found);
    tau_word flags = TLSF_ALIGNED;
    if (gap != 0) {
        tlsf_insert(heap, found, gap + TLSF_FREE);
        flags |= TLSF_PREVIOUS_FREE;
    }
    const tau_word kept = tlsf_keep(heap, payload, header - gap, size, flags);
    TAU_ASSERT(kept >= size);
    TAU_ASSERT(gap == 0 || gap >= TLSF_BLOCK_MIN_BYTES);
    tlsf_after(payload, kept)[-2] = (tau_word)alignment;
    return tlsf_hand_out(heap, payload, kept, size_bytes, alignment);
}

enum tau_status tau_tlsf_free(struct tau_tlsf *heap, void *pointer) {
    struct tlsf_used used;
    if (TAU_CHECK_LEVEL == 0 && pointer == NULL) {
        return TAU_OK;
    }
    TAU_PORT_LOCK(heap);
    TAU_INVARIANT(tau_tlsf_invariants_hold_locked(heap));
    if (TAU_CHECK_LEVEL == 0) {
        used = tlsf_look_at(pointer);
    } else if (!tlsf_is_used(heap, pointer, &used)) {
        return tlsf_misused(heap, pointer);
    }
    if (TAU_JUNK_FILL) {
        if (TAU_CHECK_LEVEL >= 1 && !tlsf_is_mergeable(heap, pointer, &used)) {
            return tlsf_misused(heap, pointer);
        }
        tlsf_junk(pointer, 0x55, tlsf_usable_bytes(pointer));
    }
    TAU_ASSERT(used.size >= TLSF_BLOCK_MIN_BYTES);
    TAU_ASSERT(!TAU_STATISTICS || used.size <= tlsf_fields_of(heap)->used_bytes);
    return tlsf_release(heap, pointer, used);
}

// Steps 1 to 3 of realloc in docs/spec/tlsf.md: joins the block with free neighbors if it grows,
// then cuts its end off. Not inlined: the path of a copy saves fewer registers.
__attribute__((noinline)) void *tau_tlsf_resize_in_place(struct tau_tlsf *heap, tau_word *payload,
                                                         size_t size_bytes, tau_word size,
                                                         tau_word next_size,
                                                         tau_word previous_size) {
    const tau_word old = tlsf_size_of(payload);
    const size_t old_bytes = tlsf_usable_bytes(payload);
    const size_t alignment = tlsf_alignment_of(payload, old);
    tau_word flags = payload[-1] - old;
    tau_word *result = payload;
    tau_word whole = old;
    tau_word *end = tlsf_after(payload, whole);
    tau_word end_size = 0;  // of the free block behind it that the cut joins
    TAU_ASSERT((flags & TLSF_FREE) == 0);
    TAU_ASSERT(size != 0 && size <= previous_size + old + next_size);

    if (next_size != 0 && size != old) {
        tlsf_unlink(heap, end);
    }
    if (size <= old) {
        tlsf_note_peak(heap);
        end_size = size != old ? next_size : 0;
    } else {
        whole += next_size;
        end = tlsf_after(payload, whole);
        end[-1] &= ~TLSF_PREVIOUS_FREE;
    }
    if (size > whole) {
        result = tlsf_before(payload, previous_size);
        tlsf_unlink(heap, result);
        whole += previous_size;
        flags &= TLSF_ALIGNED;
        // No other call can reach the joined block, so its bytes may move without the lock. Its end
        // may be written only after that. Another thread may free its neighbors meanwhile.
        result[-1] = whole | flags;
        TAU_PORT_UNLOCK(heap);
        TAU_PORT_MOVE(result, payload, old_bytes);
        TAU_PORT_LOCK(heap);
        flags |= TAU_PORT_HAS_LOCK ? result[-1] & TLSF_PREVIOUS_FREE : 0;
        if (TAU_PORT_HAS_LOCK && size != whole && tlsf_free_size_of(end) != 0) {
            end_size = tlsf_free_size_of(end);
            tlsf_unlink(heap, end);
        }
    }
    const tau_word rest = whole - size + end_size;
    if (rest >= TLSF_BLOCK_MIN_BYTES) {
        whole = size;
        if (TAU_PORT_HAS_LOCK && tlsf_is_end(heap, tlsf_after(result, size + rest))) {
            tlsf_move_end(heap, 0 - rest);
        } else {
            end[-1] |= TLSF_PREVIOUS_FREE;  // inside the cut if that joins a free block
            tlsf_insert(heap, tlsf_after(result, size), rest + TLSF_FREE);
        }
    }
    result[-1] = whole | flags;
    if ((flags & TLSF_ALIGNED) != 0) {
        tlsf_after(result, whole)[-2] = (tau_word)alignment;
    }
    tlsf_count_used(heap, whole - old);
    tlsf_seal(heap, result);
    TAU_PORT_TRACE(heap, payload, result, size_bytes, alignment);
    TAU_PORT_UNLOCK(heap);
    tlsf_junk_beyond(result, old_bytes, size_bytes);
    return result;
}

void *tau_tlsf_realloc(struct tau_tlsf *heap, void *pointer, size_t size_bytes) {
    if (pointer == NULL) {
        return tau_tlsf_malloc(heap, size_bytes);
    }
    if (size_bytes == 0) {
        (void)tau_tlsf_free(heap, pointer);
        return NULL;
    }
    struct tlsf_resize resize;
    if (!tlsf_begin_resize(heap, pointer, size_bytes, &resize)) {
        return NULL;
    }
    if (tlsf_fits_in_place(heap, pointer, &resize)) {
        return tlsf_resize_in_place(heap, pointer, size_bytes, &resize);
    }
    TAU_PORT_UNLOCK(heap);
    void *const place = resize.alignment > TAU_ALIGNMENT
                            ? tau_tlsf_aligned_alloc(heap, resize.alignment, size_bytes)
                            : tau_tlsf_malloc(heap, size_bytes);
    return place != NULL ? tlsf_move(heap, pointer, place, resize.old_bytes, size_bytes) : NULL;
}

// Not malloc with an argument more: a build for size shares these steps with aligned_alloc.
__attribute__((noinline)) void *tau_tlsf_malloc_or(struct tau_tlsf *heap, size_t size_bytes,
                                                   enum tau_status *reason) {
    const tau_word size = tlsf_needed(heap, size_bytes, 0);
    *reason = TAU_NO_MEMORY;
    if (size == 0) {
        return NULL;
    }
    TAU_PORT_LOCK(heap);
    TAU_INVARIANT(tau_tlsf_invariants_hold_locked(heap));
    tau_word header;
    tau_word *payload = tlsf_take(heap, size, &header, reason);
    if (payload == NULL) {
        payload = tlsf_end(heap);
        header = size + TLSF_FREE;
        if (!tlsf_take_wild(heap, size, reason)) {
            TAU_PORT_UNLOCK(heap);
            return *reason == TAU_NO_MEMORY ? NULL : tlsf_refuse(heap, size_bytes, *reason);
        }
    }
    const tau_word kept = tlsf_keep(heap, payload, header, size, 0);
    return tlsf_hand_out(heap, payload, kept, size_bytes, TAU_ALIGNMENT);
}

// ---- Looking at a heap -------------------------------------------------------------------------

size_t tau_tlsf_usable_size(const struct tau_tlsf *heap, const void *pointer) {
    size_t bytes = 0;
    TAU_PORT_LOCK(tlsf_lock_of(heap));
    if (pointer != NULL && tau_tlsf_check_locked(heap, pointer) == TAU_OK) {
        bytes = tlsf_usable_bytes(pointer);
    }
    TAU_PORT_UNLOCK(tlsf_lock_of(heap));
    return bytes;
}

size_t tau_tlsf_alignment(const struct tau_tlsf *heap, const void *pointer) {
    const tau_word *const payload = pointer;
    size_t alignment = 0;
    TAU_PORT_LOCK(tlsf_lock_of(heap));
    if (pointer != NULL && tau_tlsf_check_locked(heap, pointer) == TAU_OK) {
        alignment = (payload[-1] & TLSF_ALIGNED) != 0
                        ? tlsf_after(payload, tlsf_size_of(payload))[-2]
                        : TAU_ALIGNMENT;
    }
    TAU_PORT_UNLOCK(tlsf_lock_of(heap));
    return alignment;
}

enum tau_status tau_tlsf_check_locked(const struct tau_tlsf *heap, const void *pointer) {
    struct tlsf_used used;
    return pointer == NULL || tlsf_is_mergeable(heap, pointer, &used)
               ? TAU_OK
               : tlsf_reason_for(heap, pointer);
}

enum tau_status tau_tlsf_check_pointer(const struct tau_tlsf *heap, const void *pointer) {
    TAU_PORT_LOCK(tlsf_lock_of(heap));
    const enum tau_status status = tau_tlsf_check_locked(heap, pointer);
    TAU_PORT_UNLOCK(tlsf_lock_of(heap));
    return status;
}

struct tlsf_walk {
    const struct tau_tlsf *heap;
    tau_tlsf_visitor visit;
    void *context;
};

// Ends at a header that was overwritten so that the block would not end in the row.
// bound: the blocks of one row
static bool tlsf_walk_row(void *context, struct tlsf_row row) {
    const struct tlsf_walk *const walk = context;
    for (tau_word *payload = row.first; payload != row.last;
         payload = tlsf_after(payload, tlsf_size_of(payload))) {
        if (tlsf_is_end(walk->heap, payload)) {
            const tau_word left = tlsf_fields_of(walk->heap)->wilderness_bytes;
            return left < TLSF_BLOCK_MIN_BYTES ||
                   walk->visit(walk->context, payload, left - TLSF_WORD_BYTES, true);
        }
        const bool is_free = (payload[-1] & TLSF_FREE) != 0;
        TAU_ASSERT(payload < row.last);
        if (tlsf_size_of(payload) < TLSF_BLOCK_MIN_BYTES ||
            tlsf_size_of(payload) > (uintptr_t)row.last - (uintptr_t)payload) {
            return true;
        }
        const tau_word bytes = is_free ? tlsf_size_of(payload) - (tau_word)TLSF_WORD_BYTES
                                       : tlsf_usable_bytes(payload);
        if (!walk->visit(walk->context, payload, bytes, is_free)) {
            return false;
        }
    }
    return true;
}

void tau_tlsf_walk(const struct tau_tlsf *heap, tau_tlsf_visitor visit, void *context) {
    struct tlsf_walk walk = {heap, visit, context};
    TAU_ASSERT(visit != NULL);
    TAU_PORT_LOCK(tlsf_lock_of(heap));
    TAU_INVARIANT(tau_tlsf_invariants_hold_locked(heap));
    (void)tlsf_each_row(heap, tlsf_walk_row, &walk);
    TAU_PORT_UNLOCK(tlsf_lock_of(heap));
}

#if TAU_STATISTICS
struct tau_tlsf_statistics tau_tlsf_statistics(const struct tau_tlsf *heap) {
    const struct tlsf_fields *const fields = tlsf_fields_of(heap);
    const struct tlsf_row row = tlsf_row_of(heap, NULL, TLSF_BLOCK_MIN_BYTES);
    TAU_PORT_LOCK(tlsf_lock_of(heap));
    TAU_ASSERT(fields->used_bytes <= tlsf_capacity_bytes(heap));
    struct tau_tlsf_statistics statistics = {
        .capacity_bytes = tlsf_capacity_bytes(heap),
        .used_bytes = fields->used_bytes,
        .peak_used_bytes = fields->used_bytes > fields->peak_used_bytes ? fields->used_bytes
                                                                        : fields->peak_used_bytes,
        .free_bytes = (size_t)tlsf_capacity_bytes(heap) - fields->used_bytes,
        .out_of_memory_count = fields->out_of_memory_count,
        .control_bytes = (uintptr_t)row.first - TLSF_WORD_BYTES - row.memory,
        .untouched_bytes = fields->untouched_bytes,
    };
    if (fields->summary != 0) {
        const unsigned index = tau_bits_last(fields->summary);
        const unsigned class = index * 32u + tau_bits_last(heap->bitmap[index]);
        const tau_word *const payload = tlsf_at(heap, *tlsf_head_of(heap, class));
        TAU_ASSERT(*tlsf_head_of(heap, class) != tlsf_no_block(heap));
        if (tlsf_is_sound(heap, payload, payload[-1], TLSF_BLOCK_MIN_BYTES)) {
            statistics.largest_free_bytes =
                tlsf_size_of(payload) - TLSF_WORD_BYTES - TLSF_CANARY_BYTES;
        }
    }
    if (fields->wilderness_bytes >= TLSF_BLOCK_MIN_BYTES) {
        const size_t bytes = fields->wilderness_bytes - TLSF_WORD_BYTES - TLSF_CANARY_BYTES;
        statistics.largest_free_bytes =
            bytes > statistics.largest_free_bytes ? bytes : statistics.largest_free_bytes;
    }
    TAU_PORT_UNLOCK(tlsf_lock_of(heap));
    return statistics;
}
#endif

bool tau_tlsf_invariants_hold(const struct tau_tlsf *heap) {
    TAU_PORT_LOCK(tlsf_lock_of(heap));
    const bool is_sound = tau_tlsf_invariants_hold_locked(heap);
    TAU_PORT_UNLOCK(tlsf_lock_of(heap));
    return is_sound;
}

bool tau_tlsf_invariants_hold_locked(const struct tau_tlsf *heap) {
    const struct tlsf_fields *const fields = tlsf_fields_of(heap);
    const tau_word block_max = tlsf_block_max_bytes(heap);
    const unsigned level = tlsf_second_level_bits_for(block_max);
    if (fields->turns != (tau_bits_turns(level) | TLSF_NO_ROOM) ||
        fields->classes != tlsf_class_of(heap, tlsf_key_of(block_max)) + 1 ||
        fields->leading_zeros != TAU_WORD_BITS - 1 - level) {
        return false;
    }
    const unsigned words = tlsf_words_of(heap);
    if ((fields->summary & tau_bits_from(words & 31u)) != 0 && words < TLSF_WORDS_MAX) {
        return false;
    }
    for (unsigned word = 0; word < words; word++) {  // bound: TLSF_WORDS_MAX
        if ((heap->bitmap[word] != 0) != ((fields->summary & tau_bits_mask(word)) != 0)) {
            return false;
        }
    }
    return fields->untouched_bytes <= fields->wilderness_bytes &&
           fields->used_bytes <= tlsf_capacity_bytes(heap) &&
           fields->peak_used_bytes <= tlsf_capacity_bytes(heap);
}
