// Goal: a heap fits any memory that it is given, from 1 KiB to gigabytes, at any address, in
// several pools, and writes nothing outside it. Method: every byte size and every skew of small
// pools, sparse mappings for large ones, every relation of two pools. A full walk follows each
// step.
#include <sys/mman.h>

#include "core/private/bits.h"
#include "core/tests/heap/tlsf_heap.h"

enum { WORD = sizeof(tau_word), UNIT = TAU_ALIGNMENT };

// ---- The first pool ---------------------------------------------------------------------------

// Takes all there is, in one object and then in many, and gives it back.
static void use_wholly(struct test_heap *heap) {
    struct tau_tlsf_statistics empty = tau_tlsf_statistics(heap->tlsf);
    void *whole = tau_tlsf_malloc(heap->tlsf, empty.largest_free_bytes);
    EXPECT(whole != NULL);
    EXPECT_EQUAL(tau_tlsf_statistics(heap->tlsf).free_bytes, 0);
    EXPECT_SOUND(heap);
    if (empty.largest_free_bytes < 100000) {
        memset(whole, 0xff, empty.largest_free_bytes);
    }
    EXPECT_EQUAL(tau_tlsf_free(heap->tlsf, whole), TAU_OK);
    size_t count = 0;
    while (tau_tlsf_malloc(heap->tlsf, 1 + count % 40) != NULL && count < 200) {
        count++;
    }
    EXPECT(count >= empty.capacity_bytes / (40 + 3 * UNIT) || count == 200);
    EXPECT_SOUND(heap);
}

TEST_CASE(every_small_size_works) {
    for (size_t size = 0; size <= 2048; size++) {
        struct test_heap heap = heap_memory(size, 0);
        memset(&test_port, 0, sizeof test_port);
        heap.tlsf = tau_tlsf_init(heap.memory, size, 0);
        EXPECT_EQUAL(heap.tlsf != NULL, size >= TAU_TLSF_POOL_MIN_BYTES);
        if (heap.tlsf == NULL) {
            EXPECT(all_bytes_are(heap.memory, size, 0xc3));
        } else {
            struct tau_tlsf_statistics now = tau_tlsf_statistics(heap.tlsf);
            EXPECT(now.capacity_bytes + now.control_bytes + WORD <= size);
            EXPECT(now.capacity_bytes + now.control_bytes + 2 * UNIT + WORD > size);
            EXPECT_SOUND(&heap);
            use_wholly(&heap);
        }
        heap_close(&heap);
    }
}

TEST_CASE(memory_need_not_be_aligned) {
    for (size_t skew = 0; skew <= 64; skew++) {
        for (size_t size = 1024; size < 1100; size += 5) {
            struct test_heap heap = heap_memory(size + skew % 7, skew);
            memset(&test_port, 0, sizeof test_port);
            heap.tlsf = tau_tlsf_init(heap.memory, heap.size_bytes, 0);
            REQUIRE(heap.tlsf != NULL);
            EXPECT((unsigned char *)heap.tlsf >= heap.memory);
            void *object = tau_tlsf_aligned_alloc(heap.tlsf, 64, 20);
            EXPECT(object != NULL && (uintptr_t)object % 64 == 0);
            EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, object), TAU_OK);
            EXPECT_SOUND(&heap);
            use_wholly(&heap);
            heap_close(&heap);
        }
    }
}

// Regression: the handle's alignment depends on the number of classes, and links with it.
TEST_CASE(lists_of_several_work_whatever_the_size) {
    for (size_t size = 1024; size < 300000; size += size / 9) {
        struct test_heap heap = heap_open(size);
        void *objects[8];
        for (size_t i = 0; i < 8; i++) {
            objects[i] = tau_tlsf_malloc(heap.tlsf, 20);
            REQUIRE(objects[i] != NULL);
        }
        for (size_t i = 0; i < 8; i += 2) {
            EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, objects[i]), TAU_OK);
        }
        for (size_t i = 8; i > 0; i -= 2) {
            EXPECT(tau_tlsf_malloc(heap.tlsf, 20) == objects[i - 2]);
        }
        EXPECT_EQUAL(test_port.misuse_count, 0);
        EXPECT_SOUND(&heap);
        heap_close(&heap);
    }
}

