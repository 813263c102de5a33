// Two-level segregated fit. Layout: docs/spec/tlsf.md. Reasons: docs/design/tlsf.md. The steps:
//
// 1. malloc turns the size into a class and tries the first block of that class. Otherwise it takes
//    the lowest non-empty class above it (two bit scans). It allocates the front of that block and
//    lists the rest again.
// 2. free merges the block with its free neighbors and lists the result. The neighbors leave their
//    lists through their own links.
//
// Every call takes a bounded number of instructions in any state: docs/spec/bounds.md.
#include "core/tlsf.h"

#include "core/private/heap/tlsf_block.h"
#include "core/private/heap/tlsf_check.h"
#include "core/private/heap/tlsf_control.h"
#include "core/private/heap/tlsf_inside.h"
#include "core/private/heap/tlsf_list.h"
#include "core/private/heap/tlsf_merge.h"
#include "core/private/heap/tlsf_request.h"
#include "core/private/heap/tlsf_rows.h"

const unsigned char TAU_TLSF_BUILT = TAU_CHECK_LEVEL;

// ---- The operations, locked --------------------------------------------------------------------

TAU_INLINE enum tau_status release(struct tau_tlsf *heap, tau_word *payload, struct used used) {
    const struct merged merged = merge(heap, payload, used);
    if (TAU_CHECK_LEVEL >= 1 && merged.payload == NULL) {
        return unmerged(heap, payload, payload, merged.size != 0);
    }
    TAU_ASSERT(merged.size >= used.size);
    TAU_ASSERT(merged.payload <= payload);
    insert(heap, merged.payload, merged.size + FREE);
    TAU_PORT_TRACE(heap, payload, NULL, 0, 0);
    TAU_PORT_UNLOCK(heap);
    return TAU_OK;
}

// Frees the last COUNT bytes of PAYLOAD's used block of OLD bytes and merges them with the next
// block, whose links were checked, if NEXT_SIZE says that it is free.
static void trim(struct tau_tlsf *heap, tau_word *payload, tau_word old, tau_word count) {
    tau_word *const tail = after(payload, old - count);
    tau_word *const next = after(payload, old);
    const tau_word next_size = free_size_of(next);
    TAU_ASSERT(count >= TAU_ALIGNMENT);
    TAU_ASSERT(count < old);
    TAU_ASSERT((payload[-1] & FREE) == 0);
    if (next_size != 0) {
        unlink(heap, next);
    } else {
        TAU_ASSERT(count >= BLOCK_MIN_BYTES);
        next[-1] |= PREVIOUS_FREE;
    }
    TAU_ASSERT(count + next_size >= BLOCK_MIN_BYTES);
    TAU_ASSERT(old - count >= BLOCK_MIN_BYTES);
    payload[-1] -= count;
    insert(heap, tail, count + next_size + FREE);
}

// ---- Making a heap -----------------------------------------------------------------------------

TAU_INLINE unsigned class_of(const struct tau_tlsf *heap, tau_word key) {
    const unsigned level = fields_of(heap)->second_level_bits;
    const unsigned shift = tau_bits_log2(key >> level);
    TAU_ASSERT(level >= 2);
    return (shift << level) + (unsigned)(key >> shift);
}

// Lists the row of blocks from FIRST (its first payload) to END (the sentinel's payload) as one
// free block.
static void list_row(struct tau_tlsf *heap, tau_word *first, const tau_word *end) {
    const tau_word row = (tau_word)((uintptr_t)end - (uintptr_t)first);
    TAU_ASSERT(row <= fields_of(heap)->block_max_bytes);
    TAU_ASSERT(row >= BLOCK_MIN_BYTES);
    TAU_ASSERT(((uintptr_t)first & (TAU_ALIGNMENT - 1)) == 0);
    after(first, row)[-1] = PREVIOUS_FREE;
    insert(heap, first, row + FREE);
}

