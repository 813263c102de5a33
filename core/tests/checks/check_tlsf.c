// See check_tlsf.h. Written from docs/spec/tlsf.md. Of the core it uses only the structures, the
// canary's value and the flags' names, and none of the functions with which the core itself walks.
#include "core/tests/checks/check_tlsf.h"

#include <stdlib.h>

#include "core/private/heap/tlsf_check.h"
#include "core/private/heap/tlsf_rows.h"

enum { POOLS_MAX = 128 };

struct check_row {
    const unsigned char *first;     // payload of the first block
    const unsigned char *sentinel;  // payload of the sentinel
};

struct free_block {
    const unsigned char *payload;
    tau_word size;
    bool listed;
};

struct check_walk {
    const struct tau_tlsf *heap;
    struct check_row rows[POOLS_MAX];
    size_t rows_count;
    struct free_block *free_blocks;  // by address
    size_t free_count;
    size_t free_max;
    size_t used_bytes;
    size_t total_bytes;
};

static tau_word word_at(const unsigned char *address) {
    return *(const tau_word *)(const void *)address;
}

static tau_word header_at(const unsigned char *payload) {
    return word_at(payload - sizeof(tau_word));
}

static tau_word header_size(const unsigned char *payload) {
    return header_at(payload) & ~((tau_word)(TAU_ALIGNMENT - 1) | TLSF_ALIGNED);
}

static const unsigned char *address_of(const struct check_walk *walk, tau_word link) {
    return sizeof(tau_word) == sizeof(void *) ? (const unsigned char *)(uintptr_t)link
                                              : (const unsigned char *)walk->heap + (int32_t)link;
}

static unsigned slow_log2(size_t value) {
    unsigned result = 0;
    while (value > 1) {  // bound: the width of size_t
        value >>= 1;
        result++;
    }
    return result;
}

static size_t slow_class(const struct tau_tlsf *heap, size_t size) {
    size_t key = size / TAU_ALIGNMENT - 1;
    unsigned log2 = slow_log2(key);
    unsigned level = tlsf_level_of(heap);
    unsigned shift = log2 > level ? log2 - level : 0;
    return ((size_t)shift << level) + (key >> shift);
}

static bool bit_of(const struct tau_tlsf *heap, size_t class) {
    return (heap->bitmap[class / 32] & tau_bits_mask((unsigned)class % 32)) != 0;
}

// The first payload after ADDRESS that leaves room for its header.
static const unsigned char *first_behind(const unsigned char *address) {
    address += sizeof(tau_word);
    return address + (-(uintptr_t)address & (TAU_ALIGNMENT - 1));
}

// Where the pools are: the first one after the control block, the others after their descriptors.
// False if there are too many to be true.
static bool find_rows(struct check_walk *walk) {
    const struct tlsf_fields *fields = tlsf_fields_of(walk->heap);
    struct check_row *row = &walk->rows[0];
    const uint32_t *bitmap_end = walk->heap->bitmap + fields->classes / 32 + 1;
    row->first = first_behind((const unsigned char *)bitmap_end);
    row->sentinel = row->first + tlsf_capacity_bytes(walk->heap) - fields->wilderness_bytes;
    walk->rows_count = 1;
    for (tau_word link = fields->pools; link != 0;) {  // bound: POOLS_MAX
        if (walk->rows_count == POOLS_MAX) {
            return false;
        }
        const unsigned char *start = address_of(walk, link);
        const struct tlsf_pool *pool = (const struct tlsf_pool *)(const void *)start;
        struct check_row *added = &walk->rows[walk->rows_count++];
        added->first = first_behind(start + sizeof *pool);
        added->sentinel = added->first + tlsf_row_bytes_of(pool);
        row->sentinel = row->first + pool->capacity_before_bytes;
        link = pool->older;
    }
    return true;
}

// [TLSF-11]
static bool control_holds(struct check_walk *walk) {
    const struct tlsf_fields *fields = tlsf_fields_of(walk->heap);
    const unsigned level = tlsf_level_of(walk->heap);
    if (fields->pools != 0 && fields->wilderness_bytes != 0) {
        return false;
    }
    if (level < 2 || level > 5 || fields->leading_zeros != TAU_WORD_BITS - 1 - level ||
        (fields->turns & TLSF_NO_ROOM) == 0 || !find_rows(walk)) {
        return false;
    }
    for (size_t i = 0; i < walk->rows_count; i++) {
        const struct check_row *row = &walk->rows[i];
        const size_t wilderness_bytes = i == 0 ? fields->wilderness_bytes : 0;
        const size_t row_bytes = (size_t)(row->sentinel - row->first) + wilderness_bytes;
        if (slow_class(walk->heap, row_bytes) >= fields->classes) {
            return false;
        }
    }
    return true;
}

