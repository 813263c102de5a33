// Goal: every function of tlsf.h keeps its contract, also when memory is exhausted. Method:
// examples worked out from docs/spec/tlsf.md, with a full walk (check_tlsf) after each step and a
// comparison of all bytes where nothing may change. Misuse is test_tlsf_misuse.c, pools are
// test_tlsf_pools.c.
#include "core/tests/heap/tlsf_heap.h"

enum {
    WORD = sizeof(tau_word),
    UNIT = TAU_ALIGNMENT,
    CANARY_WORDS = TAU_CHECK_LEVEL >= 2,
    ALIGNMENT_MAX = 8192,
};

// The block that serves REQUEST bytes, docs/spec/tlsf.md, "malloc".
static size_t block_size(size_t request, size_t extra_words) {
    size_t size = (request + (1 + CANARY_WORDS + extra_words) * WORD + UNIT - 1) / UNIT * UNIT;
    return size < 4 * WORD ? 4 * WORD : size;
}

// ---- Allocation -------------------------------------------------------------------------------

TEST_CASE(malloc_serves_every_size) {
    for (size_t size = 1; size <= 600; size++) {
        struct test_heap heap = heap_open(4096);
        unsigned char *object = tau_tlsf_malloc(heap.tlsf, size);
        REQUIRE(object != NULL);
        EXPECT_EQUAL((uintptr_t)object % UNIT, 0);
        size_t usable = tau_tlsf_usable_size(heap.tlsf, object);
        EXPECT_EQUAL(usable, block_size(size, 0) - (1 + CANARY_WORDS) * WORD);
        EXPECT(usable >= size);
        pattern_write(object, usable, size);
        EXPECT_SOUND(&heap);
        EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, object), TAU_OK);
        EXPECT_SOUND(&heap);
        heap_close(&heap);
    }
}

TEST_CASE(objects_do_not_overlap) {
    struct test_heap heap = heap_open(65536);
    void *objects[200];
    size_t sizes[200];
    for (size_t i = 0; i < 200; i++) {
        sizes[i] = 1 + test_random_below(300);
        objects[i] = tau_tlsf_malloc(heap.tlsf, sizes[i]);
        REQUIRE(objects[i] != NULL);
        sizes[i] = tau_tlsf_usable_size(heap.tlsf, objects[i]);
        pattern_write(objects[i], sizes[i], i);
    }
    EXPECT_SOUND(&heap);
    for (size_t i = 0; i < 200; i++) {
        EXPECT(pattern_holds(objects[i], sizes[i], i));
        EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, objects[i]), TAU_OK);
    }
    EXPECT_SOUND(&heap);
    EXPECT_EQUAL(tau_tlsf_statistics(heap.tlsf).used_bytes, 0);
    heap_close(&heap);
}

TEST_CASE(size_zero_is_not_an_object) {
    struct test_heap heap = heap_open(2048);
    heap_remember(&heap);
    EXPECT(tau_tlsf_malloc(heap.tlsf, 0) == NULL);
    EXPECT(tau_tlsf_calloc(heap.tlsf, 0, 8) == NULL);
    EXPECT(tau_tlsf_calloc(heap.tlsf, 8, 0) == NULL);
    EXPECT(tau_tlsf_aligned_alloc(heap.tlsf, 64, 0) == NULL);
    EXPECT(tau_tlsf_aligned_alloc(heap.tlsf, 4, 0) == NULL);
    EXPECT(tau_tlsf_realloc(heap.tlsf, NULL, 0) == NULL);
    EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, NULL), TAU_OK);
    EXPECT_EQUAL(tau_tlsf_usable_size(heap.tlsf, NULL), 0);
    EXPECT_EQUAL(tau_tlsf_statistics(heap.tlsf).out_of_memory_count, 0);
    EXPECT_EQUAL(test_port.out_of_memory_count, 0);
    EXPECT_EQUAL(test_port.trace_count, 0);
    EXPECT_EQUAL(test_port.misuse_count, 0);
    EXPECT_UNCHANGED(&heap);
    heap_close(&heap);
}

