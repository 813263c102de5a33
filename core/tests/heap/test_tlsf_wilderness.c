// Goal: the memory behind the last block is taken last; how much of it is left changes no place.
// Method: small examples of each call at the end of a heap. Then random programs in a heap with
// room: the same calls must give the same places in a heap without the bytes that were never
// touched, which then touches all, and in larger ones.
#include "core/tests/heap/tlsf_heap.h"

enum { WORD = sizeof(tau_word), UNIT = TAU_ALIGNMENT, SLOTS = 40, CALLS = 400 };

static struct tau_tlsf_statistics now(const struct test_heap *heap) {
    return tau_tlsf_statistics(heap->tlsf);
}

TEST_CASE(the_wilderness_is_taken_last) {
    struct test_heap heap = heap_open(8192);
    unsigned char *low = tau_tlsf_malloc(heap.tlsf, 1000);
    unsigned char *wall = tau_tlsf_malloc(heap.tlsf, 1);
    const size_t untouched = now(&heap).untouched_bytes;
    EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, low), TAU_OK);
    EXPECT(tau_tlsf_malloc(heap.tlsf, 100) == low);  // a much larger block, but listed
    EXPECT_EQUAL(now(&heap).untouched_bytes, untouched);
    EXPECT((unsigned char *)tau_tlsf_malloc(heap.tlsf, 1000) > wall);
    EXPECT(now(&heap).untouched_bytes < untouched);
    EXPECT_SOUND(&heap);
    heap_close(&heap);
}

TEST_CASE(the_last_block_returns_with_the_free_one_before_it) {
    struct test_heap heap = heap_open(8192);
    const size_t capacity = now(&heap).capacity_bytes;
    unsigned char *one = tau_tlsf_malloc(heap.tlsf, 300);
    void *two = tau_tlsf_malloc(heap.tlsf, 300);
    const size_t untouched = now(&heap).untouched_bytes;
    EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, one), TAU_OK);
    EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, two), TAU_OK);
    EXPECT_SOUND(&heap);
    EXPECT_EQUAL(now(&heap).untouched_bytes, untouched);
    EXPECT(tau_tlsf_malloc(heap.tlsf, capacity - WORD - (TAU_CHECK_LEVEL >= 2 ? WORD : 0)) == one);
    EXPECT_EQUAL(now(&heap).untouched_bytes, 0);
    EXPECT(tau_tlsf_malloc(heap.tlsf, 1) == NULL);
    EXPECT_SOUND(&heap);
    heap_close(&heap);
}

TEST_CASE(the_last_object_grows_and_shrinks_in_place) {
    struct test_heap heap = heap_open(8192);
    for (size_t alignment = UNIT; alignment <= 8 * UNIT; alignment *= 8) {
        unsigned char *object = tau_tlsf_aligned_alloc(heap.tlsf, alignment, 20);
        REQUIRE(object != NULL);
        pattern_write(object, 20, 1);
        for (size_t size = 21; size < 3000; size += 97) {
            EXPECT(tau_tlsf_realloc(heap.tlsf, object, size) == object);
            EXPECT(tau_tlsf_usable_size(heap.tlsf, object) < size + 4 * WORD);
            EXPECT_SOUND(&heap);
        }
        EXPECT(tau_tlsf_realloc(heap.tlsf, object, 9000) == NULL);
        EXPECT(tau_tlsf_realloc(heap.tlsf, object, 20) == object);
        EXPECT(pattern_holds(object, 20, 1));
        EXPECT_EQUAL(tau_tlsf_alignment(heap.tlsf, object), alignment);
        EXPECT_SOUND(&heap);
        EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, object), TAU_OK);
        EXPECT_EQUAL(now(&heap).used_bytes, 0);
    }
    heap_close(&heap);
}

TEST_CASE(an_object_that_was_freed_into_the_wilderness_is_freed_twice) {
    struct test_heap heap = heap_open(8192);
    void *object = tau_tlsf_malloc(heap.tlsf, 100);
    EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, object), TAU_OK);
    if (TAU_CHECK_LEVEL >= 1) {
        heap_remember(&heap);
        EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, object), TAU_DOUBLE_FREE);
        EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, (unsigned char *)object + 4096),
                     TAU_FOREIGN_POINTER);
        EXPECT_UNCHANGED(&heap);
    }
    heap_close(&heap);
}

TEST_CASE(a_block_that_was_freed_into_the_wilderness_keeps_no_canary) {
    struct test_heap heap = heap_open(8192);
    unsigned char *object = tau_tlsf_malloc(heap.tlsf, 100);
    tau_word *const canary = (tau_word *)(object + tau_tlsf_usable_size(heap.tlsf, object));
    if (TAU_CHECK_LEVEL >= 2) {
        EXPECT(*canary != 0);
        EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, object), TAU_OK);
        EXPECT_EQUAL(*canary, 0);
    }
    heap_close(&heap);
}

TEST_CASE(the_last_block_stays_if_a_link_before_it_was_overwritten) {
    struct test_heap heap = heap_open(8192);
    unsigned char *before = tau_tlsf_malloc(heap.tlsf, 300);
    unsigned char *last = tau_tlsf_malloc(heap.tlsf, 300);
    EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, before), TAU_OK);
    memset(before + WORD, 0x40, WORD);  // the link to what leads there
    if (TAU_CHECK_LEVEL >= 1) {
        heap_remember(&heap);
        EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, last), TAU_OVERWRITTEN);
        EXPECT_EQUAL(test_port.misuse_reason, TAU_OVERWRITTEN);
        EXPECT_UNCHANGED(&heap);
    }
    heap_close(&heap);
}