TEST_CASE(bad_arguments_are_refused) {
    struct test_heap heap = heap_memory(4096, 0);
    EXPECT(tau_tlsf_init(NULL, 4096, 0) == NULL);
    EXPECT(tau_tlsf_init(NULL, 0, 0) == NULL);
    EXPECT(tau_tlsf_init(heap.memory, TAU_TLSF_POOL_MIN_BYTES - 1, 0) == NULL);
    EXPECT(tau_tlsf_init(heap.memory, SIZE_MAX, 0) == NULL);
    EXPECT(tau_tlsf_init(heap.memory, 4096, SIZE_MAX) == NULL);
    if (TAU_WORD_BITS == 32) {
        EXPECT(tau_tlsf_init(heap.memory, ((size_t)1 << 30) + 1, 0) == NULL);
        EXPECT(tau_tlsf_init(heap.memory, 4096, ((size_t)1 << 30) + 1) == NULL);
        EXPECT(tau_tlsf_init(heap.memory, 4096, (size_t)1 << 32) == NULL);
        EXPECT(tau_tlsf_init(heap.memory, ((size_t)1 << 32) + 4096, 0) == NULL);
    }
    EXPECT(all_bytes_are(heap.memory, 4096, 0xc3));
    heap_close(&heap);
}

// Initialization costs the control block, whatever the size: the payload keeps its bytes.
TEST_CASE(init_leaves_the_payload_alone) {
    for (size_t size = 4096; size <= 1 << 20; size *= 4) {
        struct test_heap heap = heap_memory(size, 0);
        memset(&test_port, 0, sizeof test_port);
        heap.tlsf = tau_tlsf_init(heap.memory, size, 0);
        size_t changed = 0;
        for (size_t i = 0; i < size; i++) {
            changed += heap.memory[i] != 0xc3;
        }
        EXPECT(changed <= tau_tlsf_statistics(heap.tlsf).control_bytes + 6 * WORD);
        heap_close(&heap);
    }
}

TEST_CASE(control_block_is_as_small_as_stated) {
    static const size_t stated[][3] = {
        {16384, 256, 256}, {65536, 408, 444}, {1 << 20, 1000, 1040}};
    for (size_t i = 0; TAU_WORD_BITS == 32 && i < 3; i++) {
        struct test_heap heap = heap_open(stated[i][0]);
        const size_t control_bytes = tau_tlsf_statistics(heap.tlsf).control_bytes;
        EXPECT(control_bytes <= stated[i][TAU_ALIGNMENT == 8 ? 1 : 2]);
        heap_close(&heap);
    }
}

TEST_CASE(large_pools_work) {
    const unsigned bits_max = TAU_WORD_BITS == 32 ? 30 : TAU_BITS_SCAN ? 36 : 33;
    for (unsigned bits = 20; bits <= bits_max; bits++) {
        size_t size = (size_t)1 << bits;
        void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) {
            printf("no address space for 2^%u bytes: not tried\n", bits);
            return;
        }
        memset(&test_port, 0, sizeof test_port);
        struct test_heap heap = {.memory = memory, .size_bytes = size};
        heap.tlsf = tau_tlsf_init(memory, size, 0);
        REQUIRE(heap.tlsf != NULL);
        if (TAU_JUNK_FILL == 0) {
            use_wholly(&heap);
        }
        void *object = tau_tlsf_aligned_alloc(heap.tlsf, 1u << 16, 1000);
        EXPECT(object != NULL && (uintptr_t)object % (1u << 16) == 0);
        EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, object), TAU_OK);
        EXPECT_SOUND(&heap);
        EXPECT_EQUAL(munmap(memory, size), 0);
    }
}

// ---- More pools -------------------------------------------------------------------------------

static bool count_block(void *context, void *payload, size_t size_bytes, bool is_free) {
    (void)payload;
    (void)size_bytes;
    (void)is_free;
    ++*(size_t *)context;
    return true;
}

