// Kingsley's allocator, as the budgeted-heap paper compares with it [P1-19]: one stack of free
// blocks for each power of two.
//
// Source: the behavior of 4.2BSD's malloc by Chris Kingsley, in code of our own. A request plus a
// header of 4 bytes is rounded up to a power of two (at least 16). If the stack of that size is
// empty, memory is taken from the end of the arena: a page cut into blocks for small sizes, whole
// pages for large ones. Memory never goes back and is never split or merged. The header holds the
// block's class; a free block's header holds the offset of the next one. The arena's first 4 bytes
// are left out so that payloads are multiples of 8. The array of stacks is not counted: it is the
// program's static data, not heap.
#include "peers/peers.h"

#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES 4096u
#define HEADER_BYTES 4u
#define CLASS_MIN 4u  // 16 bytes
#define CLASS_MAX 31u
#define ALIGNMENT 8u
// In a header: the low bits are the class; a block moved up for its alignment has its distance to
// the real one.
#define MARK_CLASS 0x4b470000u
#define MARK_MOVED 0x80000000u

struct kingsley {
    struct tau_replay_system system;
    uint8_t *arena;
    uint64_t arena_bytes;
    uint64_t used_bytes;                  // the "break": the most ever taken
    uint32_t free_blocks[CLASS_MAX + 1];  // offsets of headers, 0 = none
};

static uint32_t word_read(const uint8_t *at) {
    uint32_t value = 0;
    memcpy(&value, at, sizeof value);
    return value;
}

static void word_write(uint8_t *at, uint32_t value) {
    memcpy(at, &value, sizeof value);
}

static uint32_t class_of(size_t size_bytes) {
    uint32_t class = CLASS_MIN;
    while (class <= CLASS_MAX && ((uint64_t)1 << class) < (uint64_t)size_bytes + HEADER_BYTES) {
        class ++;
    }
    return class;
}

// Takes one page, or as many as a large block needs, and stacks its blocks. False: the arena is
// used up.
static bool grow(struct kingsley *heap, uint32_t class) {
    const uint64_t block_bytes = (uint64_t)1 << class;
    const uint64_t taken = block_bytes < PAGE_BYTES ? PAGE_BYTES : block_bytes;
    if (taken > heap->arena_bytes - heap->used_bytes || heap->used_bytes + taken > UINT32_MAX) {
        return false;
    }
    for (uint64_t at = heap->used_bytes + taken; at > heap->used_bytes; at -= block_bytes) {
        const uint64_t block = at - block_bytes;
        word_write(heap->arena + block, heap->free_blocks[class]);
        heap->free_blocks[class] = (uint32_t)block;
    }
    heap->used_bytes += taken;
    return true;
}

static void *kingsley_malloc(void *context, size_t size_bytes) {
    struct kingsley *heap = context;
    if (size_bytes == 0 || size_bytes > ((size_t)1 << CLASS_MAX) - HEADER_BYTES) {
        return NULL;
    }
    const uint32_t class = class_of(size_bytes);
    if (heap->free_blocks[class] == 0 && !grow(heap, class)) {
        return NULL;
    }
    uint8_t *block = heap->arena + heap->free_blocks[class];
    heap->free_blocks[class] = word_read(block);
    word_write(block, MARK_CLASS | class);
    return block + HEADER_BYTES;
}

static void *kingsley_calloc(void *context, size_t count, size_t size_bytes) {
    if (size_bytes != 0 && count > SIZE_MAX / size_bytes) {
        return NULL;
    }
    void *pointer = kingsley_malloc(context, count * size_bytes);
    if (pointer != NULL) {
        memset(pointer, 0, count * size_bytes);
    }
    return pointer;
}

static void *kingsley_aligned_alloc(void *context, size_t alignment, size_t size_bytes) {
    if (alignment <= ALIGNMENT) {
        return kingsley_malloc(context, size_bytes);
    }
    if (alignment >= MARK_MOVED || size_bytes > SIZE_MAX - alignment) {
        return NULL;
    }
    uint8_t *pointer = kingsley_malloc(context, size_bytes + alignment);
    if (pointer == NULL) {
        return NULL;
    }
    const uintptr_t distance = (alignment - (uintptr_t)pointer % alignment) % alignment;
    if (distance != 0) {
        word_write(pointer + distance - HEADER_BYTES, MARK_MOVED | (uint32_t)distance);
    }
    return pointer + distance;
}

// The block's header, whatever the distance that an alignment put between it and POINTER.
static uint8_t *block_of(uint8_t *pointer) {
    const uint32_t header = word_read(pointer - HEADER_BYTES);
    const uint32_t distance = (header & MARK_MOVED) != 0 ? header & ~MARK_MOVED : 0;
    return pointer - distance - HEADER_BYTES;
}

static int kingsley_free(void *context, void *pointer) {
    struct kingsley *heap = context;
    uint8_t *block = block_of(pointer);
    const uint32_t header = word_read(block);
    const uint32_t class = header & ~MARK_CLASS;
    if ((header & MARK_CLASS) != MARK_CLASS || class > CLASS_MAX) {
        return 1;
    }
    word_write(block, heap->free_blocks[class]);
    heap->free_blocks[class] = (uint32_t)(block - heap->arena);
    return 0;
}

// Stays while the new size has the same class; otherwise a new block, a copy and a free.
static void *kingsley_realloc(void *context, void *pointer, size_t size_bytes) {
    uint8_t *block = block_of(pointer);
    const uint32_t class = word_read(block) & ~MARK_CLASS;
    const size_t before = (size_t)((uint8_t *)pointer - block);
    const size_t room = ((size_t)1 << class) - before;
    const bool is_moved = before != HEADER_BYTES;
    if (size_bytes <= room && (is_moved || class_of(size_bytes) == class)) {
        return pointer;
    }
    const size_t alignment = is_moved ? (size_t)((uintptr_t)pointer & -(uintptr_t)pointer) : 0;
    void *moved = kingsley_aligned_alloc(context, alignment, size_bytes);
    if (moved != NULL) {
        memcpy(moved, pointer, size_bytes < room ? size_bytes : room);
        (void)kingsley_free(context, pointer);
    }
    return moved;
}

static void *kingsley_init(struct tau_replay_system *system, void *arena, size_t size_bytes) {
    struct kingsley *heap = system->state;
    if (size_bytes < ALIGNMENT - HEADER_BYTES) {
        return NULL;
    }
    memset(heap->free_blocks, 0, sizeof heap->free_blocks);
    heap->arena = arena;
    heap->arena_bytes = size_bytes;
    heap->used_bytes = ALIGNMENT - HEADER_BYTES;
    return heap;
}

static size_t kingsley_footprint(void *context) {
    const struct kingsley *heap = context;
    return (size_t)heap->used_bytes;
}

static void kingsley_close(struct tau_replay_system *system) {
    free(system->state);
}

struct tau_replay_system *tau_system_kingsley_open(void) {
    struct kingsley *heap = calloc(1, sizeof *heap);
    if (heap == NULL) {
        return NULL;
    }
    heap->system = (struct tau_replay_system){
        .init = kingsley_init,
        .malloc = kingsley_malloc,
        .calloc = kingsley_calloc,
        .aligned_alloc = kingsley_aligned_alloc,
        .realloc = kingsley_realloc,
        .free = kingsley_free,
        .footprint = kingsley_footprint,
        .close = kingsley_close,
        .alignment = ALIGNMENT,
        .state = heap,
    };
    return &heap->system;
}
