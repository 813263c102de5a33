// Two-level segregated fit. The layout is drawn in SPEC.md, "TLSF"; the reasons are in DESIGN.md. The steps:
//
// 1. malloc turns the size into a class, tries the first block of that class, else takes the lowest non-empty class above it
//    (two bit scans), hands out the front of that block and lists the rest again.
// 2. free merges the block with its free neighbours, which leave their lists through the links that they hold, and lists the result.
//
// Whatever the state, a call takes a bounded number of instructions; the numbers are SPEC.md, "Bounds".
#include "core/tlsf.h"

#include <stdint.h>

#include "core/bits.h"
#include "core/check.h"
#include "core/config.h"
#include "core/port.h"

#define WORD_BYTES sizeof(tau_word)
#define BLOCK_MIN_BYTES ((tau_word)(2 * TAU_ALIGNMENT))
#define SIZE_MASK (~(tau_word)(TAU_ALIGNMENT - 1))
#define CANARY ((tau_word)0x7a75c0de5aa5f00dULL)
#define CANARY_BYTES (TAU_CHECK_LEVEL >= 2 ? WORD_BYTES : 0u)
#define WORDS_MAX 32u

// Header flags.
#define FREE ((tau_word)1)
#define PREVIOUS_FREE ((tau_word)2)
#define ALIGNED ((tau_word)4)

#if TAU_WORD_BITS == 64
#define POOL_MAX_BYTES ((tau_word)1 << 36)
#else
#define POOL_MAX_BYTES ((tau_word)1 << (TAU_BITS_SCAN ? 30 : 29))
#endif

// Speed needs these inlined; a build for size gets one copy of each.
#ifdef __OPTIMIZE_SIZE__
#define INLINE static
#else
#define INLINE static inline __attribute__((always_inline))
#endif

// The bound is the longest path, so that one is laid straight.
#define ON_LONGEST_PATH(condition) __builtin_expect((condition), 1)

// The handle points at the bitmap. Everything else of the control block lies in front of it: the fields next to it, then the heads,
// class 1 first, away from it. So each has a fixed place although the numbers of words and of classes depend on the heap.
struct tau_tlsf {
    uint32_t bitmap[WORDS_MAX];  // only `words` of them exist
};

struct fields {
    tau_word used_bytes;
    tau_word peak_used_bytes;    // before the last free; the peak is the larger of this and used_bytes
    tau_word out_of_memory_count;
    tau_word block_max_bytes;    // no pool can serve a larger one
    tau_word lowest;             // link: lowest payload address of all pools
    tau_word span_bytes;         // from there to the highest sentinel
    tau_word pools;              // link: the newest added pool's descriptor
    uint16_t classes;            // one more than the highest class
    uint8_t second_level_bits;
    uint8_t words;
    uint32_t summary;            // bit w: bitmap word w is not 0
};

// In front of an added pool's first block.
struct pool {
    tau_word older;              // link
    tau_word row_bytes;
    tau_word capacity_before_bytes;
};

_Static_assert(sizeof(struct fields) == 7 * WORD_BYTES + 2 * sizeof(uint32_t), "no padding in the control block");
_Static_assert(BLOCK_MIN_BYTES == 4 * WORD_BYTES, "header, next, back and footer fit the smallest block");

INLINE struct fields *fields_of(const struct tau_tlsf *heap)
{
    return (struct fields *)(uintptr_t)heap - 1;
}

// ---- Links and headers --------------------------------------------------------------------------------------------------------

INLINE tau_word *at(const struct tau_tlsf *heap, tau_word link)
{
#if UINTPTR_MAX > 0xffffffffu && TAU_WORD_BITS == 32
    return (tau_word *)((uintptr_t)heap + (uintptr_t)(intptr_t)(int32_t)link);
#else
    (void)heap;
    return (tau_word *)(uintptr_t)link;
#endif
}

INLINE tau_word link_to(const struct tau_tlsf *heap, const void *address)
{
#if UINTPTR_MAX > 0xffffffffu && TAU_WORD_BITS == 32
    return (tau_word)((uintptr_t)address - (uintptr_t)heap);
#else
    (void)heap;
    return (tau_word)(uintptr_t)address;
#endif
}

INLINE tau_word *after(const tau_word *payload, tau_word bytes)
{
    return (tau_word *)((uintptr_t)payload + bytes);
}

INLINE tau_word *before(const tau_word *payload, tau_word bytes)
{
    return (tau_word *)((uintptr_t)payload - bytes);
}

INLINE tau_word size_of(const tau_word *payload)
{
    return payload[-1] & SIZE_MASK;
}

INLINE tau_word key_of(tau_word size)
{
    return (size >> TAU_ALIGNMENT_LOG2) - 1;
}