struct tau_tlsf *tau_tlsf_init(void *memory, size_t size_bytes, size_t pool_max_bytes) {
    const size_t pool_bytes = pool_max_bytes > size_bytes ? pool_max_bytes : size_bytes;
    const uintptr_t end = (uintptr_t)memory + size_bytes;
    if (memory == NULL || size_bytes < TAU_TLSF_POOL_MIN_BYTES || pool_bytes > POOL_MAX_BYTES ||
        end < (uintptr_t)memory) {
        return NULL;
    }
    const unsigned level = second_level_bits_for((tau_word)pool_bytes);
    const unsigned classes = classes_for((tau_word)pool_bytes);
    const unsigned words = classes / 32 + 1;
    TAU_ASSERT(words <= WORDS_MAX);

    // Sizes are compared, not addresses: the control block alone may lead around the end of memory.
    const uintptr_t heads = tau_bits_round_up((uintptr_t)memory, TAU_ALIGNMENT);
    tau_word *const last = last_payload(end);
    if ((uintptr_t)last - heads < control_bytes_for(classes) + BLOCK_MIN_BYTES) {
        return NULL;
    }
    struct tau_tlsf *const heap =
        (struct tau_tlsf *)(heads + (classes - 1) * WORD_BYTES + sizeof(struct fields));
    tau_word *const first = first_payload((uintptr_t)heap + words * sizeof(uint32_t));
    TAU_ASSERT((uintptr_t)first == heads + control_bytes_for(classes));
    *fields_of(heap) = (struct fields){
        .block_max_bytes = (tau_word)pool_bytes & SIZE_MASK,
        .lowest = link_to(heap, first),
        .span_bytes = (tau_word)((uintptr_t)last - (uintptr_t)first),
        .classes = (uint16_t)classes,
        .second_level_bits = (uint8_t)level,
        .words = (uint8_t)words,
    };
    TAU_ASSERT((uintptr_t)head_of(heap, classes - 1) == heads);
    TAU_ASSERT((uintptr_t)(heap->bitmap + words) <= (uintptr_t)(first - 1));
    for (unsigned class = 1; class < classes; class += 1) {  // bound: at most 32 * WORDS_MAX
        *head_of(heap, class) = 0;
    }
    for (unsigned word = 0; word < words; word++) {  // bound: WORDS_MAX
        heap->bitmap[word] = 0;
    }
    list_row(heap, first, last);
    TAU_INVARIANT(tau_tlsf_invariants_hold_locked(heap));
    return heap;
}

size_t tau_tlsf_control_bytes(size_t pool_max_bytes) {
    TAU_ASSERT(pool_max_bytes >= TAU_TLSF_POOL_MIN_BYTES);
    TAU_ASSERT(pool_max_bytes <= POOL_MAX_BYTES);
    return control_bytes_for(classes_for((tau_word)pool_max_bytes));
}

struct range {
    uintptr_t start;
    uintptr_t end;
    bool is_overlapped;
};

static bool is_apart(void *context, struct row row) {
    struct range *const range = context;
    TAU_ASSERT(range->start <= range->end);
    TAU_ASSERT(row.memory < (uintptr_t)row.last);
    range->is_overlapped = row.memory < range->end && range->start < (uintptr_t)row.last;
    return !range->is_overlapped;
}