TEST_CASE(calloc_clears) {
    struct test_heap heap = heap_open(4096);
    for (size_t size = 1; size < 200; size++) {
        unsigned char *dirty = tau_tlsf_malloc(heap.tlsf, 3 * size);
        REQUIRE(dirty != NULL);
        memset(dirty, 0xee, 3 * size);
        EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, dirty), TAU_OK);
        unsigned char *object = tau_tlsf_calloc(heap.tlsf, 3, size);
        EXPECT(object == dirty);
        EXPECT(all_bytes_are(object, 3 * size, 0));
        EXPECT_SOUND(&heap);
        EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, object), TAU_OK);
    }
    heap_close(&heap);
}

TEST_CASE(aligned_alloc_aligns) {
    static const size_t sizes[] = {1, 7, 8, 24, 100, 1000, 4096};
    for (size_t alignment = 1; alignment <= ALIGNMENT_MAX; alignment *= 2) {
        struct test_heap heap = heap_open(131072);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            unsigned char *before = tau_tlsf_malloc(heap.tlsf, 1 + test_random_below(100));
            unsigned char *object = tau_tlsf_aligned_alloc(heap.tlsf, alignment, sizes[i]);
            REQUIRE(before != NULL && object != NULL);
            EXPECT_EQUAL((uintptr_t)object % alignment, 0);
            EXPECT_EQUAL((uintptr_t)object % UNIT, 0);
            size_t usable = tau_tlsf_usable_size(heap.tlsf, object);
            size_t extra = alignment > UNIT;
            EXPECT(usable >= sizes[i]);
            EXPECT(usable <=
                   block_size(sizes[i], extra) + (3 - CANARY_WORDS - extra) * WORD - UNIT);
            pattern_write(object, usable, i);
            EXPECT_SOUND(&heap);
            EXPECT(pattern_holds(object, usable, i));
            EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, object), TAU_OK);
            EXPECT_SOUND(&heap);
        }
        heap_close(&heap);
    }
}

TEST_CASE(bad_alignments_are_refused) {
    static const size_t bad[] = {0, 3, 5, 6, 7, 12, 24, 48, 4095, 4097, SIZE_MAX, SIZE_MAX - 7};
    struct test_heap heap = heap_open(16384);
    heap_remember(&heap);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        EXPECT(tau_tlsf_aligned_alloc(heap.tlsf, bad[i], 10) == NULL);
    }
    EXPECT_UNCHANGED(&heap);
    EXPECT_EQUAL(test_port.out_of_memory_count, 0);
    heap_close(&heap);
}

// ---- realloc ----------------------------------------------------------------------------------

TEST_CASE(realloc_shrinks_in_place) {
    for (size_t size = 1; size <= 400; size++) {
        struct test_heap heap = heap_open(2048);
        unsigned char *object = tau_tlsf_malloc(heap.tlsf, 400);
        void *wall = size % 2 ? tau_tlsf_malloc(heap.tlsf, 1) : NULL;
        pattern_write(object, 400, size);
        EXPECT(tau_tlsf_realloc(heap.tlsf, object, size) == object);
        EXPECT(pattern_holds(object, size, size));
        size_t tail = block_size(400, 0) - block_size(size, 0);
        size_t kept =
            tail >= (wall ? 4u * WORD : (size_t)UNIT) ? block_size(size, 0) : block_size(400, 0);
        size_t usable = tau_tlsf_usable_size(heap.tlsf, object);
        EXPECT_EQUAL(usable, kept - (1 + CANARY_WORDS) * WORD);
        EXPECT_SOUND(&heap);
        EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, object), TAU_OK);
        EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, wall), TAU_OK);
        EXPECT_SOUND(&heap);
        heap_close(&heap);
    }
}

TEST_CASE(realloc_grows_into_the_next_block) {
    struct test_heap heap = heap_open(4096);
    unsigned char *object = tau_tlsf_malloc(heap.tlsf, 40);
    pattern_write(object, 40, 1);
    for (size_t size = 41; size < 3000; size += 13) {
        EXPECT(tau_tlsf_realloc(heap.tlsf, object, size) == object);
        EXPECT(pattern_holds(object, 40, 1));
        EXPECT_SOUND(&heap);
    }
    EXPECT_EQUAL(test_port.moves_count, 0);
    heap_close(&heap);
}