INLINE tau_word *head_of(const struct tau_tlsf *heap, uintptr_t class)
{
    return (tau_word *)((uintptr_t)fields_of(heap) - class * WORD_BYTES);
}

// ---- What callers do wrong ----------------------------------------------------------------------------------------------------

// The words behind the caller's part of a used block.
INLINE tau_word tail_bytes(const tau_word *payload)
{
    return ((payload[-1] & ALIGNED) != 0 ? (tau_word)WORD_BYTES : 0) + (tau_word)CANARY_BYTES;
}

INLINE tau_word usable_bytes(const tau_word *payload)
{
    return size_of(payload) - (tau_word)WORD_BYTES - tail_bytes(payload);
}

INLINE tau_word canary_for(const struct tau_tlsf *heap, const tau_word *payload)
{
    return CANARY ^ link_to(heap, payload);
}

INLINE void seal(const struct tau_tlsf *heap, tau_word *payload)
{
    if (TAU_CHECK_LEVEL >= 2) {
        *after(payload, usable_bytes(payload)) = canary_for(heap, payload);
    }
}

// SPEC.md, "Checks", in its order. Only constant-time looks at this block and its two neighbours.
INLINE enum tau_status check_used(const struct tau_tlsf *heap, const tau_word *payload)
{
    const uintptr_t offset = (uintptr_t)payload - (uintptr_t)at(heap, fields_of(heap)->lowest);
    const uintptr_t span = fields_of(heap)->span_bytes;
    if (((uintptr_t)payload & (TAU_ALIGNMENT - 1)) != 0) {
        return TAU_MISALIGNED_POINTER;
    }
    if (offset >= span) {
        return TAU_FOREIGN_POINTER;
    }
    const tau_word header = payload[-1];
    if ((header & FREE) != 0) {
        return TAU_DOUBLE_FREE;
    }
    const uintptr_t size = header & SIZE_MASK;
    if (size < BLOCK_MIN_BYTES || size > span - offset) {
        return TAU_FOREIGN_POINTER;
    }
    const tau_word *const next = after(payload, (tau_word)size);
    const tau_word next_header = next[-1];
    if ((next_header & PREVIOUS_FREE) != 0) {
        return TAU_OVERWRITTEN;
    }
    if ((next_header & FREE) != 0) {
        const uintptr_t next_size = next_header - FREE;
        if (next_size > span - offset - size || after(next, (tau_word)next_size)[-2] != next_size) {
            return TAU_OVERWRITTEN;
        }
    }
    if ((header & PREVIOUS_FREE) != 0) {
        const tau_word previous_size = payload[-2];
        if (previous_size > offset || before(payload, previous_size)[-1] != previous_size + FREE) {
            return TAU_OVERWRITTEN;
        }
    }
    if (TAU_CHECK_LEVEL >= 2 && *after(payload, usable_bytes(payload)) != canary_for(heap, payload)) {
        return TAU_OVERWRITTEN;
    }
    return TAU_OK;
}

// A free block about to leave its list: header and footer agree inside the span, and the next one in the list points back.
INLINE bool is_sound(const struct tau_tlsf *heap, const tau_word *payload)
{
    const uintptr_t size = payload[-1] - FREE;
    const uintptr_t lowest = (uintptr_t)at(heap, fields_of(heap)->lowest);
    const uintptr_t span = fields_of(heap)->span_bytes;
    const tau_word next = payload[0];
    if (size > span - ((uintptr_t)payload - lowest) || after(payload, (tau_word)size)[-2] != size) {
        return false;
    }
    return next == 0 || ((uintptr_t)at(heap, next) - lowest < span && (next & (TAU_ALIGNMENT - 1)) == 0 &&
                         at(heap, next)[1] == link_to(heap, payload));
}

// ---- Lists of free blocks -----------------------------------------------------------------------------------------------------

// The list at BIT of word INDEX has lost its last block.
INLINE void mark_empty(struct tau_tlsf *heap, unsigned index, unsigned bit)
{
    const uint32_t left = heap->bitmap[index] ^ tau_bits_mask(bit);
    heap->bitmap[index] = left;
    if (ON_LONGEST_PATH(left == 0)) {
        fields_of(heap)->summary ^= tau_bits_mask(index);
    }
}