enum tau_status tau_tlsf_add_pool(struct tau_tlsf *heap, void *memory, size_t size_bytes) {
    struct range range = {(uintptr_t)memory, (uintptr_t)memory + size_bytes, false};
    if (memory == NULL || range.end < range.start) {
        return TAU_BAD_ARGUMENT;
    }
    tau_word *const first =
        first_payload(tau_bits_round_up(range.start, WORD_BYTES) + sizeof(struct pool));
    struct pool *const pool = pool_before(first);
    tau_word *const last = last_payload(range.end);
    if (at(heap, link_to(heap, pool)) != (void *)pool || at(heap, link_to(heap, last)) != last) {
        return TAU_BAD_ARGUMENT;  // farther from the heap than a link can express
    }
    if (size_bytes < sizeof(struct pool) || (uintptr_t)first < range.start || last < first ||
        (uintptr_t)last - (uintptr_t)first < BLOCK_MIN_BYTES) {
        return TAU_POOL_TOO_SMALL;
    }
    const uintptr_t row_bytes = (uintptr_t)last - (uintptr_t)first;
    if (row_bytes > fields_of(heap)->block_max_bytes) {
        return TAU_POOL_TOO_LARGE;
    }
    TAU_PORT_LOCK(heap);
    TAU_INVARIANT(tau_tlsf_invariants_hold_locked(heap));
    const bool apart = each_row(heap, is_apart, &range);
    if (apart) {
        struct fields *const fields = fields_of(heap);
        const uintptr_t lowest = (uintptr_t)at(heap, fields->lowest);
        const uintptr_t highest = lowest + fields->span_bytes;
        const uintptr_t start = (uintptr_t)first < lowest ? (uintptr_t)first : lowest;
        const uintptr_t end = (uintptr_t)last > highest ? (uintptr_t)last : highest;
        TAU_ASSERT(start < end);
        TAU_ASSERT(((uintptr_t)first & (TAU_ALIGNMENT - 1)) == 0);
        *pool = (struct pool){fields->pools, (tau_word)row_bytes + NO_BLOCK, capacity_bytes(heap)};
        fields->pools = link_to(heap, pool);
        fields->lowest = link_to(heap, (void *)start);
        fields->span_bytes = (tau_word)(end - start);
        list_row(heap, first, last);
    }
    TAU_PORT_UNLOCK(heap);
    return apart ? TAU_OK : range.is_overlapped ? TAU_POOL_OVERLAPS : TAU_OVERWRITTEN;
}

// ---- Public operations -------------------------------------------------------------------------

// malloc's steps. A lack of memory is reported here, or by the caller if LATER is not NULL: *LATER
// is then the reason.
TAU_ALWAYS_INLINE void *allocate(struct tau_tlsf *heap, size_t size_bytes, enum tau_status *later) {
    const tau_word size = needed(heap, size_bytes, 0);
    if (size == 0) {
        return later != NULL ? NULL : refuse(heap, size_bytes, TAU_NO_MEMORY);
    }
    TAU_PORT_LOCK(heap);
    TAU_INVARIANT(tau_tlsf_invariants_hold_locked(heap));
    enum tau_status reason;
    tau_word header;
    tau_word *const payload = take(heap, size, &header, &reason);
    if (payload == NULL) {
        TAU_PORT_UNLOCK(heap);
        if (later != NULL && (*later = reason) == TAU_NO_MEMORY) {
            return NULL;
        }
        return refuse(heap, size_bytes, reason);
    }
    TAU_ASSERT(((uintptr_t)payload & (TAU_ALIGNMENT - 1)) == 0);
    fields_of(heap)->used_bytes += keep(heap, payload, header, size, 0);
    TAU_ASSERT(usable_bytes(payload) >= size_bytes);
    TAU_ASSERT(fields_of(heap)->used_bytes <= capacity_bytes(heap));
    seal(heap, payload);
    TAU_PORT_TRACE(heap, NULL, payload, size_bytes, TAU_ALIGNMENT);
    TAU_PORT_UNLOCK(heap);
    junk(payload, 0xaa, size_bytes);
    return payload;
}

void *tau_tlsf_malloc(struct tau_tlsf *heap, size_t size_bytes) {
    return allocate(heap, size_bytes, NULL);
}