static size_t blocks_count(const struct tau_tlsf *heap) {
    size_t count = 0;
    tau_tlsf_walk(heap, count_block, &count);
    return count;
}

// A heap of 4 KiB in the middle of 64 KiB, so that pools may be added on both sides.
static struct test_heap open_in_the_middle(size_t pool_max_bytes) {
    struct test_heap heap = heap_memory(65536, 0);
    memset(heap.memory, 0, 65536);
    memset(&test_port, 0, sizeof test_port);
    heap.tlsf = tau_tlsf_init(heap.memory + 32768, 4096, pool_max_bytes);
    REQUIRE(heap.tlsf != NULL);
    return heap;
}

TEST_CASE(pools_are_used_and_given_back) {
    struct test_heap heap = open_in_the_middle(0);
    size_t capacity = tau_tlsf_statistics(heap.tlsf).capacity_bytes;
    static const size_t starts[] = {0, 5000, 10001, 40003, 50000, 29000, 60000, 36864};
    static const size_t sizes[] = {4096, 200, 999, 3333, 4096, 3768, 64 + 3 * UNIT, 500};
    for (size_t i = 0; i < 8; i++) {
        enum tau_status status = tau_tlsf_add_pool(heap.tlsf, heap.memory + starts[i], sizes[i]);
        EXPECT_EQUAL(status, TAU_OK);
        size_t grown = tau_tlsf_statistics(heap.tlsf).capacity_bytes - capacity;
        EXPECT(grown < sizes[i] && grown + 6 * UNIT > sizes[i]);
        capacity += grown;
        EXPECT_EQUAL(blocks_count(heap.tlsf), i + 2);
        EXPECT_SOUND(&heap);
        EXPECT(tau_tlsf_invariants_hold(heap.tlsf));
    }
    void *objects[2000];
    size_t count = 0;
    while (count < 2000 && (objects[count] = tau_tlsf_malloc(heap.tlsf, 24)) != NULL) {
        memset(objects[count], 0xff, 24);
        count++;
    }
    EXPECT(count * (24 + 4 * WORD) >= capacity - 9 * 6 * WORD);
    EXPECT(tau_tlsf_statistics(heap.tlsf).largest_free_bytes < 24);
    EXPECT_SOUND(&heap);
    for (size_t i = 0; i < count; i++) {
        size_t chosen = i + test_random_below(count - i);
        void *object = objects[chosen];
        objects[chosen] = objects[i];
        EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, object), TAU_OK);
        EXPECT(tau_tlsf_check_pointer(heap.tlsf, object) == TAU_DOUBLE_FREE ||
               TAU_CHECK_LEVEL == 0);
    }
    EXPECT_EQUAL(blocks_count(heap.tlsf), 9);
    EXPECT_SOUND(&heap);
    heap_close(&heap);
}

TEST_CASE(bad_pools_change_nothing) {
    struct test_heap heap = open_in_the_middle(8192);
    unsigned char *memory = heap.memory;
    EXPECT_EQUAL(tau_tlsf_add_pool(heap.tlsf, memory + 1000, 2000), TAU_OK);
    heap_remember(&heap);
    for (size_t size = 0; size < 3 * UNIT; size++) {
        EXPECT_EQUAL(tau_tlsf_add_pool(heap.tlsf, memory + 16384, size), TAU_POOL_TOO_SMALL);
    }
    EXPECT_EQUAL(tau_tlsf_add_pool(heap.tlsf, memory + 16384, 8192 + 5 * UNIT), TAU_POOL_TOO_LARGE);
    EXPECT_EQUAL(tau_tlsf_add_pool(heap.tlsf, memory + 16384, (size_t)1 << 31), TAU_POOL_TOO_LARGE);
    EXPECT_EQUAL(tau_tlsf_add_pool(heap.tlsf, memory + 16384, SIZE_MAX), TAU_BAD_ARGUMENT);
    EXPECT_EQUAL(tau_tlsf_add_pool(heap.tlsf, NULL, 4096), TAU_BAD_ARGUMENT);
    static const size_t overlaps[][2] = {
        {32768, 4096}, {32768, 300}, {32767, 300},  {32000, 1000}, {32000, 8000}, {34000, 500},
        {36800, 4000}, {1000, 2000}, {500, 1000},   {2000, 100},   {2900, 5000},  {0, 8192},
        {1500, 300},   {999, 200},   {32500, 4700}, {35000, 1900},
    };
    for (size_t i = 0; i < sizeof overlaps / sizeof *overlaps; i++) {
        enum tau_status status =
            tau_tlsf_add_pool(heap.tlsf, memory + overlaps[i][0], overlaps[i][1]);
        EXPECT_EQUAL(status, TAU_POOL_OVERLAPS);
    }
    EXPECT_UNCHANGED(&heap);
    EXPECT_SOUND(&heap);
    EXPECT_EQUAL(tau_tlsf_add_pool(heap.tlsf, memory + 3000, 200), TAU_OK);
    EXPECT_EQUAL(tau_tlsf_add_pool(heap.tlsf, memory + 32768 - 500, 500), TAU_OK);
    EXPECT_EQUAL(tau_tlsf_add_pool(heap.tlsf, memory + 36864, 8192), TAU_OK);
    EXPECT_SOUND(&heap);
    heap_close(&heap);
}