// Makes PAYLOAD a free block, first in its list. HEADER is its size | FREE.
INLINE void insert(struct tau_tlsf *heap, tau_word *payload, tau_word header)
{
    const tau_word size = header - FREE;
    const tau_word key = key_of(header);
    TAU_ASSERT(size >= BLOCK_MIN_BYTES);
    TAU_ASSERT((size & ~SIZE_MASK) == 0);
    const unsigned level = fields_of(heap)->second_level_bits;
    const unsigned shift = tau_bits_log2(key >> level);
    const unsigned class = (shift << level) + (unsigned)(key >> shift);
    tau_word *const head = head_of(heap, class);
    const tau_word next = *head;

    payload[-1] = header;
    after(payload, size)[-2] = size;
    payload[0] = next;
    payload[1] = link_to(heap, head);
    *head = link_to(heap, payload);
    if (ON_LONGEST_PATH(next == 0)) {
        heap->bitmap[class >> 5] |= tau_bits_mask(class & 31u);
        fields_of(heap)->summary |= tau_bits_mask(class >> 5);
    } else {
        at(heap, next)[1] = link_to(heap, payload);
    }
}

// Takes a free block off its list. Its `back` says whether the list's head is its only other link, so no class is computed.
INLINE void unlink(struct tau_tlsf *heap, tau_word *payload)
{
    TAU_ASSERT((payload[-1] & FREE) != 0);
    const tau_word next = payload[0];
    const tau_word back = payload[1];
    tau_word *const slot = at(heap, back);
    TAU_ASSERT(*slot == link_to(heap, payload));
    *slot = next;
    if (ON_LONGEST_PATH(next == 0)) {
        const uintptr_t class = ((uintptr_t)head_of(heap, 0) - (uintptr_t)slot) / WORD_BYTES;
        if (ON_LONGEST_PATH(class < fields_of(heap)->classes)) {
            mark_empty(heap, (unsigned)class >> 5, (unsigned)class & 31u);
        }
    } else {
        at(heap, next)[1] = back;
    }
}

// Takes a block of at least SIZE bytes off its list: the first of its class if that is large enough, else the first of the next
// class that has one, all of whose blocks are. NULL if there is none or if what was found was overwritten.
INLINE tau_word *take(struct tau_tlsf *heap, tau_word size)
{
    const tau_word key = key_of(size);
    const unsigned level = fields_of(heap)->second_level_bits;
    const unsigned shift = tau_bits_log2(key >> level);
    const tau_word leading = key >> shift;
    unsigned class = (shift << level) + (unsigned)leading;
    unsigned index;
    unsigned bit;
    tau_word *payload;
    TAU_ASSERT(class < fields_of(heap)->classes);

    if (ON_LONGEST_PATH(leading << shift != key)) {
        const tau_word probed = *head_of(heap, class);
        payload = at(heap, probed);
        if (probed != 0 && payload[-1] >= size) {
            index = class >> 5;
            bit = class & 31u;
            goto found;
        }
        class++;
    }
    index = class >> 5;
    const uint32_t word = heap->bitmap[index] & tau_bits_from(class & 31u);
    if (ON_LONGEST_PATH(word == 0)) {
        const uint32_t above = fields_of(heap)->summary & tau_bits_above(index);
        if (above == 0) {
            return NULL;
        }
        index = tau_bits_first(above);
        bit = tau_bits_first(heap->bitmap[index]);
    } else {
        bit = tau_bits_first(word);
    }
    class = index * 32u + bit;
    payload = at(heap, *head_of(heap, class));
found:;
    const tau_word next = payload[0];
    tau_word *const head = head_of(heap, class);
#if TAU_CHECK_LEVEL >= 1
    if (payload[-1] < size || !is_sound(heap, payload)) {
        TAU_PORT_MISUSE(heap, payload, TAU_OVERWRITTEN);
        return NULL;
    }
#endif
    *head = next;
    if (ON_LONGEST_PATH(next == 0)) {
        mark_empty(heap, index, bit);
    } else {
        at(heap, next)[1] = link_to(heap, head);
    }
    return payload;
}

// Makes PAYLOAD, an unlisted free block with HEADER (its size | FREE), a used one of SIZE with FLAGS; what is left over is listed if
// it makes a block. Returns the bytes kept.
INLINE tau_word keep(struct tau_tlsf *heap, tau_word *payload, tau_word header, tau_word size, tau_word flags)
{
    TAU_ASSERT((header & ~SIZE_MASK) == FREE);
    TAU_ASSERT(header >= size);
    const tau_word rest = header - size;
    if (ON_LONGEST_PATH((tau_signed_word)key_of(rest) > 0)) {
        payload[-1] = size | flags;
        insert(heap, after(payload, size), rest);
        return size;
    }
    payload[-1] = (header - FREE) | flags;
    after(payload, header - FREE)[-1] &= ~PREVIOUS_FREE;
    return header - FREE;
}

// The peak is where a free follows: it is noted there, so that malloc need not.
INLINE void note_peak(struct tau_tlsf *heap)
{
    if (fields_of(heap)->used_bytes > fields_of(heap)->peak_used_bytes) {
        fields_of(heap)->peak_used_bytes = fields_of(heap)->used_bytes;
    }
}