TEST_CASE(an_overwritten_sentinel_is_not_obeyed) {
    struct test_heap heap = heap_open(8192);
    unsigned char *object = tau_tlsf_malloc(heap.tlsf, 100);
    memset(object + tau_tlsf_usable_size(heap.tlsf, object), 0x40, 2 * WORD);
    if (TAU_CHECK_LEVEL >= 1) {
        heap_remember(&heap);
        EXPECT(tau_tlsf_malloc(heap.tlsf, 100) == NULL);
        EXPECT_EQUAL(test_port.misuse_reason, TAU_OVERWRITTEN);
        EXPECT_EQUAL(test_port.out_of_memory_count, 0);
        EXPECT_UNCHANGED(&heap);
    }
    heap_close(&heap);
}

TEST_CASE(a_second_pool_lists_the_wilderness) {
    struct test_heap heap = heap_memory(16384, 0);
    heap.tlsf = tau_tlsf_init(heap.memory, 12288, 0);
    unsigned char *low = tau_tlsf_malloc(heap.tlsf, 100);
    EXPECT_EQUAL(tau_tlsf_add_pool(heap.tlsf, heap.memory + 12288, 1024), TAU_OK);
    EXPECT_EQUAL(now(&heap).untouched_bytes, 0);
    EXPECT_SOUND(&heap);
    EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, low), TAU_OK);
    EXPECT_SOUND(&heap);
    EXPECT(tau_tlsf_malloc(heap.tlsf, now(&heap).largest_free_bytes) == low);
    EXPECT_SOUND(&heap);
    heap_close(&heap);
}

// What the calls of a resize at the end of a heap of SIZE bytes return last.
static bool resizes_at_the_end(struct test_heap *heap, size_t size) {
    heap->tlsf = tau_tlsf_init(heap->memory, size, 16384);
    void *low = tau_tlsf_malloc(heap->tlsf, 1039);
    void *last = tau_tlsf_malloc(heap->tlsf, 901);
    REQUIRE(low != NULL && last != NULL);
    EXPECT_EQUAL(tau_tlsf_free(heap->tlsf, low), TAU_OK);
    last = tau_tlsf_realloc(heap->tlsf, last, 1037);
    REQUIRE(last != NULL);
    return tau_tlsf_realloc(heap->tlsf, last, 1156) != NULL;
}

TEST_CASE(a_resize_of_the_last_object_sees_the_end_of_the_heap) {
    struct test_heap heap = heap_memory(16384, 0);
    heap.tlsf = tau_tlsf_init(heap.memory, 16384, 16384);
    void *low = tau_tlsf_malloc(heap.tlsf, 1039);
    void *last = tau_tlsf_malloc(heap.tlsf, 901);
    REQUIRE(low != NULL && last != NULL);
    const size_t exact = 16384 - now(&heap).untouched_bytes;  // holds both, and no more
    EXPECT(resizes_at_the_end(&heap, exact));  // moves into the hole, then has all behind it
    EXPECT(!resizes_at_the_end(&heap, exact + 160));  // grows in place, then has no room
    EXPECT(resizes_at_the_end(&heap, exact + 512));
    heap_close(&heap);
}

// Random calls, the same for the same SEED, until one is refused. Returns how many were served, and
// the places of their results in PLACES.
static size_t run(struct test_heap *heap, uint32_t seed, bool aligns, size_t *places) {
    unsigned char *objects[SLOTS] = {NULL};
    for (size_t call = 0; call < CALLS; call++) {
        uint32_t words[4];
        for (size_t i = 0; i < 4; i++) {
            seed = seed * 1664525u + 1013904223u;
            words[i] = seed >> 8;
        }
        unsigned char **const object = &objects[words[0] % SLOTS];
        const size_t size = 1 + words[1] % (words[2] % 8 == 0 ? 2000 : 100);
        if (*object == NULL) {
            *object = aligns && words[3] % 4 == 0
                          ? tau_tlsf_aligned_alloc(heap->tlsf, (size_t)64 << words[2] % 3, size)
                          : tau_tlsf_malloc(heap->tlsf, size);
        } else if (words[3] % 3 == 0) {
            *object = tau_tlsf_realloc(heap->tlsf, *object, size);
        } else {
            EXPECT_EQUAL(tau_tlsf_free(heap->tlsf, *object), TAU_OK);
            *object = NULL;
            places[call] = 0;
            continue;
        }
        if (*object == NULL) {
            return call;
        }
        places[call] = (size_t)(*object - heap->memory);
    }
    return CALLS;
}

TEST_CASE(what_was_never_touched_changes_no_place) {
    static size_t wanted[CALLS], places[CALLS];
    const size_t most_bytes = 60000;  // all heaps have its control block
    for (unsigned round = 0; round < 100; round++) {
        const uint32_t seed = (uint32_t)test_random();
        const bool aligns = round % 2 != 0;
        struct test_heap heap = heap_memory(most_bytes, 0);
        heap.tlsf = tau_tlsf_init(heap.memory, 40000, most_bytes);
        REQUIRE(run(&heap, seed, aligns, wanted) == CALLS);
        const size_t needed = 40000 - now(&heap).untouched_bytes;
        const size_t sizes[] = {needed, needed + UNIT, 40000, 50001, most_bytes};
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            heap.tlsf = tau_tlsf_init(heap.memory, sizes[i], most_bytes);
            EXPECT_EQUAL(run(&heap, seed, aligns, places), CALLS);
            EXPECT(memcmp(places, wanted, sizeof places) == 0);
            EXPECT_SOUND(&heap);
        }
        heap.tlsf = tau_tlsf_init(heap.memory, needed, most_bytes);
        (void)run(&heap, seed, aligns, places);
        EXPECT_EQUAL(now(&heap).untouched_bytes, 0);
        heap_close(&heap);
    }
}
