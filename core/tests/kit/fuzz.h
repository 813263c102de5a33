// Shared by random programs on heaps: objects whose contents are known.
#ifndef TAU_FUZZ_H
#define TAU_FUZZ_H

#include "core/tests/kit/choose.h"

enum { FUZZ_OBJECTS = 48, FUZZ_EDGE_BYTES = 48 };

struct fuzz_object {
    unsigned char *bytes;  // NULL: no object
    size_t size;           // as asked
    size_t alignment;      // as asked
    unsigned salt;
};

static unsigned fuzz_salt;

// A size that a pool of POOL_BYTES may just serve or just not, small ones being the most frequent.
static inline size_t fuzz_size(size_t pool_bytes) {
    size_t kind = fuzz_choose(16);
    if (kind == 0) {
        return pool_bytes - fuzz_choose(pool_bytes);
    }
    if (kind == 1) {
        return SIZE_MAX >> fuzz_choose(40);
    }
    return fuzz_choose((size_t)1 << (1 + fuzz_choose(10)));
}

static inline unsigned char fuzz_byte(const struct fuzz_object *object, size_t index) {
    return (unsigned char)(object->salt * 37u + index * 11u);
}

// Writes the object's own bytes at both its ends, and USABLE - SIZE more that only must not harm.
static inline void fuzz_begin(struct fuzz_object *object, size_t usable, size_t size,
                              size_t alignment) {
    object->size = size;
    object->alignment = alignment;
    object->salt = ++fuzz_salt;
    EXPECT(usable >= size);
    EXPECT_EQUAL((uintptr_t)object->bytes % alignment, 0);
    for (size_t i = 0; i < size; i++) {
        if (i < FUZZ_EDGE_BYTES || i + FUZZ_EDGE_BYTES >= size) {
            object->bytes[i] = fuzz_byte(object, i);
        }
    }
    memset(object->bytes + size, 0xff, usable - size);
}

// The first COUNT bytes of the object, at most its size, are as written.
static inline void fuzz_expect_intact(const struct fuzz_object *object, size_t count) {
    for (size_t i = 0; i < count; i++) {
        bool is_edge = i < FUZZ_EDGE_BYTES || i + FUZZ_EDGE_BYTES >= object->size;
        if (is_edge && object->bytes[i] != fuzz_byte(object, i)) {
            EXPECT_EQUAL(object->bytes[i], fuzz_byte(object, i));
            return;
        }
    }
}

#ifdef TAU_FUZZER
#define FUZZ_MAIN(run_program)                                                                     \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);                                  \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {                                 \
        if (size > 0) {                                                                            \
            fuzz_input = data;                                                                     \
            fuzz_input_left = size;                                                                \
            (void)(run_program)();                                                                 \
        }                                                                                          \
        if (test_failures_count > 0) {                                                             \
            abort();                                                                               \
        }                                                                                          \
        return 0;                                                                                  \
    }
#else
#define FUZZ_MAIN(run_program)                                                                     \
    int main(int argc, char **argv) {                                                              \
        REQUIRE(argc == 3);                                                                        \
        size_t calls = 0;                                                                          \
        size_t calls_max = strtoull(argv[2], NULL, 0);                                             \
        uint64_t seed = strtoull(argv[1], NULL, 0);                                                \
        for (; calls < calls_max && test_failures_count == 0; seed++) {                            \
            test_random_state = seed;                                                              \
            calls += (run_program)();                                                              \
            if (test_failures_count > 0) {                                                         \
                printf("fails with seed %llu\n", (unsigned long long)seed);                        \
            }                                                                                      \
        }                                                                                          \
        printf("seeds from %s, %zu calls, %u failures\n", argv[1], calls, test_failures_count);    \
        return test_failures_count > 0;                                                            \
    }
#endif

#endif