// ---- The operations, locked ---------------------------------------------------------------------------------------------------

// Bytes of the block that serves REQUEST with EXTRA more bytes in its tail; 0 if REQUEST is 0 or beyond every pool.
INLINE tau_word needed(const struct tau_tlsf *heap, size_t request, size_t extra)
{
    const size_t beyond = extra + CANARY_BYTES + WORD_BYTES + TAU_ALIGNMENT - 1;
    const size_t size = (request + beyond) & ~(size_t)(TAU_ALIGNMENT - 1);
    if ((intptr_t)(size >> TAU_ALIGNMENT_LOG2) - 1 <= 0) {
        return request - 1 < BLOCK_MIN_BYTES ? BLOCK_MIN_BYTES : 0;  // 0, or so large that the sum went round
    }
    return size <= fields_of(heap)->block_max_bytes ? (tau_word)size : 0;
}

// Returns NULL, after counting and reporting a request that memory is too short for.
static void *refuse(struct tau_tlsf *heap, size_t size_bytes)
{
    if (size_bytes != 0) {
        TAU_PORT_LOCK(heap);
        fields_of(heap)->out_of_memory_count++;
        TAU_PORT_UNLOCK(heap);
        TAU_PORT_OUT_OF_MEMORY(heap, size_bytes);
    }
    return NULL;
}

INLINE void junk(void *payload, int value, size_t size_bytes)
{
    if (TAU_JUNK_FILL) {
        TAU_PORT_FILL(payload, value, size_bytes);
    }
}

INLINE void release(struct tau_tlsf *heap, tau_word *payload)
{
    tau_word size = size_of(payload);
    tau_word *const next = after(payload, size);
    TAU_ASSERT((payload[-1] & FREE) == 0);
    TAU_ASSERT((next[-1] & PREVIOUS_FREE) == 0);
    note_peak(heap);
    fields_of(heap)->used_bytes -= size;
    if (ON_LONGEST_PATH((next[-1] & FREE) != 0)) {
        unlink(heap, next);
        size += size_of(next);
    } else {
        next[-1] |= PREVIOUS_FREE;
    }
    if (ON_LONGEST_PATH((payload[-1] & PREVIOUS_FREE) != 0)) {
        const tau_word previous_size = payload[-2];
        if (TAU_CHECK_LEVEL >= 1) {
            payload[-1] |= FREE;  // a second free of this address finds it
        }
        payload = before(payload, previous_size);
        unlink(heap, payload);
        size += previous_size;
    }
    insert(heap, payload, size + FREE);
}

// The last COUNT bytes of PAYLOAD's used block of OLD bytes become free, merged with a free next block.
static void trim(struct tau_tlsf *heap, tau_word *payload, tau_word old, tau_word count)
{
    tau_word *const tail = after(payload, old - count);
    tau_word *const next = after(payload, old);
    TAU_ASSERT(count >= TAU_ALIGNMENT);
    tau_word size = count;
    if ((next[-1] & FREE) != 0) {
        unlink(heap, next);
        size += size_of(next);
    } else {
        TAU_ASSERT(count >= BLOCK_MIN_BYTES);
        next[-1] |= PREVIOUS_FREE;
    }
    payload[-1] -= count;
    insert(heap, tail, size + FREE);
}

// ---- Making a heap ------------------------------------------------------------------------------------------------------------

INLINE unsigned class_of(const struct tau_tlsf *heap, tau_word key)
{
    const unsigned level = fields_of(heap)->second_level_bits;
    const unsigned shift = tau_bits_log2(key >> level);
    return (shift << level) + (unsigned)(key >> shift);
}

static unsigned second_level_bits_for(tau_word pool_max_bytes)
{
    const tau_word kib = (tau_word)1 << 10;
    return pool_max_bytes < 32 * kib ? 2 : pool_max_bytes < 512 * kib ? 3 : pool_max_bytes < 4096 * kib ? 4 : 5;
}

// Lists the row of blocks from FIRST (its first payload) to END (the sentinel's payload) as one free block.
static void list_row(struct tau_tlsf *heap, tau_word *first, const tau_word *end)
{
    const tau_word row = (tau_word)((uintptr_t)end - (uintptr_t)first);
    TAU_ASSERT(row >= BLOCK_MIN_BYTES);
    TAU_ASSERT(((uintptr_t)first & (TAU_ALIGNMENT - 1)) == 0);
    after(first, row)[-1] = PREVIOUS_FREE;
    insert(heap, first, row + FREE);
}

// The first payload address of a row whose first header lies at or behind ADDRESS; the sentinel's payload at or before ADDRESS.
static tau_word *first_payload(uintptr_t address)
{
    return (tau_word *)tau_bits_round_up(address + WORD_BYTES, TAU_ALIGNMENT);
}

