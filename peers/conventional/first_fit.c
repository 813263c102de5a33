// See first_fit.h. The heap begins with a block that is never free: its link is the list's start,
// its size the heap's. A block of size 0 at the end of the heap ends the list.
#include "peers/conventional/first_fit.h"

#include <stdint.h>

#include "core/config.h"
#include "core/private/link.h"

#define HEADER_BYTES ((tau_word)sizeof(struct block))
#define REST_BYTES_MAX (2u * HEADER_BYTES)  // of a block that is not split
#define IS_USED ((tau_word)1)  // in a size, which is a multiple of the alignment

struct block {
    tau_word next;  // the free block behind this one; the last has the end
    tau_word size_bytes;
};

static struct block *after(const struct block *block) {
    return (struct block *)(void *)((uintptr_t)block + block->size_bytes);
}

static struct block *next_of(const struct block *heap, const struct block *block) {
    return (struct block *)(void *)tau_link_follow(heap, block->next);
}

static void join(struct block *heap, struct block *block, struct block *next) {
    block->next = tau_link_to(heap, next);
    if (after(block) == next && next->size_bytes != 0) {
        block->size_bytes += next->size_bytes;
        block->next = next->next;
    }
}

void *tau_first_fit_init(void *memory, size_t size_bytes) {
    size_bytes -= size_bytes % TAU_ALIGNMENT;
    if ((uintptr_t)memory % TAU_ALIGNMENT != 0 || size_bytes < 4 * HEADER_BYTES ||
        size_bytes > (tau_word)-1) {
        return NULL;
    }
    struct block *heap = memory;
    struct block *first = heap + 1;
    struct block *end = (struct block *)(void *)((uintptr_t)memory + size_bytes - HEADER_BYTES);
    *heap = (struct block){tau_link_to(heap, first), (tau_word)(size_bytes - HEADER_BYTES)};
    *first = (struct block){tau_link_to(heap, end), (tau_word)(size_bytes - 2 * HEADER_BYTES)};
    *end = (struct block){0, 0};
    return heap;
}

void *tau_first_fit_malloc(void *memory, size_t size_bytes) {
    struct block *heap = memory;
    if (size_bytes == 0 || size_bytes > heap->size_bytes) {
        return NULL;
    }
    const size_t wanted_bytes =
        (size_bytes + HEADER_BYTES + TAU_ALIGNMENT - 1) / TAU_ALIGNMENT * TAU_ALIGNMENT;
    struct block *before = heap;
    struct block *block = next_of(heap, before);
    while (block->size_bytes != 0 && block->size_bytes < wanted_bytes) {
        before = block;
        block = next_of(heap, block);
    }
    if (block->size_bytes == 0) {
        return NULL;
    }
    before->next = block->next;
    if (block->size_bytes - wanted_bytes > REST_BYTES_MAX) {
        struct block *rest = (struct block *)(void *)((uintptr_t)block + wanted_bytes);
        *rest = (struct block){block->next, (tau_word)(block->size_bytes - wanted_bytes)};
        before->next = tau_link_to(heap, rest);
        block->size_bytes = (tau_word)wanted_bytes;
    }
    block->size_bytes |= IS_USED;
    return block + 1;
}

enum tau_status tau_first_fit_free(void *memory, void *pointer) {
    struct block *heap = memory;
    struct block *freed = (struct block *)pointer - 1;
    if ((uintptr_t)pointer % TAU_ALIGNMENT != 0) {
        return TAU_MISALIGNED_POINTER;
    }
    if (freed <= heap || freed >= after(heap) || (freed->size_bytes & IS_USED) == 0) {
        return TAU_FOREIGN_POINTER;
    }
    freed->size_bytes &= ~IS_USED;
    struct block *before = heap;
    while (next_of(heap, before) < freed) {
        before = next_of(heap, before);
    }
    join(heap, freed, next_of(heap, before));
    if (before == heap) {
        before->next = tau_link_to(heap, freed);
    } else {
        join(heap, before, freed);
    }
    return TAU_OK;
}