static void remember_free(struct check_walk *walk, const unsigned char *payload, tau_word size) {
    if (walk->free_count == walk->free_max) {
        walk->free_max = walk->free_max * 2 + 64;
        walk->free_blocks = realloc(walk->free_blocks, walk->free_max * sizeof(struct free_block));
        if (walk->free_blocks == NULL) {
            abort();
        }
    }
    walk->free_blocks[walk->free_count++] =
        (struct free_block){.payload = payload, .size = size, .listed = false};
}

// [TLSF-1], without which no other row is readable.
static bool row_holds(struct check_walk *walk, const struct check_row *row) {
    const unsigned char *payload = row->first;
    const tau_word flags = TLSF_FREE | TLSF_PREVIOUS_FREE | TLSF_ALIGNED;
    if (((uintptr_t)payload | (uintptr_t)row->sentinel) % TAU_ALIGNMENT != 0) {
        return false;
    }
    while (payload != row->sentinel) {  // bound: each step is at least the smallest block
        tau_word size = header_size(payload);
        if (size < 4 * sizeof(tau_word) || size > (size_t)(row->sentinel - payload) ||
            (header_at(payload) & (TAU_ALIGNMENT - 1) & ~flags) != 0) {
            return false;
        }
        if ((header_at(payload) & TLSF_FREE) != 0) {
            remember_free(walk, payload, size);
        } else {
            walk->used_bytes += size;
        }
        walk->total_bytes += size;
        payload += size;
    }
    return header_size(payload) == 0 && (header_at(payload) & (TLSF_FREE | TLSF_ALIGNED)) == 0;
}

static bool aligned_holds(const unsigned char *payload, tau_word header, tau_word size) {
    if ((header & TLSF_ALIGNED) == 0) {
        return true;
    }
    if ((header & TLSF_FREE) != 0) {
        return false;
    }
    tau_word alignment = word_at(payload + size - 2 * sizeof(tau_word));
    return alignment > TAU_ALIGNMENT && (alignment & (alignment - 1)) == 0 &&
           (uintptr_t)payload % alignment == 0;
}

static bool canary_holds(const struct tau_tlsf *heap, const unsigned char *payload, tau_word size) {
    size_t tail_words = (header_at(payload) & TLSF_ALIGNED) != 0 ? 2 : 1;
    const unsigned char *canary = payload + size - (1 + tail_words) * sizeof(tau_word);
    return TAU_CHECK_LEVEL < 2 || (header_at(payload) & TLSF_FREE) != 0 ||
           word_at(canary) == tlsf_canary_for(heap, (const tau_word *)(const void *)payload);
}

// Whether invariant NUMBER, one of those on single blocks and their neighbors, holds in ROW.
static bool blocks_hold(const struct check_walk *walk, const struct check_row *row,
                        unsigned number) {
    bool previous_free = false;
    const unsigned char *payload = row->first;
    for (;;) {  // bound: as in row_holds
        tau_word header = header_at(payload);
        tau_word size = header_size(payload);
        bool is_free = (header & TLSF_FREE) != 0;
        bool holds = true;
        if (number == 2) {
            holds = ((header & TLSF_PREVIOUS_FREE) != 0) == previous_free;
        } else if (number == 3) {
            holds = !is_free || !previous_free;
        } else if (number == 4) {
            holds = !is_free || word_at(payload + size - 2 * sizeof(tau_word)) == size;
        } else if (number == 9) {
            holds = aligned_holds(payload, header, size);
        } else if (number == 10 && size != 0) {
            holds = canary_holds(walk->heap, payload, size);
        }
        if (!holds) {
            return false;
        }
        if (payload == row->sentinel) {
            const tau_word wilderness = tlsf_fields_of(walk->heap)->wilderness_bytes;
            return number != 3 || wilderness == 0 || header == 0;
        }
        previous_free = is_free;
        payload += size;
    }
}

static int by_address(const void *left, const void *right) {
    uintptr_t a = (uintptr_t)((const struct free_block *)left)->payload;
    uintptr_t b = (uintptr_t)((const struct free_block *)right)->payload;
    return (a > b) - (a < b);
}

static struct free_block *find_free(const struct check_walk *walk, const unsigned char *payload) {
    struct free_block wanted = {.payload = payload};
    return walk->free_count == 0
               ? NULL
               : bsearch(&wanted, walk->free_blocks, walk->free_count, sizeof wanted, by_address);
}