static tau_word *last_payload(uintptr_t address)
{
    return (tau_word *)(address & ~(uintptr_t)(TAU_ALIGNMENT - 1));
}

struct tau_tlsf *tau_tlsf_init(void *memory, size_t size_bytes, size_t pool_max_bytes)
{
    const size_t pool_bytes = pool_max_bytes > size_bytes ? pool_max_bytes : size_bytes;
    const uintptr_t end = (uintptr_t)memory + size_bytes;
    if (memory == NULL || size_bytes < TAU_TLSF_POOL_MIN_BYTES || pool_bytes > POOL_MAX_BYTES || end < (uintptr_t)memory) {
        return NULL;
    }
    const unsigned level = second_level_bits_for((tau_word)pool_bytes);
    const tau_word key = key_of((tau_word)pool_bytes);
    const unsigned shift = tau_bits_log2(key >> level);
    const unsigned classes = (shift << level) + (unsigned)(key >> shift) + 1;
    const unsigned words = classes / 32 + 1;
    TAU_ASSERT(words <= WORDS_MAX);
    TAU_ASSERT(key >> level <= TAU_BITS_LOG2_MAX);

    const uintptr_t heads = tau_bits_round_up((uintptr_t)memory, TAU_ALIGNMENT);
    struct tau_tlsf *const heap =
        (struct tau_tlsf *)(heads + (classes - 1) * WORD_BYTES + sizeof(struct fields));
    tau_word *const first = first_payload((uintptr_t)heap + words * sizeof(uint32_t));
    tau_word *const last = last_payload(end);
    if ((uintptr_t)first + BLOCK_MIN_BYTES > (uintptr_t)last) {
        return NULL;
    }
    *fields_of(heap) = (struct fields){
        .block_max_bytes = (tau_word)pool_bytes & SIZE_MASK,
        .lowest = link_to(heap, first),
        .span_bytes = (tau_word)((uintptr_t)last - (uintptr_t)first),
        .classes = (uint16_t)classes,
        .second_level_bits = (uint8_t)level,
        .words = (uint8_t)words,
    };
    for (unsigned class = 1; class < classes; class++) {  // bound: at most 32 * WORDS_MAX
        *head_of(heap, class) = 0;
    }
    for (unsigned word = 0; word < words; word++) {  // bound: WORDS_MAX
        heap->bitmap[word] = 0;
    }
    list_row(heap, first, last);
    TAU_INVARIANT(tau_tlsf_invariants_hold(heap));
    return heap;
}

INLINE struct pool *pool_at(const struct tau_tlsf *heap, tau_word link)
{
    return (struct pool *)(void *)at(heap, link);
}

static tau_word capacity_bytes(const struct tau_tlsf *heap)
{
    const struct fields *const fields = fields_of(heap);
    if (fields->pools == 0) {
        return fields->span_bytes;
    }
    const struct pool *const newest = pool_at(heap, fields->pools);
    return newest->capacity_before_bytes + newest->row_bytes;
}

// The row of the pool whose descriptor is POOL; of the first pool for NULL.
struct row {
    uintptr_t memory;  // where its control block or descriptor starts
    tau_word *first;
    tau_word *last;    // the sentinel's payload
};

static struct row row_of(const struct tau_tlsf *heap, const struct pool *pool, tau_word first_row_bytes)
{
    struct row row;
    if (pool == NULL) {
        row.memory = (uintptr_t)head_of(heap, fields_of(heap)->classes - 1u);
        row.first = first_payload((uintptr_t)heap + fields_of(heap)->words * sizeof(uint32_t));
        row.last = after(row.first, first_row_bytes);
    } else {
        row.memory = (uintptr_t)pool;
        row.first = first_payload((uintptr_t)(pool + 1));
        row.last = after(row.first, pool->row_bytes);
    }
    TAU_ASSERT(row.memory < (uintptr_t)row.first);
    return row;
}

// Visits every row, newest pool first, the first pool last; stops when VISIT returns false and returns false then.
// bound: the number of pools
static bool each_row(const struct tau_tlsf *heap, bool (*visit)(void *context, struct row row), void *context)
{
    tau_word first_row_bytes = fields_of(heap)->span_bytes;
    for (tau_word link = fields_of(heap)->pools; link != 0; link = pool_at(heap, link)->older) {
        const struct pool *const pool = pool_at(heap, link);
        first_row_bytes = pool->capacity_before_bytes;
        if (!visit(context, row_of(heap, pool, 0))) {
            return false;
        }
    }
    return visit(context, row_of(heap, NULL, first_row_bytes));
}

