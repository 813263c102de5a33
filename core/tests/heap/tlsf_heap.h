// A heap of the tests: memory of its own, from the C library so that the sanitizers see every step
// outside it, and a copy of its bytes to compare with.
#ifndef TAU_TLSF_HEAP_H
#define TAU_TLSF_HEAP_H

#include "core/config.h"
#include "core/tests/checks/check_tlsf.h"
#include "core/tests/kit/port_test.h"
#include "core/tests/kit/test.h"
#include "core/tlsf.h"

// A header's flag for a requested alignment, and what of a header is the size.
#define ALIGNED ((tau_word)(TAU_ALIGNMENT == sizeof(tau_word) ? (tau_word)1 << 31 : 4))
#define SIZE_MASK (~((tau_word)(TAU_ALIGNMENT - 1) | ALIGNED))

struct test_heap {
    unsigned char *block;   // what the C library gave
    unsigned char *memory;  // what the heap was given
    size_t size_bytes;
    unsigned char *copy;  // the heap's bytes at the last heap_remember
    struct tau_tlsf *tlsf;
};

// Memory of SIZE_BYTES that starts SKEW_BYTES after a multiple of 64 KiB and ends where the C
// library's own block ends.
static inline struct test_heap heap_memory(size_t size_bytes, size_t skew_bytes) {
    struct test_heap heap = {.size_bytes = size_bytes};
    void *block = NULL;
    REQUIRE(posix_memalign(&block, 65536, size_bytes + skew_bytes) == 0);
    heap.block = block;
    heap.memory = heap.block + skew_bytes;
    heap.copy = malloc(size_bytes);
    REQUIRE(heap.copy != NULL);
    memset(heap.memory, 0xc3, size_bytes);
    return heap;
}

static inline struct test_heap heap_open(size_t size_bytes) {
    struct test_heap heap = heap_memory(size_bytes, 0);
    memset(&test_port, 0, sizeof test_port);
    heap.tlsf = tau_tlsf_init(heap.memory, size_bytes, 0);
    REQUIRE(heap.tlsf != NULL);
    return heap;
}

// Also the place where every test shows that the lock was balanced, never nested, and left before
// payload bytes were handled or the port was told of something.
static inline void heap_close(struct test_heap *heap) {
    EXPECT_EQUAL(test_port.lock_depth, 0);
    EXPECT_EQUAL(test_port.nested_count, 0);
    EXPECT_EQUAL(test_port.inside_count, 0);
    EXPECT_EQUAL(test_port.outside_count, 0);
    free(heap->block);
    free(heap->copy);
}

static inline void heap_remember(struct test_heap *heap) {
    memcpy(heap->copy, heap->memory, heap->size_bytes);
}

// Every byte is as at the last heap_remember.
#define EXPECT_UNCHANGED(heap) EXPECT(memcmp((heap)->memory, (heap)->copy, (heap)->size_bytes) == 0)
#define EXPECT_SOUND(heap) EXPECT_EQUAL(check_tlsf((heap)->tlsf), 0)

// Bytes of an object that no other object has.
static inline void pattern_write(void *object, size_t size_bytes, size_t salt) {
    unsigned char *bytes = object;
    for (size_t i = 0; i < size_bytes; i++) {
        bytes[i] = (unsigned char)(salt * 31u + i * 7u + (i >> 8));
    }
}

static inline bool pattern_holds(const void *object, size_t size_bytes, size_t salt) {
    const unsigned char *bytes = object;
    for (size_t i = 0; i < size_bytes; i++) {
        if (bytes[i] != (unsigned char)(salt * 31u + i * 7u + (i >> 8))) {
            return false;
        }
    }
    return true;
}

static inline bool all_bytes_are(const void *object, size_t size_bytes, int value) {
    const unsigned char *bytes = object;
    for (size_t i = 0; i < size_bytes; i++) {
        if (bytes[i] != (unsigned char)value) {
            return false;
        }
    }
    return true;
}

#endif
