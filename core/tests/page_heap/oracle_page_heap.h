// A naive account of a heap on pages: the positions of its objects' blocks, and the pages that must
// be mapped for them. It follows docs/spec/page_heap.md, shares no line with core/ and reads no
// field of a heap. Addresses are offsets from the address of the space's page 0.
//
// All free memory between two objects is one block. So the objects determine every boundary of two
// blocks. The boundaries determine which pages must be mapped, may be, and must not be.
#ifndef TAU_ORACLE_PAGE_HEAP_H
#define TAU_ORACLE_PAGE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/config.h"

enum {
    ORACLE_PAGES = 128,
    ORACLE_OBJECTS = 40,
    ORACLE_UNIT = TAU_ALIGNMENT,
    ORACLE_BLOCK_MIN = 2 * ORACLE_UNIT,
    ORACLE_PAGE_START_GAP = 2 * ORACLE_UNIT,
    // A block's header, and from check level 2 on its canary.
    ORACLE_OVERHEAD = (TAU_CHECK_LEVEL >= 2 ? 2 : 1) * TAU_WORD_BITS / 8,
};

struct oracle_object {
    bool is_live;
    size_t pointer;
    size_t size;   // as asked
    size_t start;  // of the block's payload
    size_t end;    // the next block's payload
};

// What the blocks ask of a page.
enum oracle_need { ORACLE_CLOSED, ORACLE_ON_ACCESS, ORACLE_MAPPED };

struct oracle_heap {
    uint32_t first;
    uint32_t pages_count;
    uint32_t commit_max_pages;
    size_t low;   // the first block's payload
    size_t high;  // the end of the heap
    struct oracle_object objects[ORACLE_OBJECTS];
    bool is_mapped[ORACLE_PAGES];
};

// What a change of the blocks takes.
struct oracle_cost {
    uint32_t frames;           // pages that must be mapped now and are not
    uint32_t committed_pages;  // afterwards: all that is or may be mapped
};

static inline size_t oracle_round_up(size_t value, size_t step) {
    return (value + step - 1) / step * step;
}

// ---- Blocks ------------------------------------------------------------------------------------

// The free block around OFFSET, which no object has, is LOW to HIGH.
static inline bool oracle_free_block(const struct oracle_heap *heap, size_t offset, size_t *low,
                                     size_t *high) {
    *low = heap->low;
    *high = heap->high;
    if (offset < *low || offset >= *high) {
        return false;
    }
    for (size_t i = 0; i < ORACLE_OBJECTS; i++) {
        const struct oracle_object *const object = &heap->objects[i];
        if (object->is_live && object->start <= offset && offset < object->end) {
            return false;
        }
        if (object->is_live && object->end <= offset && object->end > *low) {
            *low = object->end;
        }
        if (object->is_live && object->start > offset && object->start < *high) {
            *high = object->start;
        }
    }
    return true;
}

static inline size_t oracle_largest_free_block(const struct oracle_heap *heap) {
    size_t largest = 0;
    size_t low, high;
    for (size_t i = 0; i <= ORACLE_OBJECTS; i++) {
        const bool is_low = i == ORACLE_OBJECTS;
        const size_t offset = is_low ? heap->low : heap->objects[i].end;
        if ((is_low || heap->objects[i].is_live) && oracle_free_block(heap, offset, &low, &high) &&
            high - low > largest) {
            largest = high - low;
        }
    }
    return largest;
}

// Bytes of a block for SIZE bytes of payload.
static inline size_t oracle_needed(size_t size) {
    const size_t needed = oracle_round_up(size + ORACLE_OVERHEAD, ORACLE_UNIT);
    return needed < ORACLE_BLOCK_MIN ? ORACLE_BLOCK_MIN : needed;
}

// Where a block of NEEDED bytes from START on ends, if HIGH is the end of all that it may have: the
// next payload starts no page, and what would be too small for a block goes along.
static inline size_t oracle_cut(size_t start, size_t needed, size_t high) {
    size_t end = start + needed;
    if (end % TAU_PAGE_BYTES == 0) {
        end += ORACLE_UNIT;
    }
    return end + ORACLE_BLOCK_MIN > high ? high : end;
}