TEST_CASE(realloc_moves_down_into_the_previous_block) {
    for (size_t size = 201 + UNIT; size < 500; size += 7) {
        struct test_heap heap = heap_open(2048);
        unsigned char *low = tau_tlsf_malloc(heap.tlsf, 300);
        unsigned char *object = tau_tlsf_malloc(heap.tlsf, 200);
        unsigned char *wall = tau_tlsf_malloc(heap.tlsf, 24);
        REQUIRE(low != NULL && object != NULL && wall != NULL);
        void *rest = tau_tlsf_malloc(heap.tlsf, tau_tlsf_statistics(heap.tlsf).largest_free_bytes);
        EXPECT(rest != NULL);
        pattern_write(object, 200, size);
        pattern_write(wall, 24, 5);
        EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, low), TAU_OK);
        unsigned char *moved = tau_tlsf_realloc(heap.tlsf, object, size);
        EXPECT(moved == low);
        EXPECT(pattern_holds(moved, 200, size));
        EXPECT(pattern_holds(wall, 24, 5));
        EXPECT_EQUAL(test_port.moves_count, 1);
        EXPECT_SOUND(&heap);
        heap_close(&heap);
    }
}

TEST_CASE(realloc_copies_when_it_must) {
    struct test_heap heap = heap_open(8192);
    unsigned char *object = tau_tlsf_malloc(heap.tlsf, 100);
    unsigned char *wall = tau_tlsf_malloc(heap.tlsf, 1);
    pattern_write(object, 100, 3);
    unsigned char *moved = tau_tlsf_realloc(heap.tlsf, object, 1000);
    EXPECT(moved > wall);
    EXPECT(pattern_holds(moved, 100, 3));
    EXPECT_SOUND(&heap);
    EXPECT_EQUAL(tau_tlsf_usable_size(heap.tlsf, wall), 4 * WORD - (1 + CANARY_WORDS) * WORD);
    heap_close(&heap);
}

TEST_CASE(realloc_of_nothing_and_to_nothing) {
    struct test_heap heap = heap_open(2048);
    void *object = tau_tlsf_realloc(heap.tlsf, NULL, 64);
    REQUIRE(object != NULL);
    EXPECT_EQUAL(test_port.trace_count, 1);
    EXPECT(test_port.trace_old == NULL && test_port.trace_pointer == object);
    EXPECT(tau_tlsf_realloc(heap.tlsf, object, 0) == NULL);
    EXPECT_EQUAL(test_port.trace_count, 2);
    EXPECT(test_port.trace_old == object && test_port.trace_pointer == NULL);
    EXPECT_EQUAL(tau_tlsf_statistics(heap.tlsf).used_bytes, 0);
    EXPECT_EQUAL(test_port.out_of_memory_count, 0);
    EXPECT_SOUND(&heap);
    heap_close(&heap);
}

// Whatever the neighbors are, the asked alignment survives every way of resizing.
TEST_CASE(realloc_keeps_the_alignment) {
    for (size_t alignment = 2 * UNIT; alignment <= ALIGNMENT_MAX; alignment *= 2) {
        for (unsigned round = 0; round < 40; round++) {
            struct test_heap heap = heap_open(65536);
            void *low = tau_tlsf_malloc(heap.tlsf, 1 + test_random_below(2000));
            unsigned char *object = tau_tlsf_aligned_alloc(heap.tlsf, alignment, 50);
            void *high = tau_tlsf_malloc(heap.tlsf, 1 + test_random_below(2000));
            REQUIRE(low != NULL && object != NULL && high != NULL);
            pattern_write(object, 50, round);
            if (round % 2) {
                EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, low), TAU_OK);
            }
            if (round % 4 >= 2) {
                EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, high), TAU_OK);
            }
            for (unsigned step = 0; step < 4; step++) {
                size_t size = 50 + test_random_below(3000);
                object = tau_tlsf_realloc(heap.tlsf, object, size);
                REQUIRE(object != NULL);
                EXPECT_EQUAL((uintptr_t)object % alignment, 0);
                EXPECT(pattern_holds(object, 50, round));
                EXPECT(tau_tlsf_usable_size(heap.tlsf, object) >= size);
                EXPECT_SOUND(&heap);
            }
            EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, object), TAU_OK);
            EXPECT_SOUND(&heap);
            heap_close(&heap);
        }
    }
}