struct range {
    uintptr_t start;
    uintptr_t end;
};

static bool is_apart(void *context, struct row row)
{
    const struct range *const range = context;
    return range->end <= row.memory || (uintptr_t)row.last <= range->start;
}

enum tau_status tau_tlsf_add_pool(struct tau_tlsf *heap, void *memory, size_t size_bytes)
{
    struct range range = {(uintptr_t)memory, (uintptr_t)memory + size_bytes};
    if (memory == NULL || range.end < range.start) {
        return TAU_BAD_ARGUMENT;
    }
    struct pool *const pool = (struct pool *)tau_bits_round_up(range.start, WORD_BYTES);
    tau_word *const first = first_payload((uintptr_t)(pool + 1));
    tau_word *const last = last_payload(range.end);
    if (at(heap, link_to(heap, pool)) != (void *)pool || at(heap, link_to(heap, last)) != last) {
        return TAU_BAD_ARGUMENT;  // farther from the heap than a link can say
    }
    if (size_bytes < sizeof(struct pool) || (uintptr_t)first + BLOCK_MIN_BYTES > (uintptr_t)last) {
        return TAU_POOL_TOO_SMALL;
    }
    const uintptr_t row_bytes = (uintptr_t)last - (uintptr_t)first;
    if (row_bytes > fields_of(heap)->block_max_bytes) {
        return TAU_POOL_TOO_LARGE;
    }
    TAU_PORT_LOCK(heap);
    const bool apart = each_row(heap, is_apart, &range);
    if (apart) {
        struct fields *const fields = fields_of(heap);
        const uintptr_t lowest = (uintptr_t)at(heap, fields->lowest);
        const uintptr_t start = (uintptr_t)first < lowest ? (uintptr_t)first : lowest;
        const uintptr_t end = (uintptr_t)last > lowest + fields->span_bytes ? (uintptr_t)last : lowest + fields->span_bytes;
        *pool = (struct pool){fields->pools, (tau_word)row_bytes, capacity_bytes(heap)};
        fields->pools = link_to(heap, pool);
        fields->lowest = link_to(heap, (void *)start);
        fields->span_bytes = (tau_word)(end - start);
        list_row(heap, first, last);
    }
    TAU_PORT_UNLOCK(heap);
    return apart ? TAU_OK : TAU_POOL_OVERLAPS;
}

// ---- Public operations --------------------------------------------------------------------------------------------------------

void *tau_tlsf_malloc(struct tau_tlsf *heap, size_t size_bytes)
{
    const tau_word size = needed(heap, size_bytes, 0);
    if (size == 0) {
        return refuse(heap, size_bytes);
    }
    TAU_PORT_LOCK(heap);
    TAU_INVARIANT(tau_tlsf_invariants_hold(heap));
    tau_word *const payload = take(heap, size);
    if (payload == NULL) {
        TAU_PORT_UNLOCK(heap);
        return refuse(heap, size_bytes);
    }
    fields_of(heap)->used_bytes += keep(heap, payload, payload[-1], size, 0);
    seal(heap, payload);
    TAU_PORT_TRACE(heap, NULL, payload, size_bytes, TAU_ALIGNMENT);
    TAU_PORT_UNLOCK(heap);
    junk(payload, 0xaa, size_bytes);
    return payload;
}

void *tau_tlsf_calloc(struct tau_tlsf *heap, size_t count, size_t size_bytes)
{
    size_t total_bytes;
    if (__builtin_mul_overflow(count, size_bytes, &total_bytes)) {
        return refuse(heap, SIZE_MAX);
    }
    void *const payload = tau_tlsf_malloc(heap, total_bytes);
    if (payload != NULL) {
        TAU_PORT_FILL(payload, 0, total_bytes);
    }
    return payload;
}