void *tau_tlsf_calloc(struct tau_tlsf *heap, size_t count, size_t size_bytes) {
    size_t total_bytes;
    if (__builtin_mul_overflow(count, size_bytes, &total_bytes)) {
        return refuse(heap, SIZE_MAX, TAU_NO_MEMORY);
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
    const tau_word size = needed(heap, size_bytes, WORD_BYTES);
    const size_t room = (size_t)fields_of(heap)->block_max_bytes - size;
    if (size == 0 || room < TAU_ALIGNMENT || room - TAU_ALIGNMENT < alignment) {
        return refuse(heap, size_bytes, TAU_NO_MEMORY);
    }
    TAU_PORT_LOCK(heap);
    TAU_INVARIANT(tau_tlsf_invariants_hold_locked(heap));
    enum tau_status reason;
    tau_word header;
    tau_word *const found =
        take(heap, size + (tau_word)alignment + TAU_ALIGNMENT, &header, &reason);
    if (found == NULL) {
        TAU_PORT_UNLOCK(heap);
        return refuse(heap, size_bytes, reason);
    }
    tau_word *payload = (tau_word *)tau_bits_round_up((uintptr_t)found, alignment);
    if ((uintptr_t)payload - (uintptr_t)found == TAU_ALIGNMENT) {
        payload = after(payload, (tau_word)alignment);  // one unit is too small for a block
    }
    const tau_word gap = (tau_word)((uintptr_t)payload - (uintptr_t)found);
    tau_word flags = ALIGNED;
    if (gap != 0) {
        insert(heap, found, gap + FREE);
        flags |= PREVIOUS_FREE;
    }
    const tau_word kept = keep(heap, payload, header - gap, size, flags);
    TAU_ASSERT(((uintptr_t)payload & (alignment - 1)) == 0);
    TAU_ASSERT(kept >= size);
    TAU_ASSERT(gap == 0 || gap >= BLOCK_MIN_BYTES);
    after(payload, kept)[-2] = (tau_word)alignment;
    fields_of(heap)->used_bytes += kept;
    seal(heap, payload);
    TAU_PORT_TRACE(heap, NULL, payload, size_bytes, alignment);
    TAU_PORT_UNLOCK(heap);
    junk(payload, 0xaa, size_bytes);
    return payload;
}

enum tau_status tau_tlsf_free(struct tau_tlsf *heap, void *pointer) {
    struct used used;
    if (TAU_CHECK_LEVEL == 0 && pointer == NULL) {
        return TAU_OK;
    }
    TAU_PORT_LOCK(heap);
    TAU_INVARIANT(tau_tlsf_invariants_hold_locked(heap));
    if (TAU_CHECK_LEVEL == 0) {
        used = look_at(pointer);
    } else if (!is_used(heap, pointer, &used)) {
        return misused(heap, pointer);
    }
    if (TAU_JUNK_FILL) {
        if (TAU_CHECK_LEVEL >= 1 && !is_mergeable(heap, pointer, &used)) {
            return misused(heap, pointer);
        }
        junk(pointer, 0x55, usable_bytes(pointer));
    }
    TAU_ASSERT(used.size >= BLOCK_MIN_BYTES);
    TAU_ASSERT(used.size <= fields_of(heap)->used_bytes);
    return release(heap, pointer, used);
}

// Whether PAYLOAD is the payload of a used block. Check level 0 does not verify it.
TAU_ALWAYS_INLINE bool is_resizable(const struct tau_tlsf *heap, const tau_word *payload,
                                    struct used *used) {
    if (TAU_CHECK_LEVEL == 0) {
        *used = look_at(payload);
        return true;
    }
    return is_mergeable(heap, payload, used);
}

// Steps 1 to 3 of realloc in docs/spec/tlsf.md, for a block of which USED was checked. Returns the
// object's new place, or NULL if it must be copied. The caller holds the lock before and after.
static tau_word *resize_in_place(struct tau_tlsf *heap, tau_word *payload, struct used used,
                                 tau_word size) {
    const tau_word header = payload[-1];
    const tau_word old = used.size;
    const tau_word used_bytes = usable_bytes(payload);
    const tau_word alignment = (header & ALIGNED) != 0 ? after(payload, old)[-2] : TAU_ALIGNMENT;
    tau_word *const next = after(payload, old);
    const tau_word room = old + used.next_size;
    tau_word *result = payload;
    TAU_ASSERT((header & FREE) == 0);
    TAU_ASSERT(used_bytes < old);
    TAU_ASSERT(tau_bits_is_power_of_two(alignment));

    if (size <= old) {
        const tau_word tail = old - size;
        if (tail >= BLOCK_MIN_BYTES || (tail != 0 && room != old)) {
            note_peak(heap);
            trim(heap, payload, old, tail);
            fields_of(heap)->used_bytes -= tail;
        }
    } else if (size <= room) {
        unlink(heap, next);
        fields_of(heap)->used_bytes +=
            keep(heap, payload, room + FREE, size, header & (PREVIOUS_FREE | ALIGNED)) - old;
    } else if (size <= used.previous_size + room &&
               ((uintptr_t)before(payload, used.previous_size) & (alignment - 1)) == 0 &&
               (TAU_CHECK_LEVEL == 0 || (after(payload, room)[-1] & FREE) == 0)) {
        // No block is free behind a free one. Only FREE that was overwritten says so.
        result = before(payload, used.previous_size);
        unlink(heap, result);
        if (room != old) {
            unlink(heap, next);
        }
        // No other call can reach the joined block, so its bytes may move without the lock. Its end
        // may be written only after that. The block behind it may be freed meanwhile.
        const tau_word whole = used.previous_size + room;
        const tau_word rest = whole - size >= BLOCK_MIN_BYTES ? whole - size : 0;
        result[-1] = whole | (header & ALIGNED);
        after(result, whole)[-1] &= ~PREVIOUS_FREE;
        fields_of(heap)->used_bytes += whole - old;
        TAU_PORT_UNLOCK(heap);
        TAU_PORT_MOVE(result, payload, used_bytes);
        TAU_PORT_LOCK(heap);
        if (rest != 0) {
            trim(heap, result, whole, rest);
            fields_of(heap)->used_bytes -= rest;
        }
    } else {
        return NULL;
    }
    if ((header & ALIGNED) != 0) {
        after(result, size_of(result))[-2] = alignment;
    }
    TAU_ASSERT(size_of(result) >= size);
    seal(heap, result);
    return result;
}

// A separate copy for tau_tlsf_realloc_or, so that tau_tlsf_realloc still inlines the other.
static __attribute__((noinline, flatten)) tau_word *
resize_in_place_or(struct tau_tlsf *heap, tau_word *payload, struct used used, tau_word size) {
    return resize_in_place(heap, payload, used, size);
}

TAU_INLINE void junk_beyond(void *payload, size_t old_bytes, size_t size_bytes) {
    if (size_bytes > old_bytes) {
        junk((char *)payload + old_bytes, 0xaa, size_bytes - old_bytes);
    }
}

void *tau_tlsf_realloc(struct tau_tlsf *heap, void *pointer, size_t size_bytes) {
    tau_word *const payload = pointer;
    if (pointer == NULL) {
        return tau_tlsf_malloc(heap, size_bytes);
    }
    if (size_bytes == 0) {
        (void)tau_tlsf_free(heap, pointer);
        return NULL;
    }
    TAU_PORT_LOCK(heap);
    TAU_INVARIANT(tau_tlsf_invariants_hold_locked(heap));
    struct used used;
    if (!is_resizable(heap, payload, &used)) {
        (void)misused(heap, payload);
        return NULL;
    }
    const bool is_aligned = (payload[-1] & ALIGNED) != 0;
    const tau_word size = needed(heap, size_bytes, is_aligned ? WORD_BYTES : 0);
    const size_t old_bytes = usable_bytes(payload);
    const size_t alignment = is_aligned ? after(payload, used.size)[-2] : TAU_ALIGNMENT;
    if (TAU_CHECK_LEVEL >= 1 && is_aligned && !is_alignment_of(payload, alignment)) {
        (void)misused(heap, payload);
        return NULL;
    }
    if (size == 0) {
        TAU_PORT_UNLOCK(heap);
        return refuse(heap, size_bytes, TAU_NO_MEMORY);
    }
    TAU_ASSERT(alignment >= TAU_ALIGNMENT);
    TAU_ASSERT(old_bytes < size_of(payload));
    void *result = resize_in_place(heap, payload, used, size);
    if (result != NULL) {
        TAU_PORT_TRACE(heap, pointer, result, size_bytes, alignment);
        TAU_PORT_UNLOCK(heap);
        junk_beyond(result, old_bytes, size_bytes);
        return result;
    }
    TAU_PORT_UNLOCK(heap);
    result = is_aligned ? tau_tlsf_aligned_alloc(heap, alignment, size_bytes)
                        : tau_tlsf_malloc(heap, size_bytes);
    if (result != NULL) {
        TAU_PORT_MOVE(result, pointer, old_bytes);
        (void)tau_tlsf_free(heap, pointer);
        junk_beyond(result, old_bytes, size_bytes);
    }
    return result;
}

void *tau_tlsf_realloc_or(struct tau_tlsf *heap, void *pointer, size_t size_bytes, size_t *copied) {
    struct used used;
    *copied = 0;
    TAU_PORT_LOCK(heap);
    TAU_INVARIANT(tau_tlsf_invariants_hold_locked(heap));
    TAU_ASSERT(pointer != NULL && size_bytes != 0);
    if (!is_resizable(heap, pointer, &used)) {
        (void)misused(heap, pointer);
        return NULL;
    }
    const size_t old_bytes = usable_bytes(pointer);
    if ((((tau_word *)pointer)[-1] & ALIGNED) != 0) {
        TAU_PORT_UNLOCK(heap);
        return tau_tlsf_realloc(heap, pointer, size_bytes);
    }
    const tau_word size = needed(heap, size_bytes, 0);
    void *result = size != 0 ? resize_in_place_or(heap, pointer, used, size) : NULL;
    if (result != NULL) {
        TAU_PORT_TRACE(heap, pointer, result, size_bytes, TAU_ALIGNMENT);
        TAU_PORT_UNLOCK(heap);
        junk_beyond(result, old_bytes, size_bytes);
        return result;
    }
    TAU_PORT_UNLOCK(heap);
    enum tau_status reason = TAU_NO_MEMORY;
    result = allocate(heap, size_bytes, &reason);
    TAU_ASSERT(result != pointer);
    TAU_ASSERT(old_bytes != 0 && old_bytes < size_bytes);
    if (result != NULL) {
        TAU_PORT_MOVE(result, pointer, old_bytes);
        (void)tau_tlsf_free(heap, pointer);
        junk_beyond(result, old_bytes, size_bytes);
    } else if (reason == TAU_NO_MEMORY) {
        *copied = old_bytes;
    }
    return result;
}

void *tau_tlsf_refuse(struct tau_tlsf *heap, size_t size_bytes) {
    return refuse(heap, size_bytes, TAU_NO_MEMORY);
}

// ---- Looking at a heap -------------------------------------------------------------------------

size_t tau_tlsf_usable_size(const struct tau_tlsf *heap, const void *pointer) {
    size_t bytes = 0;
    TAU_PORT_LOCK(lock_of(heap));
    if (pointer != NULL && tau_tlsf_check_locked(heap, pointer) == TAU_OK) {
        bytes = usable_bytes(pointer);
    }
    TAU_PORT_UNLOCK(lock_of(heap));
    return bytes;
}

size_t tau_tlsf_alignment(const struct tau_tlsf *heap, const void *pointer) {
    const tau_word *const payload = pointer;
    size_t alignment = 0;
    TAU_PORT_LOCK(lock_of(heap));
    if (pointer != NULL && tau_tlsf_check_locked(heap, pointer) == TAU_OK) {
        alignment =
            (payload[-1] & ALIGNED) != 0 ? after(payload, size_of(payload))[-2] : TAU_ALIGNMENT;
    }
    TAU_PORT_UNLOCK(lock_of(heap));
    return alignment;
}

enum tau_status tau_tlsf_check_locked(const struct tau_tlsf *heap, const void *pointer) {
    struct used used;
    return pointer == NULL || is_mergeable(heap, pointer, &used) ? TAU_OK
                                                                 : reason_for(heap, pointer);
}

enum tau_status tau_tlsf_check_pointer(const struct tau_tlsf *heap, const void *pointer) {
    TAU_PORT_LOCK(lock_of(heap));
    const enum tau_status status = tau_tlsf_check_locked(heap, pointer);
    TAU_PORT_UNLOCK(lock_of(heap));
    return status;
}

struct walk {
    tau_tlsf_visitor visit;
    void *context;
};

// Ends at a header that was overwritten so that the block would not end in the row.
// bound: the blocks of one row
static bool walk_row(void *context, struct row row) {
    const struct walk *const walk = context;
    for (tau_word *payload = row.first; payload != row.last;
         payload = after(payload, size_of(payload))) {
        const bool is_free = (payload[-1] & FREE) != 0;
        TAU_ASSERT(payload < row.last);
        if (size_of(payload) < BLOCK_MIN_BYTES ||
            size_of(payload) > (uintptr_t)row.last - (uintptr_t)payload) {
            return true;
        }
        const tau_word bytes =
            is_free ? size_of(payload) - (tau_word)WORD_BYTES : usable_bytes(payload);
        if (!walk->visit(walk->context, payload, bytes, is_free)) {
            return false;
        }
    }
    return true;
}

void tau_tlsf_walk(const struct tau_tlsf *heap, tau_tlsf_visitor visit, void *context) {
    struct walk walk = {visit, context};
    TAU_ASSERT(visit != NULL);
    TAU_PORT_LOCK(lock_of(heap));
    TAU_INVARIANT(tau_tlsf_invariants_hold_locked(heap));
    (void)each_row(heap, walk_row, &walk);
    TAU_PORT_UNLOCK(lock_of(heap));
}

struct tau_tlsf_statistics tau_tlsf_statistics(const struct tau_tlsf *heap) {
    const struct fields *const fields = fields_of(heap);
    const struct row row = row_of(heap, NULL, BLOCK_MIN_BYTES);
    TAU_PORT_LOCK(lock_of(heap));
    TAU_ASSERT(fields->used_bytes <= capacity_bytes(heap));
    struct tau_tlsf_statistics statistics = {
        .capacity_bytes = capacity_bytes(heap),
        .used_bytes = fields->used_bytes,
        .peak_used_bytes = fields->used_bytes > fields->peak_used_bytes ? fields->used_bytes
                                                                        : fields->peak_used_bytes,
        .free_bytes = (size_t)capacity_bytes(heap) - fields->used_bytes,
        .out_of_memory_count = fields->out_of_memory_count,
        .control_bytes = (uintptr_t)row.first - WORD_BYTES - row.memory,
    };
    if (fields->summary != 0) {
        const unsigned index = tau_bits_last(fields->summary);
        const unsigned class = index * 32u + tau_bits_last(heap->bitmap[index]);
        const tau_word *const payload = at(heap, *head_of(heap, class));
        TAU_ASSERT(*head_of(heap, class) != 0);
        if (is_sound(heap, payload, payload[-1], BLOCK_MIN_BYTES)) {
            statistics.largest_free_bytes = size_of(payload) - WORD_BYTES - CANARY_BYTES;
        }
    }
    TAU_PORT_UNLOCK(lock_of(heap));
    return statistics;
}

bool tau_tlsf_invariants_hold(const struct tau_tlsf *heap) {
    TAU_PORT_LOCK(lock_of(heap));
    const bool is_sound = tau_tlsf_invariants_hold_locked(heap);
    TAU_PORT_UNLOCK(lock_of(heap));
    return is_sound;
}

bool tau_tlsf_invariants_hold_locked(const struct tau_tlsf *heap) {
    const struct fields *const fields = fields_of(heap);
    const unsigned level = second_level_bits_for(fields->block_max_bytes);
    if (fields->second_level_bits != level ||
        fields->classes != class_of(heap, key_of(fields->block_max_bytes)) + 1 ||
        fields->words != fields->classes / 32 + 1) {
        return false;
    }
    if ((fields->summary & tau_bits_from(fields->words & 31u)) != 0 && fields->words < WORDS_MAX) {
        return false;
    }
    for (unsigned word = 0; word < fields->words; word++) {  // bound: WORDS_MAX
        if ((heap->bitmap[word] != 0) != ((fields->summary & tau_bits_mask(word)) != 0)) {
            return false;
        }
    }
    return fields->used_bytes <= capacity_bytes(heap) &&
           fields->peak_used_bytes <= capacity_bytes(heap);
}