// ---- Exhaustion -------------------------------------------------------------------------------

// Runs REFUSED, which must be NULL, and expects that only the count of refused requests changed.
#define EXPECT_REFUSED(heap, refused, reported_bytes)                                              \
    do {                                                                                           \
        size_t count_before = tau_tlsf_statistics((heap)->tlsf).out_of_memory_count;               \
        unsigned hooks_before = test_port.out_of_memory_count;                                     \
        unsigned traces_before = test_port.trace_count;                                            \
        heap_remember(heap);                                                                       \
        EXPECT((refused) == NULL);                                                                 \
        EXPECT_EQUAL(tau_tlsf_statistics((heap)->tlsf).out_of_memory_count, count_before + 1);     \
        EXPECT_EQUAL(test_port.out_of_memory_count, hooks_before + 1);                             \
        EXPECT_EQUAL(test_port.out_of_memory_bytes, (reported_bytes));                             \
        EXPECT_EQUAL(test_port.trace_count, traces_before);                                        \
        EXPECT(changed_words(heap) <= 1);                                                          \
        EXPECT_SOUND(heap);                                                                        \
    } while (0)

// Words that differ from the remembered ones.
static size_t changed_words(const struct test_heap *heap) {
    size_t changed = 0;
    for (size_t at = 0; at + WORD <= heap->size_bytes; at += WORD) {
        changed += memcmp(heap->memory + at, heap->copy + at, WORD) != 0;
    }
    return changed;
}

TEST_CASE(requests_near_the_maximum_are_refused) {
    struct test_heap heap = heap_open(4096);
    unsigned char *object = tau_tlsf_malloc(heap.tlsf, 100);
    pattern_write(object, 100, 9);
    for (unsigned bits = 12; bits <= 64; bits++) {
        for (size_t less = 0; less < 40; less++) {
            size_t size = (bits == 64 ? SIZE_MAX : ((size_t)1 << bits) + 20) - less;
            EXPECT_REFUSED(&heap, tau_tlsf_malloc(heap.tlsf, size), size);
            EXPECT_REFUSED(&heap, tau_tlsf_calloc(heap.tlsf, 1, size), size);
            EXPECT_REFUSED(&heap, tau_tlsf_aligned_alloc(heap.tlsf, 64, size), size);
            EXPECT_REFUSED(&heap, tau_tlsf_realloc(heap.tlsf, object, size), size);
        }
    }
    for (unsigned bits = 12; bits < 64; bits++) {
        size_t alignment = (size_t)1 << bits;
        EXPECT_REFUSED(&heap, tau_tlsf_aligned_alloc(heap.tlsf, alignment, 1), 1);
        EXPECT_REFUSED(&heap, tau_tlsf_aligned_alloc(heap.tlsf, alignment, SIZE_MAX), SIZE_MAX);
        EXPECT_REFUSED(&heap, tau_tlsf_aligned_alloc(heap.tlsf, alignment, SIZE_MAX - alignment),
                       SIZE_MAX - alignment);
    }
    EXPECT(pattern_holds(object, 100, 9));
    heap_close(&heap);
}

TEST_CASE(calloc_overflow_is_refused) {
    static const size_t products[][2] = {
        {SIZE_MAX, 2},         {2, SIZE_MAX},         {SIZE_MAX / 2 + 1, 2},
        {SIZE_MAX, SIZE_MAX},  {SIZE_MAX / 3 + 1, 3}, {(size_t)1 << 32, (size_t)1 << 32},
        {SIZE_MAX / 8 + 2, 8}, {8, SIZE_MAX / 8 + 2},
    };
    struct test_heap heap = heap_open(65536);
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        EXPECT_REFUSED(&heap, tau_tlsf_calloc(heap.tlsf, products[i][0], products[i][1]), SIZE_MAX);
    }
    heap_close(&heap);
}

