// Goal: each sentence of peers/conventional/tlb_malloc.h, for the paper's TLB and every R.
// Method: all objects that fit are taken; each lies in the pages of its color.
#include "peers/conventional/tlb_malloc.h"

#include "core/tests/kit/test.h"

enum { SETS = 16, WAYS = 4, PAGE_LOG2 = 12, PAGE_BYTES = 1 << PAGE_LOG2, OBJECTS_MAX = 64 };

static _Alignas(SETS *PAGE_BYTES) unsigned char pool[SETS * WAYS * PAGE_BYTES];
static struct tau_tlsf *heaps[SETS + WAYS];
static struct tau_tlb_malloc heap;
static struct tau_tlb_malloc_shape shape;

static void open_heap(uint32_t reserved_count) {
    shape = (struct tau_tlb_malloc_shape){SETS, WAYS, reserved_count, PAGE_LOG2};
    REQUIRE(TAU_TLB_MALLOC_POOL_BYTES(&shape) == sizeof pool);
    REQUIRE(tau_tlb_malloc_init(&heap, &shape, pool, heaps) == TAU_OK);
}

static uint32_t page_of(const unsigned char *byte) {
    return (uint32_t)((size_t)(byte - pool) / PAGE_BYTES);
}

// Takes objects of COLOR until the heap is full; each lies in sets FIRST ... FIRST + COUNT - 1.
static unsigned take_all(size_t size, uint32_t color, uint32_t first, uint32_t count) {
    unsigned taken = 0;
    unsigned char *objects[OBJECTS_MAX];
    while (taken < OBJECTS_MAX &&
           (objects[taken] = tau_tlb_malloc_allocate(&heap, size, color)) != NULL) {
        memset(objects[taken], 0x5a, size);
        EXPECT(page_of(objects[taken]) % SETS - first < count);
        EXPECT(page_of(objects[taken] + size - 1) % SETS - first < count);
        EXPECT(size > PAGE_BYTES || page_of(objects[taken]) == page_of(objects[taken] + size - 1));
        taken++;
    }
    for (unsigned i = 0; i < taken; i++) {
        EXPECT_EQUAL(tau_tlb_malloc_free(&heap, objects[i], color + 1), TAU_FOREIGN_POINTER);
        EXPECT_EQUAL(tau_tlb_malloc_free(&heap, objects[i], color), TAU_OK);
        EXPECT(TAU_CHECK_LEVEL == 0 || tau_tlb_malloc_free(&heap, objects[i], color) != TAU_OK);
    }
    return taken;
}

TEST_CASE(objects_lie_in_the_sets_of_their_color) {
    for (uint32_t reserved_count = 0; reserved_count < SETS; reserved_count++) {
        open_heap(reserved_count);
        EXPECT_EQUAL(TAU_TLB_MALLOC_SMALL_COLORS(&shape), SETS - reserved_count);
        EXPECT_EQUAL(TAU_TLB_MALLOC_LARGE_COLORS(&shape), reserved_count > 0 ? WAYS : 0);
        for (uint32_t color = 0; color < SETS - reserved_count; color++) {
            EXPECT_EQUAL(take_all(heap.small_max_bytes, color, reserved_count + color, 1),
                         WAYS - 1);  // the first page also has the control block
            EXPECT(take_all(2000, color, reserved_count + color, 1) >= 2 * WAYS - 1);
        }
        for (uint32_t color = 0; reserved_count > 1 && color < WAYS; color++) {
            EXPECT_EQUAL(take_all(heap.large_max_bytes, color, 0, reserved_count), 1);
        }
    }
}

TEST_CASE(sizes_and_colors_have_limits) {
    open_heap(3);
    EXPECT(heap.small_max_bytes > PAGE_BYTES - 64 && heap.small_max_bytes < PAGE_BYTES);
    EXPECT(heap.large_max_bytes > 3 * PAGE_BYTES - 1024 && heap.large_max_bytes < 3 * PAGE_BYTES);
    EXPECT(tau_tlb_malloc_allocate(&heap, 0, 0) == NULL);
    EXPECT(tau_tlb_malloc_allocate(&heap, 1, SETS - 3) == NULL);
    EXPECT(tau_tlb_malloc_allocate(&heap, heap.small_max_bytes + 1, WAYS) == NULL);
    EXPECT(tau_tlb_malloc_allocate(&heap, heap.large_max_bytes + 1, 0) == NULL);
    EXPECT(tau_tlb_malloc_allocate(&heap, SIZE_MAX, 0) == NULL);
    EXPECT_EQUAL(tau_tlb_malloc_free(&heap, NULL, 0), TAU_OK);
    EXPECT_EQUAL(tau_tlb_malloc_free(&heap, &heap, 0), TAU_FOREIGN_POINTER);
    EXPECT_EQUAL(tau_tlb_malloc_free(&heap, pool, 0), TAU_FOREIGN_POINTER);
    open_heap(0);
    EXPECT_EQUAL(heap.large_max_bytes, 0);
    EXPECT(tau_tlb_malloc_allocate(&heap, PAGE_BYTES, 0) == NULL);
}

TEST_CASE(wrong_shapes_are_refused) {
    const struct tau_tlb_malloc_shape wrong[] = {
        {SETS, WAYS, SETS, PAGE_LOG2}, {SETS, 0, 1, PAGE_LOG2}, {12, WAYS, 1, PAGE_LOG2},
        {0, WAYS, 0, PAGE_LOG2},       {SETS, WAYS, 1, 10},     {SETS, WAYS, 1, 32}};
    open_heap(1);
    const struct tau_tlb_malloc before = heap;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        EXPECT_EQUAL(tau_tlb_malloc_init(&heap, &wrong[i], pool, heaps), TAU_BAD_ARGUMENT);
    }
    EXPECT_EQUAL(tau_tlb_malloc_init(&heap, &shape, pool + PAGE_BYTES, heaps), TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(tau_tlb_malloc_init(&heap, &shape, NULL, heaps), TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(tau_tlb_malloc_init(&heap, &shape, pool, NULL), TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(tau_tlb_malloc_init(&heap, NULL, pool, heaps), TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(tau_tlb_malloc_init(NULL, &shape, pool, heaps), TAU_BAD_ARGUMENT);
    EXPECT(memcmp(&before, &heap, sizeof heap) == 0);
}

// Larger colors than a TLSF can hold, and pools after the end of the address space. Only the shape
// decides: no byte is touched.
TEST_CASE(pools_that_are_too_large_are_refused) {
    const struct tau_tlb_malloc_shape wrong[] = {{128, 1, 64, 31},
                                                 {SETS, UINT32_MAX, 1, PAGE_LOG2}};
    void *const last = (void *)((uintptr_t)0 - ((uintptr_t)SETS << PAGE_LOG2));
    open_heap(1);
    const struct tau_tlb_malloc before = heap;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const uintptr_t row = (uintptr_t)wrong[i].sets_count << wrong[i].page_log2;
        void *const aligned = row == 0 ? pool : (void *)row;
        EXPECT_EQUAL(tau_tlb_malloc_init(&heap, &wrong[i], aligned, heaps), TAU_BAD_ARGUMENT);
    }
    EXPECT_EQUAL(tau_tlb_malloc_init(&heap, &shape, last, heaps), TAU_BAD_ARGUMENT);
    EXPECT(memcmp(&before, &heap, sizeof heap) == 0);
}
