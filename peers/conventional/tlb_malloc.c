// The paper's colors, each a TLSF.
#include "peers/conventional/tlb_malloc.h"

#include "core/private/bits.h"
#include "core/private/check.h"
#include "core/private/heap/tlsf_block.h"
#include "core/private/heap/tlsf_largest.h"
#include "core/private/inline.h"

#define TLB_MALLOC_PAGE_LOG2_MIN 11u

static uintptr_t tlb_malloc_page_at(const struct tau_tlb_malloc *heap, uint32_t way, uint32_t set) {
    TAU_ASSERT(way < heap->shape.ways);
    TAU_ASSERT(set < heap->shape.sets_count);
    return heap->pool + ((uintptr_t)(way * heap->shape.sets_count + set) << heap->shape.page_log2);
}

static bool tlb_malloc_is_shape(const struct tau_tlb_malloc_shape *shape) {
    TAU_ASSERT(shape != NULL);
    return tau_bits_is_power_of_two(shape->sets_count) &&
           shape->reserved_count < shape->sets_count && shape->ways > 0 &&
           shape->page_log2 >= TLB_MALLOC_PAGE_LOG2_MIN && shape->page_log2 < 32;
}

// Whether each color is small enough for a TLSF, and the pool ends inside the address space.
static bool tlb_malloc_has_room(const struct tau_tlb_malloc_shape *shape, const void *pool) {
    const uint32_t pages_max = (uint32_t)((uint64_t)UINTPTR_MAX >> shape->page_log2 > UINT32_MAX
                                              ? UINT32_MAX
                                              : UINTPTR_MAX >> shape->page_log2);
    const uint32_t color_pages = shape->reserved_count > 0 ? shape->reserved_count : 1;
    TAU_ASSERT(tlb_malloc_is_shape(shape));
    return color_pages <= TLSF_POOL_MAX_BYTES >> shape->page_log2 &&
           shape->sets_count <= pages_max / shape->ways &&
           (uintptr_t)pool <= UINTPTR_MAX - TAU_TLB_MALLOC_POOL_BYTES(shape);
}

enum tau_status tau_tlb_malloc_init(struct tau_tlb_malloc *heap,
                                    const struct tau_tlb_malloc_shape *shape, void *pool,
                                    struct tau_tlsf **heaps) {
    if (heap == NULL || shape == NULL || pool == NULL || heaps == NULL ||
        !tlb_malloc_is_shape(shape) || !tlb_malloc_has_room(shape, pool) ||
        (uintptr_t)pool % ((uintptr_t)shape->sets_count << shape->page_log2) != 0) {
        return TAU_BAD_ARGUMENT;
    }
    *heap = (struct tau_tlb_malloc){*shape, (uintptr_t)pool, heaps, 0, 0};
    const size_t page_bytes = (size_t)1 << shape->page_log2;
    const uint32_t small_count = TAU_TLB_MALLOC_SMALL_COLORS(shape);
    for (uint32_t color = 0; color < small_count; color++) {  // bound: the sets
        const uint32_t set = shape->reserved_count + color;
        heaps[color] =
            tau_tlsf_init((void *)tlb_malloc_page_at(heap, 0, set), page_bytes, page_bytes);
        TAU_ASSERT(heaps[color] != NULL);
        for (uint32_t way = 1; way < shape->ways; way++) {  // bound: the ways
            const enum tau_status added = tau_tlsf_add_pool(
                heaps[color], (void *)tlb_malloc_page_at(heap, way, set), page_bytes);
            TAU_ASSERT(added == TAU_OK);
            (void)added;
        }
    }
    for (uint32_t color = 0; color < TAU_TLB_MALLOC_LARGE_COLORS(shape); color++) {  // the ways
        heaps[small_count + color] = tau_tlsf_init((void *)tlb_malloc_page_at(heap, color, 0),
                                                   shape->reserved_count * page_bytes, 0);
        TAU_ASSERT(heaps[small_count + color] != NULL);
    }
    heap->small_max_bytes = tlsf_largest_object(heaps[0]);
    heap->large_max_bytes = shape->reserved_count > 0 ? tlsf_largest_object(heaps[small_count]) : 0;
    TAU_ASSERT(heap->small_max_bytes < page_bytes);
    return TAU_OK;
}

void *tau_tlb_malloc_allocate(struct tau_tlb_malloc *heap, size_t size_bytes, uint32_t color) {
    const uint32_t small_count = TAU_TLB_MALLOC_SMALL_COLORS(&heap->shape);
    const bool is_large = size_bytes > heap->small_max_bytes;
    TAU_ASSERT(small_count > 0);
    TAU_ASSERT(heap->heaps != NULL);
    if (color >= (is_large ? TAU_TLB_MALLOC_LARGE_COLORS(&heap->shape) : small_count)) {
        return NULL;
    }
    return tau_tlsf_malloc(heap->heaps[is_large ? small_count + color : color], size_bytes);
}

enum tau_status tau_tlb_malloc_free(struct tau_tlb_malloc *heap, void *pointer, uint32_t color) {
    if (pointer == NULL) {
        return TAU_OK;
    }
    const uintptr_t header = (uintptr_t)pointer - sizeof(tau_word);
    const uintptr_t offset = header - heap->pool;
    const uint32_t sets_count = heap->shape.sets_count;
    const uint32_t reserved_count = heap->shape.reserved_count;
    TAU_ASSERT(reserved_count < sets_count);
    if (offset >= TAU_TLB_MALLOC_POOL_BYTES(&heap->shape)) {
        return TAU_FOREIGN_POINTER;
    }
    const uint32_t page = (uint32_t)(offset >> heap->shape.page_log2);
    const uint32_t set = page & (sets_count - 1);
    const bool is_large = set < reserved_count;
    const uint32_t own = is_large ? page / sets_count : set - reserved_count;
    TAU_ASSERT(own < (is_large ? heap->shape.ways : TAU_TLB_MALLOC_SMALL_COLORS(&heap->shape)));
    if (own != color) {
        return TAU_FOREIGN_POINTER;
    }
    return tau_tlsf_free(heap->heaps[is_large ? sets_count - reserved_count + own : own], pointer);
}