// With not one block left, every operation that needs memory fails once and changes nothing.
TEST_CASE(exhaustion_changes_nothing) {
    struct test_heap heap = heap_open(2048);
    unsigned char *first = tau_tlsf_malloc(heap.tlsf, 64);
    unsigned char *aligned = tau_tlsf_aligned_alloc(heap.tlsf, 64, 64);
    unsigned char *rest = NULL;
    REQUIRE(first != NULL && aligned != NULL);
    while (tau_tlsf_statistics(heap.tlsf).largest_free_bytes != 0) {
        rest = tau_tlsf_malloc(heap.tlsf, tau_tlsf_statistics(heap.tlsf).largest_free_bytes);
        REQUIRE(rest != NULL);
    }
    EXPECT_EQUAL(tau_tlsf_statistics(heap.tlsf).free_bytes, 0);
    EXPECT_REFUSED(&heap, tau_tlsf_malloc(heap.tlsf, 1), 1);
    EXPECT_REFUSED(&heap, tau_tlsf_calloc(heap.tlsf, 2, 3), 6);
    EXPECT_REFUSED(&heap, tau_tlsf_aligned_alloc(heap.tlsf, 8, 5), 5);
    EXPECT_REFUSED(&heap, tau_tlsf_aligned_alloc(heap.tlsf, 128, 5), 5);
    EXPECT_REFUSED(&heap, tau_tlsf_realloc(heap.tlsf, first, 200), 200);
    EXPECT_REFUSED(&heap, tau_tlsf_realloc(heap.tlsf, aligned, 200), 200);
    EXPECT_REFUSED(&heap, tau_tlsf_realloc(heap.tlsf, NULL, 7), 7);
    EXPECT_EQUAL(test_port.moves_count, 0);
    EXPECT_EQUAL(test_port.misuse_count, 0);
    heap_close(&heap);
}

// ---- Statistics and walk ----------------------------------------------------------------------

struct sums {
    size_t used_bytes;
    size_t free_bytes;
    size_t blocks_count;
    size_t stop_after;
    const unsigned char *last;
    bool is_right;  // in address order, with the sizes of the headers
};

static bool sum_block(void *context, void *payload, size_t size_bytes, bool is_free) {
    struct sums *sums = context;
    tau_word header;
    memcpy(&header, (unsigned char *)payload - WORD, WORD);
    size_t size = header == 0 ? size_bytes + WORD : (size_t)(header & SIZE_MASK);  // wilderness
    size_t tail_words = is_free ? 0 : CANARY_WORDS + (size_t)((header & ALIGNED) != 0);
    *(is_free ? &sums->free_bytes : &sums->used_bytes) += size;
    sums->is_right = sums->is_right && (const unsigned char *)payload > sums->last &&
                     size_bytes == size - (1 + tail_words) * WORD;
    sums->last = payload;
    sums->blocks_count++;
    return sums->blocks_count != sums->stop_after;
}

// A request of largest_free_bytes succeeds; it takes the whole of the block that is meant.
static void expect_honest(struct test_heap *heap) {
    size_t largest = tau_tlsf_statistics(heap->tlsf).largest_free_bytes;
    if (largest != 0) {
        void *object = tau_tlsf_malloc(heap->tlsf, largest);
        EXPECT(object != NULL);
        EXPECT(tau_tlsf_usable_size(heap->tlsf, object) >= largest);
        EXPECT_EQUAL(tau_tlsf_free(heap->tlsf, object), TAU_OK);
    } else {
        EXPECT(tau_tlsf_malloc(heap->tlsf, 1) == NULL);
    }
}