// Neighboring pools stay apart: no block reaches over the border, in any order of frees.
TEST_CASE(touching_pools_do_not_merge) {
    struct test_heap heap = open_in_the_middle(0);
    EXPECT_EQUAL(tau_tlsf_add_pool(heap.tlsf, heap.memory + 36864, 1024), TAU_OK);
    EXPECT_EQUAL(tau_tlsf_add_pool(heap.tlsf, heap.memory + 32768 - 1024, 1024), TAU_OK);
    EXPECT_EQUAL(blocks_count(heap.tlsf), 3);
    void *objects[3];
    for (size_t i = 0; i < 3; i++) {
        size_t largest = tau_tlsf_statistics(heap.tlsf).largest_free_bytes;
        objects[i] = tau_tlsf_malloc(heap.tlsf, largest);
        EXPECT(objects[i] != NULL);
        memset(objects[i], 0xff, largest);
    }
    EXPECT_EQUAL(tau_tlsf_statistics(heap.tlsf).free_bytes, 0);
    for (size_t i = 0; i < 3; i++) {
        EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, objects[i]), TAU_OK);
        EXPECT_SOUND(&heap);
    }
    EXPECT_EQUAL(blocks_count(heap.tlsf), 3);
    heap_close(&heap);
}

// Between pools lies what belongs to others: a pointer there is foreign though within the span.
TEST_CASE(pointers_between_pools_are_foreign) {
    struct test_heap heap = open_in_the_middle(0);
    EXPECT_EQUAL(tau_tlsf_add_pool(heap.tlsf, heap.memory + 50000, 1024), TAU_OK);
    for (size_t at = 36864 + UNIT; TAU_CHECK_LEVEL >= 1 && at < 50000; at += UNIT) {
        EXPECT_EQUAL(tau_tlsf_check_pointer(heap.tlsf, heap.memory + at), TAU_FOREIGN_POINTER);
    }
    heap_close(&heap);
}

TEST_CASE(pools_may_be_larger_than_the_first) {
    size_t size = 1 << 20;
    struct test_heap heap = heap_memory(size + 4096, 0);
    memset(&test_port, 0, sizeof test_port);
    heap.tlsf = tau_tlsf_init(heap.memory, 4096, size);
    REQUIRE(heap.tlsf != NULL);
    EXPECT_SOUND(&heap);
    EXPECT(tau_tlsf_malloc(heap.tlsf, 100000) == NULL);
    EXPECT_EQUAL(tau_tlsf_add_pool(heap.tlsf, heap.memory + 4096, size), TAU_OK);
    size_t largest = tau_tlsf_statistics(heap.tlsf).largest_free_bytes;
    EXPECT(largest + 12 * WORD > size);
    void *object = tau_tlsf_malloc(heap.tlsf, largest);
    EXPECT(object != NULL);
    EXPECT_SOUND(&heap);
    EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, object), TAU_OK);
    EXPECT_SOUND(&heap);
    heap_close(&heap);
}