// [TLSF-5], [TLSF-6] and the lists' part of [TLSF-7] for one class. Returns the broken one, or 0.
static unsigned list_broken(const struct check_walk *walk, size_t class) {
    const unsigned char *slot = (const unsigned char *)tlsf_head_of(walk->heap, (unsigned)class);
    const tau_word last = tlsf_last_link(walk->heap, tlsf_end_of(walk->heap, (unsigned)class));
    const bool is_empty = word_at(slot) == tlsf_no_block(walk->heap);
    unsigned broken = 0;
    while (!is_empty && word_at(slot) != last) {  // bound: each member is marked, and met once
        const unsigned char *payload = address_of(walk, word_at(slot));
        struct free_block *block = find_free(walk, payload);
        if (block == NULL || block->listed || slow_class(walk->heap, block->size) != class) {
            return 5;
        }
        block->listed = true;
        if (address_of(walk, word_at(payload + sizeof(tau_word))) != slot + TLSF_BEYOND_BYTES) {
            broken = 6;
        }
        slot = payload;
    }
    return broken;
}

static unsigned lists_broken(const struct check_walk *walk) {
    const struct tau_tlsf *heap = walk->heap;
    bool back_broken = false;
    for (size_t class = 1; class < tlsf_fields_of(heap)->classes; class ++) {
        unsigned broken = list_broken(walk, class);
        if (broken == 5) {
            return 5;
        }
        back_broken = back_broken || broken == 6;
    }
    for (size_t i = 0; i < walk->free_count; i++) {
        if (!walk->free_blocks[i].listed) {
            return 5;
        }
    }
    return back_broken ? 6 : 0;
}

static bool bits_hold(const struct tau_tlsf *heap) {
    const struct tlsf_fields *fields = tlsf_fields_of(heap);
    for (unsigned class = 0; class < tlsf_words_of(heap) * 32u; class ++) {
        bool has_list = class >= 1 && class < fields->classes &&
                        *tlsf_head_of(heap, class) != tlsf_no_block(heap);
        if (bit_of(heap, class) != has_list) {
            return false;
        }
    }
    for (unsigned word = 0; word < 32; word++) {
        bool some = word < tlsf_words_of(heap) && heap->bitmap[word] != 0;
        if (((fields->summary & tau_bits_mask(word)) != 0) != some) {
            return false;
        }
    }
    return true;
}

static bool statistics_hold(const struct check_walk *walk) {
    struct tau_tlsf_statistics statistics = tau_tlsf_statistics(walk->heap);
    const size_t wilderness_bytes = tlsf_fields_of(walk->heap)->wilderness_bytes;
    const size_t total_bytes = walk->total_bytes + wilderness_bytes;
    return statistics.untouched_bytes <= wilderness_bytes &&
           statistics.capacity_bytes == total_bytes && statistics.used_bytes == walk->used_bytes &&
           statistics.free_bytes == total_bytes - walk->used_bytes &&
           statistics.used_bytes <= statistics.peak_used_bytes &&
           statistics.peak_used_bytes <= statistics.capacity_bytes;
}

static bool all_rows_hold(struct check_walk *walk, unsigned number) {
    for (size_t i = 0; i < walk->rows_count; i++) {
        const struct check_row *row = &walk->rows[i];
        if (!(number == 1 ? row_holds(walk, row) : blocks_hold(walk, row, number))) {
            return false;
        }
    }
    return true;
}

static unsigned first_broken(struct check_walk *walk) {
    if (!control_holds(walk)) {
        return 11;
    }
    for (unsigned number = 1; number <= 4; number++) {
        if (!all_rows_hold(walk, number)) {
            return number;
        }
    }
    if (walk->free_count > 1) {
        qsort(walk->free_blocks, walk->free_count, sizeof(struct free_block), by_address);
    }
    unsigned broken = lists_broken(walk);
    if (broken != 0) {
        return broken;
    }
    if (!bits_hold(walk->heap)) {
        return 7;
    }
    if (!statistics_hold(walk)) {
        return 8;
    }
    for (unsigned number = 9; number <= 10; number++) {
        if (!all_rows_hold(walk, number)) {
            return number;
        }
    }
    return 0;
}

unsigned check_tlsf(const struct tau_tlsf *heap) {
    struct check_walk walk = {.heap = heap};
    unsigned broken = first_broken(&walk);
    free(walk.free_blocks);
    return broken;
}