void *tau_tlsf_aligned_alloc(struct tau_tlsf *heap, size_t alignment, size_t size_bytes)
{
    if (!tau_bits_is_power_of_two(alignment)) {
        return NULL;
    }
    if (alignment <= TAU_ALIGNMENT) {
        return tau_tlsf_malloc(heap, size_bytes);
    }
    const tau_word size = needed(heap, size_bytes, WORD_BYTES);
    const size_t room = (size_t)fields_of(heap)->block_max_bytes - size;
    if (size == 0 || room < TAU_ALIGNMENT || room - TAU_ALIGNMENT < alignment) {
        return refuse(heap, size_bytes);
    }
    TAU_PORT_LOCK(heap);
    TAU_INVARIANT(tau_tlsf_invariants_hold(heap));
    tau_word *const found = take(heap, size + (tau_word)alignment + TAU_ALIGNMENT);
    if (found == NULL) {
        TAU_PORT_UNLOCK(heap);
        return refuse(heap, size_bytes);
    }
    tau_word *payload = (tau_word *)tau_bits_round_up((uintptr_t)found, alignment);
    if ((uintptr_t)payload - (uintptr_t)found == TAU_ALIGNMENT) {
        payload = after(payload, (tau_word)alignment);  // a gap of one unit would be no block
    }
    const tau_word gap = (tau_word)((uintptr_t)payload - (uintptr_t)found);
    const tau_word header = found[-1] - gap;
    tau_word flags = ALIGNED;
    if (gap != 0) {
        insert(heap, found, gap + FREE);
        flags |= PREVIOUS_FREE;
    }
    const tau_word kept = keep(heap, payload, header, size, flags);
    after(payload, kept)[-2] = (tau_word)alignment;
    fields_of(heap)->used_bytes += kept;
    seal(heap, payload);
    TAU_PORT_TRACE(heap, NULL, payload, size_bytes, alignment);
    TAU_PORT_UNLOCK(heap);
    junk(payload, 0xaa, size_bytes);
    return payload;
}

enum tau_status tau_tlsf_free(struct tau_tlsf *heap, void *pointer)
{
    if (pointer == NULL) {
        return TAU_OK;
    }
    TAU_PORT_LOCK(heap);
    TAU_INVARIANT(tau_tlsf_invariants_hold(heap));
#if TAU_CHECK_LEVEL >= 1
    const enum tau_status status = check_used(heap, pointer);
    if (status != TAU_OK) {
        TAU_PORT_UNLOCK(heap);
        TAU_PORT_MISUSE(heap, pointer, status);
        return status;
    }
#endif
    TAU_PORT_TRACE(heap, pointer, NULL, 0, 0);
#if TAU_JUNK_FILL
    TAU_PORT_UNLOCK(heap);
    junk(pointer, 0x55, usable_bytes(pointer));
    TAU_PORT_LOCK(heap);
#endif
    release(heap, pointer);
    TAU_PORT_UNLOCK(heap);
    return TAU_OK;
}

// SPEC.md, realloc steps 1 to 3. Returns the object's new place, NULL if it must be copied. Entered and left with the lock held.
static tau_word *resize_in_place(struct tau_tlsf *heap, tau_word *payload, tau_word size)
{
    const tau_word header = payload[-1];
    const tau_word old = header & SIZE_MASK;
    const tau_word used_bytes = usable_bytes(payload);
    const tau_word alignment = (header & ALIGNED) != 0 ? after(payload, old)[-2] : TAU_ALIGNMENT;
    tau_word *const next = after(payload, old);
    const tau_word room = old + ((next[-1] & FREE) != 0 ? size_of(next) : 0);
    const tau_word previous_size = (header & PREVIOUS_FREE) != 0 ? payload[-2] : 0;
    tau_word *result = payload;

    if (size <= old) {
        const tau_word tail = old - size;
        if (tail >= BLOCK_MIN_BYTES || (tail != 0 && room != old)) {
            note_peak(heap);
            trim(heap, payload, old, tail);
            fields_of(heap)->used_bytes -= tail;
        }
    } else if (size <= room) {
        unlink(heap, next);
        fields_of(heap)->used_bytes += keep(heap, payload, room + FREE, size, header & (PREVIOUS_FREE | ALIGNED)) - old;
    } else if (size <= previous_size + room && (uintptr_t)before(payload, previous_size) % alignment == 0) {
        result = before(payload, previous_size);
        unlink(heap, result);
        if (room != old) {
            unlink(heap, next);
        }
        // The joined block is ours alone, so its bytes may move without the lock; only then is its end free to be written.
        const tau_word whole = previous_size + room;
        const tau_word rest = whole - size >= BLOCK_MIN_BYTES ? whole - size : 0;
        result[-1] = whole | (header & ALIGNED);
        after(result, whole)[-1] &= ~PREVIOUS_FREE;
        TAU_PORT_UNLOCK(heap);
        TAU_PORT_MOVE(result, payload, used_bytes);
        TAU_PORT_LOCK(heap);
        if (rest != 0) {
            trim(heap, result, whole, rest);
        }
        fields_of(heap)->used_bytes += whole - rest - old;
    } else {
        return NULL;
    }
    if ((header & ALIGNED) != 0) {
        after(result, size_of(result))[-2] = alignment;
    }
    seal(heap, result);
    return result;
}