TEST_CASE(statistics_equal_the_walk) {
    struct test_heap heap = heap_open(16384);
    struct tau_tlsf_statistics first = tau_tlsf_statistics(heap.tlsf);
    void *objects[64] = {NULL};
    size_t peak = 0;
    EXPECT_EQUAL(first.used_bytes, 0);
    EXPECT_EQUAL(first.peak_used_bytes, 0);
    EXPECT(first.control_bytes + first.capacity_bytes <= 16384);
    EXPECT(first.control_bytes + first.capacity_bytes >= 16384 - 4 * UNIT);
    for (unsigned step = 0; step < 3000; step++) {
        size_t i = test_random_below(64);
        void **object = &objects[i];
        if (*object != NULL && step % 3 != 0) {
            EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, *object), TAU_OK);
            *object = NULL;
        } else if (*object == NULL) {
            *object = step % 5 ? tau_tlsf_malloc(heap.tlsf, 1 + test_random_below(900))
                               : tau_tlsf_aligned_alloc(heap.tlsf, 128, 100);
        }
        struct tau_tlsf_statistics now = tau_tlsf_statistics(heap.tlsf);
        peak = now.used_bytes > peak ? now.used_bytes : peak;
        struct sums sums = {.is_right = true};
        tau_tlsf_walk(heap.tlsf, sum_block, &sums);
        EXPECT(sums.is_right);
        EXPECT_EQUAL(sums.used_bytes, now.used_bytes);
        EXPECT(now.free_bytes - sums.free_bytes < 4 * WORD);  // a wilderness too small for a block
        EXPECT_EQUAL(now.used_bytes + now.free_bytes, first.capacity_bytes);
        EXPECT_EQUAL(now.capacity_bytes, first.capacity_bytes);
        EXPECT_EQUAL(now.peak_used_bytes, peak);
        EXPECT_EQUAL(now.control_bytes, first.control_bytes);
        EXPECT(tau_tlsf_invariants_hold(heap.tlsf));
        EXPECT_SOUND(&heap);
        expect_honest(&heap);
        peak = tau_tlsf_statistics(heap.tlsf).peak_used_bytes;
    }
    heap_close(&heap);
}

TEST_CASE(walk_stops_when_told) {
    struct test_heap heap = heap_open(2048);
    for (unsigned i = 0; i < 5; i++) {
        EXPECT(tau_tlsf_malloc(heap.tlsf, 10) != NULL);
    }
    for (size_t stop = 1; stop <= 6; stop++) {
        struct sums sums = {.is_right = true, .stop_after = stop};
        tau_tlsf_walk(heap.tlsf, sum_block, &sums);
        EXPECT_EQUAL(sums.blocks_count, stop);
    }
    heap_close(&heap);
}

// ---- Hooks ------------------------------------------------------------------------------------

TEST_CASE(hooks_tell_what_happened) {
    struct test_heap heap = heap_open(8192);
    void *a = tau_tlsf_malloc(heap.tlsf, 33);
    EXPECT(test_port.trace_old == NULL && test_port.trace_pointer == a);
    EXPECT_EQUAL(test_port.trace_size_bytes, 33);
    EXPECT_EQUAL(test_port.trace_alignment, UNIT);
    void *b = tau_tlsf_calloc(heap.tlsf, 3, 11);
    EXPECT(test_port.trace_pointer == b);
    EXPECT_EQUAL(test_port.trace_size_bytes, 33);
    void *c = tau_tlsf_aligned_alloc(heap.tlsf, 256, 50);
    EXPECT(test_port.trace_pointer == c);
    EXPECT_EQUAL(test_port.trace_size_bytes, 50);
    EXPECT_EQUAL(test_port.trace_alignment, 256);
    EXPECT_EQUAL(test_port.trace_count, 3);
    static const size_t sizes[] = {20, 33, 1};  // all in place
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        EXPECT(tau_tlsf_realloc(heap.tlsf, a, sizes[i]) == a);
        EXPECT(test_port.trace_old == a && test_port.trace_pointer == a);
        EXPECT_EQUAL(test_port.trace_size_bytes, sizes[i]);
        EXPECT_EQUAL(test_port.trace_count, 4 + i);
    }
    void *copy = tau_tlsf_realloc(heap.tlsf, a, 2000);
    EXPECT(copy != NULL && copy != a);
    EXPECT(test_port.trace_old == a && test_port.trace_pointer == NULL);
    EXPECT_EQUAL(test_port.trace_count, 8);  // a new object, then a freed one
    EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, copy), TAU_OK);
    EXPECT(test_port.trace_old == copy && test_port.trace_pointer == NULL);
    EXPECT_EQUAL(test_port.trace_count, 9);
    EXPECT(test_port.locks_count >= 9);
    EXPECT_EQUAL(test_port.misuse_count, 0);
    heap_close(&heap);
}