// The object that an ALIGNMENT and a SIZE lead to in the free block at LOW; HIGH is its end.
static inline struct oracle_object oracle_placed(size_t low, size_t high, size_t alignment,
                                                 size_t size) {
    const bool is_aligned = alignment > ORACLE_UNIT;
    const size_t needed = oracle_needed(size + (is_aligned ? ORACLE_PAGE_START_GAP : 0));
    struct oracle_object object = {.is_live = true, .size = size};
    object.pointer = is_aligned ? oracle_round_up(low, alignment) : low;
    for (;; object.pointer += alignment) {
        const size_t gap = object.pointer % TAU_PAGE_BYTES == 0 ? ORACLE_PAGE_START_GAP : 0;
        object.start = object.pointer - gap;
        if (object.start == low || object.pointer >= low + gap + ORACLE_BLOCK_MIN) {
            break;
        }
    }
    object.end = oracle_cut(object.start, needed, high);
    return object;
}

// Whether OBJECT can have SIZE bytes where it is, the pages apart; then it is changed to that.
static inline bool oracle_resized(const struct oracle_heap *heap, struct oracle_object *object,
                                  size_t size) {
    const size_t needed = oracle_needed(size + (object->pointer - object->start));
    const size_t end = object->start + needed;
    if (end <= object->end) {
        object->size = size;
        return (end - ORACLE_UNIT) / TAU_PAGE_BYTES == (object->end - ORACLE_UNIT) / TAU_PAGE_BYTES;
    }
    size_t low, high;
    if (!oracle_free_block(heap, object->end, &low, &high) || end > high) {
        return false;
    }
    object->size = size;
    object->end = oracle_cut(object->start, needed, high);
    return true;
}

// ---- Pages -------------------------------------------------------------------------------------

// The page of the boundary in front of the payload at OFFSET.
static inline uint32_t oracle_edge(size_t offset) {
    return (uint32_t)((offset - ORACLE_UNIT) / TAU_PAGE_BYTES);
}

static inline void oracle_needs(const struct oracle_heap *heap, enum oracle_need *needs) {
    memset(needs, 0, ORACLE_PAGES * sizeof *needs);
    for (size_t i = 0; i < ORACLE_OBJECTS; i++) {
        const struct oracle_object *const object = &heap->objects[i];
        for (uint32_t page = object->is_live ? oracle_edge(object->start) + 1 : ORACLE_PAGES;
             page < ORACLE_PAGES && page < oracle_edge(object->end); page++) {
            needs[page] = ORACLE_ON_ACCESS;
        }
    }
    for (size_t i = 0; i < ORACLE_OBJECTS; i++) {
        if (heap->objects[i].is_live) {
            needs[oracle_edge(heap->objects[i].start)] = ORACLE_MAPPED;
            needs[oracle_edge(heap->objects[i].end)] = ORACLE_MAPPED;
        }
    }
    for (uint32_t page = heap->first; page <= oracle_edge(heap->low); page++) {
        needs[page] = ORACLE_MAPPED;
    }
    needs[oracle_edge(heap->high)] = ORACLE_MAPPED;
}

static inline struct oracle_cost oracle_cost(const struct oracle_heap *heap) {
    enum oracle_need needs[ORACLE_PAGES];
    struct oracle_cost cost = {0, 0};
    oracle_needs(heap, needs);
    for (uint32_t page = 0; page < ORACLE_PAGES; page++) {
        cost.frames += needs[page] == ORACLE_MAPPED && !heap->is_mapped[page];
        cost.committed_pages += needs[page] != ORACLE_CLOSED;
    }
    return cost;
}

// Maps what must be mapped by now, and unmaps what no object reaches any more.
static inline void oracle_settle(struct oracle_heap *heap) {
    enum oracle_need needs[ORACLE_PAGES];
    oracle_needs(heap, needs);
    for (uint32_t page = 0; page < ORACLE_PAGES; page++) {
        heap->is_mapped[page] = needs[page] == ORACLE_MAPPED ||
                                (needs[page] == ORACLE_ON_ACCESS && heap->is_mapped[page]);
    }
}

// An empty heap, whose control block has CONTROL_BYTES.
static inline void oracle_begin(struct oracle_heap *heap, uint32_t first, uint32_t pages_count,
                                uint32_t commit_max_pages, size_t control_bytes) {
    memset(heap, 0, sizeof *heap);
    heap->first = first;
    heap->pages_count = pages_count;
    heap->commit_max_pages = commit_max_pages;
    heap->low = (size_t)first * TAU_PAGE_BYTES + control_bytes;
    if (heap->low % TAU_PAGE_BYTES == 0) {
        heap->low += ORACLE_UNIT;
    }
    heap->high = ((size_t)first + pages_count) * TAU_PAGE_BYTES;
}

#endif