void *tau_tlsf_realloc(struct tau_tlsf *heap, void *pointer, size_t size_bytes)
{
    tau_word *const payload = pointer;
    if (pointer == NULL) {
        return tau_tlsf_malloc(heap, size_bytes);
    }
    if (size_bytes == 0) {
        (void)tau_tlsf_free(heap, pointer);
        return NULL;
    }
    TAU_PORT_LOCK(heap);
    TAU_INVARIANT(tau_tlsf_invariants_hold(heap));
#if TAU_CHECK_LEVEL >= 1
    const enum tau_status status = check_used(heap, payload);
    if (status != TAU_OK) {
        TAU_PORT_UNLOCK(heap);
        TAU_PORT_MISUSE(heap, pointer, status);
        return NULL;
    }
#endif
    const bool is_aligned = (payload[-1] & ALIGNED) != 0;
    const tau_word size = needed(heap, size_bytes, is_aligned ? WORD_BYTES : 0);
    const size_t old_bytes = usable_bytes(payload);
    const size_t alignment = is_aligned ? after(payload, size_of(payload))[-2] : TAU_ALIGNMENT;
    if (size == 0) {
        TAU_PORT_UNLOCK(heap);
        return refuse(heap, size_bytes);
    }
    void *result = resize_in_place(heap, payload, size);
    if (result != NULL) {
        TAU_PORT_TRACE(heap, pointer, result, size_bytes, alignment);
    }
    TAU_PORT_UNLOCK(heap);
    if (result == NULL) {
        result = tau_tlsf_aligned_alloc(heap, alignment, size_bytes);
        if (result == NULL) {
            return NULL;
        }
        TAU_PORT_MOVE(result, pointer, old_bytes);
        (void)tau_tlsf_free(heap, pointer);
    }
    if (size_bytes > old_bytes) {
        junk((char *)result + old_bytes, 0xaa, size_bytes - old_bytes);
    }
    return result;
}

size_t tau_tlsf_usable_size(const struct tau_tlsf *heap, const void *pointer)
{
    if (pointer == NULL || tau_tlsf_check_pointer(heap, pointer) != TAU_OK) {
        return 0;
    }
    return usable_bytes(pointer);
}

enum tau_status tau_tlsf_check_pointer(const struct tau_tlsf *heap, const void *pointer)
{
    return check_used(heap, pointer);
}

// ---- Looking at a heap --------------------------------------------------------------------------------------------------------

struct walk {
    tau_tlsf_visitor visit;
    void *context;
};

// bound: the blocks of one row
static bool walk_row(void *context, struct row row)
{
    const struct walk *const walk = context;
    for (tau_word *payload = row.first; payload != row.last; payload = after(payload, size_of(payload))) {
        const bool is_free = (payload[-1] & FREE) != 0;
        const tau_word bytes = is_free ? size_of(payload) - (tau_word)WORD_BYTES : usable_bytes(payload);
        if (!walk->visit(walk->context, payload, bytes, is_free)) {
            return false;
        }
    }
    return true;
}

void tau_tlsf_walk(const struct tau_tlsf *heap, tau_tlsf_visitor visit, void *context)
{
    struct walk walk = {visit, context};
    (void)each_row(heap, walk_row, &walk);
}

struct tau_tlsf_statistics tau_tlsf_statistics(const struct tau_tlsf *heap)
{
    const struct fields *const fields = fields_of(heap);
    const struct row row = row_of(heap, NULL, 0);
    struct tau_tlsf_statistics statistics = {
        .capacity_bytes = capacity_bytes(heap),
        .used_bytes = fields->used_bytes,
        .peak_used_bytes = fields->used_bytes > fields->peak_used_bytes ? fields->used_bytes : fields->peak_used_bytes,
        .free_bytes = (size_t)capacity_bytes(heap) - fields->used_bytes,
        .out_of_memory_count = fields->out_of_memory_count,
        .control_bytes = (uintptr_t)row.first - WORD_BYTES - row.memory,
    };
    if (fields->summary != 0) {
        const unsigned index = tau_bits_last(fields->summary);
        const unsigned class = index * 32u + tau_bits_last(heap->bitmap[index]);
        statistics.largest_free_bytes = size_of(at(heap, *head_of(heap, class))) - WORD_BYTES - CANARY_BYTES;
    }
    return statistics;
}

bool tau_tlsf_invariants_hold(const struct tau_tlsf *heap)
{
    const struct fields *const fields = fields_of(heap);
    const unsigned level = second_level_bits_for(fields->block_max_bytes);
    if (fields->second_level_bits != level || fields->classes != class_of(heap, key_of(fields->block_max_bytes)) + 1 ||
        fields->words != fields->classes / 32 + 1) {
        return false;
    }
    for (unsigned word = 0; word < fields->words; word++) {  // bound: WORDS_MAX
        if ((heap->bitmap[word] != 0) != ((fields->summary & tau_bits_mask(word)) != 0)) {
            return false;
        }
    }
    return fields->used_bytes <= capacity_bytes(heap) && fields->peak_used_bytes <= capacity_bytes(heap);
}