static struct test_heap *shared_heap;  // what the other thread of the next test sees

// The walk meets the block that is being moved before its counters and tail words ([TLSF-8] to 10)
// are written; everything that others work with ([TLSF-1] to 7, 11) holds.
static void expect_workable(void) {
    unsigned broken = check_tlsf(shared_heap->tlsf);
    EXPECT(broken == 0 || (broken >= 8 && broken <= 10));
}

static void *freed_meanwhile;

static void other_thread(void) {
    EXPECT_EQUAL(tau_tlsf_free(shared_heap->tlsf, freed_meanwhile), TAU_OK);
    freed_meanwhile = NULL;
    expect_workable();
    void *small = tau_tlsf_malloc(shared_heap->tlsf, 8);
    void *large = tau_tlsf_malloc(shared_heap->tlsf, 100);
    if (large != NULL) {
        memset(large, 0xff, 100);
    }
    expect_workable();
    EXPECT_EQUAL(tau_tlsf_free(shared_heap->tlsf, small), TAU_OK);
    EXPECT_EQUAL(tau_tlsf_free(shared_heap->tlsf, large), TAU_OK);
}

// A payload is moved outside the lock, so others may use the heap just before and just after. They
// may free the block after it, too, or the one before the result.
TEST_CASE(others_may_run_while_a_payload_moves) {
    for (unsigned round = 0; round < 300; round++) {
        struct test_heap heap = heap_open(4096);
        size_t old_size = 1 + test_random_below(300);
        void *front = tau_tlsf_malloc(heap.tlsf, 1 + test_random_below(100));
        void *low = tau_tlsf_malloc(heap.tlsf, 1 + test_random_below(400));
        unsigned char *object = round % 3 ? tau_tlsf_malloc(heap.tlsf, old_size)
                                          : tau_tlsf_aligned_alloc(heap.tlsf, 64, old_size);
        void *high = tau_tlsf_malloc(heap.tlsf, 1 + test_random_below(100));
        void *wall = tau_tlsf_malloc(heap.tlsf, 8);
        REQUIRE(front != NULL && low != NULL && object != NULL && high != NULL && wall != NULL);
        pattern_write(object, old_size, round);
        EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, low), TAU_OK);
        if (round % 2) {
            EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, high), TAU_OK);
        }
        shared_heap = &heap;
        freed_meanwhile = round % 8 < 4 ? front : round % 2 ? NULL : high;
        test_port.on_move = other_thread;
        unsigned char *moved = tau_tlsf_realloc(heap.tlsf, object, old_size + 1 + round);
        test_port.on_move = NULL;
        EXPECT(moved != NULL && pattern_holds(moved, old_size, round));
        EXPECT_SOUND(&heap);
        EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, moved), TAU_OK);
        EXPECT_SOUND(&heap);
        heap_close(&heap);
    }
}

// Handed-out memory is 0xaa, freed memory 0x55 except for the words that lists need.
TEST_CASE(junk_fills_what_changes_hands) {
    struct test_heap heap = heap_open(4096);
    unsigned char *object = tau_tlsf_malloc(heap.tlsf, 200);
    unsigned char *wall = tau_tlsf_malloc(heap.tlsf, 8);
    REQUIRE(object != NULL && wall != NULL);
    if (TAU_JUNK_FILL) {
        EXPECT(all_bytes_are(object, 200, 0xaa));
        EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, object), TAU_OK);
        EXPECT(all_bytes_are(object + 2 * WORD, 200 - 2 * WORD - UNIT, 0x55));
    } else {
        EXPECT(all_bytes_are(object + 2 * WORD, 200 - 2 * WORD, 0xc3));
        memset(object, 0x11, 200);
        EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, object), TAU_OK);
        EXPECT(all_bytes_are(object + 2 * WORD, 200 - 2 * WORD - UNIT, 0x11));
    }
    EXPECT_SOUND(&heap);
    heap_close(&heap);
}
