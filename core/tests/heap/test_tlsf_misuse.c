// Goal: misuse is reported with its reason and never obeyed. Method: each wrong call is made on a
// heap whose bytes are remembered. The expected answer comes from an independent reading of
// docs/spec/tlsf.md, "Checks" (expected_answer). Then every byte must be as before.
#include "core/private/heap/tlsf_block.h"
#include "core/private/link.h"
#include "core/tests/heap/tlsf_heap.h"

_Static_assert(TAU_CHECK_LEVEL >= 1, "level 0 checks nothing, so there is nothing to test");

enum { WORD = sizeof(tau_word), UNIT = TAU_ALIGNMENT };

// The span of a heap of one pool: the first payload address and the bytes up to the sentinel's.
// Then comes the wilderness, with that many bytes that objects once had.
struct span {
    const unsigned char *lowest;
    size_t bytes;
    size_t touched_bytes;
};

static bool remember_first(void *context, void *payload, size_t size_bytes, bool is_free) {
    (void)size_bytes;
    (void)is_free;
    *(const unsigned char **)context = payload;
    return false;
}

static bool count_block(void *context, void *payload, size_t size_bytes, bool is_free) {
    (void)payload;
    (void)size_bytes;
    (void)is_free;
    *(unsigned *)context += 1;
    return true;
}


static tau_word word_before(const unsigned char *payload, size_t words) {
    tau_word word;
    memcpy(&word, payload - words * WORD, WORD);
    return word;
}

static size_t size_of_header(const unsigned char *payload) {
    return (size_t)(word_before(payload, 1) & SIZE_MASK);
}

// From the control block, which no damage here reaches: a walk ends at a damaged header.
static struct span span_of(const struct tau_tlsf *heap) {
    const struct tlsf_fields *fields = tlsf_fields_of(heap);
    struct span span = {.bytes = fields->span_bytes};
    span.touched_bytes = fields->wilderness_bytes - fields->untouched_bytes;
    tau_tlsf_walk(heap, remember_first, &span.lowest);
    return span;
}

static bool is_free(const unsigned char *payload) {
    return (word_before(payload, 1) & 1) != 0;
}

static bool follows_free(const unsigned char *payload) {
    return (word_before(payload, 1) & 2) != 0;
}

// Check 5: the block before, as POINTER's block remembers it, is free and has grown since.
static bool was_merged(const struct span *span, const unsigned char *pointer) {
    size_t remembered = (size_t)(word_before(pointer, 2) & SIZE_MASK);
    if (!follows_free(pointer) || remembered == 0 ||
        remembered > (size_t)(pointer - span->lowest)) {
        return false;
    }
    return is_free(pointer - remembered) && size_of_header(pointer - remembered) > remembered;
}

// Checks 6 to 8: what the neighbors say.
static bool neighbors_agree(const struct span *span, const unsigned char *pointer) {
    size_t room = (size_t)(span->lowest + span->bytes - pointer);
    size_t size = size_of_header(pointer);
    const unsigned char *next = pointer + size;
    if (follows_free(next)) {
        return false;
    }
    if (is_free(next)) {
        size_t next_size = size_of_header(next);
        if ((word_before(next, 1) & ~SIZE_MASK) != 1 || next_size > room - size ||
            word_before(next + next_size, 2) != next_size) {
            return false;
        }
    }
    if (!follows_free(pointer)) {
        return true;
    }
    size_t previous_size = (size_t)(word_before(pointer, 2) & SIZE_MASK);
    return previous_size <= (size_t)(pointer - span->lowest) &&
           word_before(pointer - previous_size, 1) == (tau_word)(previous_size | 1);
}

// docs/spec/tlsf.md, "Checks" 1 to 8, read once more. The canary (9) is the core's own secret.
static enum tau_status expected_answer(const struct tau_tlsf *heap, const unsigned char *pointer) {
    struct span span = span_of(heap);
    if ((uintptr_t)pointer % UNIT != 0) {
        return TAU_MISALIGNED_POINTER;
    }
    if (pointer < span.lowest || pointer >= span.lowest + span.bytes) {
        const size_t beyond = (size_t)(pointer - span.lowest) - span.bytes;
        return beyond < span.touched_bytes ? TAU_DOUBLE_FREE : TAU_FOREIGN_POINTER;
    }
    if (is_free(pointer)) {
        return TAU_DOUBLE_FREE;
    }
    size_t size = size_of_header(pointer);
    if (size < 4 * WORD || size > (size_t)(span.lowest + span.bytes - pointer)) {
        return TAU_FOREIGN_POINTER;
    }
    if (was_merged(&span, pointer)) {
        return TAU_DOUBLE_FREE;
    }
    return neighbors_agree(&span, pointer) ? TAU_OK : TAU_OVERWRITTEN;
}

// Every call that takes a pointer answers REASON and leaves every byte as it is.
static void expect_misuse(struct test_heap *heap, void *pointer, enum tau_status reason) {
    unsigned traces = test_port.trace_count;
    heap_remember(heap);
    test_port.misuse_count = 0;
    EXPECT_EQUAL(tau_tlsf_check_pointer(heap->tlsf, pointer), reason);
    EXPECT_EQUAL(tau_tlsf_usable_size(heap->tlsf, pointer), 0);
    EXPECT_EQUAL(test_port.misuse_count, 0);
    EXPECT_EQUAL(tau_tlsf_free(heap->tlsf, pointer), reason);
    EXPECT_UNCHANGED(heap);  // a second call may undo what the first one did
    EXPECT_EQUAL(test_port.misuse_count, 1);
    EXPECT_EQUAL(test_port.misuse_reason, reason);
    EXPECT(test_port.misuse_pointer == pointer);
    EXPECT(tau_tlsf_realloc(heap->tlsf, pointer, 10) == NULL);
    EXPECT(tau_tlsf_realloc(heap->tlsf, pointer, 500) == NULL);
    EXPECT(tau_tlsf_realloc(heap->tlsf, pointer, 0) == NULL);
    EXPECT_EQUAL(test_port.misuse_count, 4);
    EXPECT_EQUAL(test_port.misuse_reason, reason);
    EXPECT_EQUAL(test_port.trace_count, traces);
    EXPECT_EQUAL(test_port.out_of_memory_count, 0);
    EXPECT_UNCHANGED(heap);
}

// ---- Double free ------------------------------------------------------------------------------

TEST_CASE(double_free_is_reported) {
    for (size_t size = 1; size < 300; size++) {
        for (unsigned neighbors = 0; neighbors < 4; neighbors++) {
            struct test_heap heap = heap_open(4096);
            void *low = tau_tlsf_malloc(heap.tlsf, size + 20);
            void *object = tau_tlsf_malloc(heap.tlsf, size);
            void *high = tau_tlsf_malloc(heap.tlsf, size + 3);
            void *wall = tau_tlsf_malloc(heap.tlsf, 1);
            REQUIRE(low != NULL && object != NULL && high != NULL && wall != NULL);
            memset(object, (int)size, size);
            EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, neighbors & 1 ? low : NULL), TAU_OK);
            EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, neighbors & 2 ? high : NULL), TAU_OK);
            EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, object), TAU_OK);
            expect_misuse(&heap, object, TAU_DOUBLE_FREE);
            EXPECT_SOUND(&heap);
            heap_close(&heap);
        }
    }
}

// In whatever order neighbors are freed and merged, none can be freed twice.
TEST_CASE(double_free_after_merging_is_reported) {
    enum { OBJECTS = 8 };
    for (unsigned round = 0; round < 200; round++) {
        struct test_heap heap = heap_open(4096);
        void *objects[OBJECTS];
        for (size_t i = 0; i < OBJECTS; i++) {
            objects[i] = i % 3 ? tau_tlsf_malloc(heap.tlsf, 1 + test_random_below(100))
                               : tau_tlsf_aligned_alloc(heap.tlsf, 64, 1 + test_random_below(100));
            REQUIRE(objects[i] != NULL);
        }
        for (size_t freed = 0; freed < OBJECTS; freed++) {
            size_t chosen = freed + test_random_below(OBJECTS - freed);
            void *swap = objects[freed];
            objects[freed] = objects[chosen];
            objects[chosen] = swap;
            EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, objects[freed]), TAU_OK);
            for (size_t i = 0; i <= freed; i++) {
                expect_misuse(&heap, objects[i], TAU_DOUBLE_FREE);
            }
            EXPECT_SOUND(&heap);
        }
        heap_close(&heap);
    }
}

// realloc frees memory too: after a move, the old object cannot be freed again.
TEST_CASE(free_of_a_moved_object_is_reported) {
    struct test_heap heap = heap_open(4096);
    void *object = tau_tlsf_malloc(heap.tlsf, 100);
    void *wall = tau_tlsf_malloc(heap.tlsf, 1);
    void *moved = tau_tlsf_realloc(heap.tlsf, object, 1000);
    REQUIRE(wall != NULL && moved != NULL && moved != object);
    expect_misuse(&heap, object, TAU_DOUBLE_FREE);
    EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, moved), TAU_OK);
    expect_misuse(&heap, moved, TAU_DOUBLE_FREE);
    EXPECT_SOUND(&heap);
    heap_close(&heap);
}

// ---- Pointers to other bytes than objects
// -------------------------------------------------------------

TEST_CASE(foreign_pointers_are_reported) {
    static _Alignas(16) unsigned char elsewhere[64];
    _Alignas(16) unsigned char stack[64];
    struct test_heap heap = heap_open(4096);
    struct test_heap other = heap_open(4096);
    void *object = tau_tlsf_malloc(heap.tlsf, 100);
    void *others_object = tau_tlsf_malloc(other.tlsf, 100);
    struct span span = span_of(heap.tlsf);
    unsigned char *lowest = heap.memory + (span.lowest - heap.memory);
    REQUIRE(object != NULL && others_object != NULL);
    memset(stack, 0, sizeof stack);
    expect_misuse(&heap, elsewhere + 16, TAU_FOREIGN_POINTER);
    expect_misuse(&heap, stack + 16, TAU_FOREIGN_POINTER);
    expect_misuse(&heap, others_object, TAU_FOREIGN_POINTER);
    expect_misuse(&heap, lowest - UNIT, TAU_FOREIGN_POINTER);
    expect_misuse(&heap, lowest - (4096 - span.bytes) / UNIT * UNIT, TAU_FOREIGN_POINTER);
    expect_misuse(&heap, lowest + span.bytes, TAU_FOREIGN_POINTER);
    expect_misuse(&heap, lowest + span.bytes + UNIT, TAU_FOREIGN_POINTER);
    for (unsigned bits = 4; bits < 64; bits++) {
        uintptr_t far = (uintptr_t)object + ((uintptr_t)1 << bits);
        if (bits >= 12) {
            expect_misuse(&heap, (void *)far, TAU_FOREIGN_POINTER);
        }
        expect_misuse(&heap, (void *)((uintptr_t)1 << bits), TAU_FOREIGN_POINTER);
        expect_misuse(&heap, (void *)-((uintptr_t)1 << bits), TAU_FOREIGN_POINTER);
    }
    EXPECT_SOUND(&heap);
    heap_close(&heap);
    heap_close(&other);
}

TEST_CASE(misaligned_pointers_are_reported) {
    struct test_heap heap = heap_open(4096);
    unsigned char *object = tau_tlsf_malloc(heap.tlsf, 100);
    unsigned char *freed = tau_tlsf_malloc(heap.tlsf, 100);
    EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, freed), TAU_OK);
    for (size_t by = 1; by < 100; by++) {
        if (by % UNIT != 0) {
            expect_misuse(&heap, object + by, TAU_MISALIGNED_POINTER);
            expect_misuse(&heap, freed + by, TAU_MISALIGNED_POINTER);
            expect_misuse(&heap, (unsigned char *)(uintptr_t)by, TAU_MISALIGNED_POINTER);
        }
    }
    heap_close(&heap);
}

// An interior pointer finds the payload's bytes where a header would be.
TEST_CASE(interior_pointers_are_reported) {
    static const int fills[] = {0x00, 0x01, 0x41, 0x55, 0x80, 0xaa, 0xff};
    for (size_t f = 0; f < sizeof fills / sizeof *fills; f++) {
        struct test_heap heap = heap_open(4096);
        unsigned char *object = tau_tlsf_malloc(heap.tlsf, 400);
        memset(object, fills[f], 400);
        for (size_t by = UNIT; by < 400; by += UNIT) {
            enum tau_status reason = expected_answer(heap.tlsf, object + by);
            EXPECT(reason != TAU_OK);
            expect_misuse(&heap, object + by, reason);
        }
        EXPECT_SOUND(&heap);
        heap_close(&heap);
    }
}

// ---- Overwritten headers ----------------------------------------------------------------------

struct damage {
    unsigned neighbors;  // bit 0: the block before is free, bit 1: the block after
    int fill;
    size_t bytes;
    bool is_behind;  // written after the object's usable bytes, else before its first
};

// Damages the surroundings of a new object as told, then frees and resizes it.
static void suffer(const struct damage *damage) {
    struct test_heap heap = heap_open(4096);
    void *low = tau_tlsf_malloc(heap.tlsf, 50);
    unsigned char *object = tau_tlsf_malloc(heap.tlsf, 90);
    void *high = tau_tlsf_malloc(heap.tlsf, 70);
    void *wall = tau_tlsf_malloc(heap.tlsf, 1);
    REQUIRE(low != NULL && object != NULL && high != NULL && wall != NULL);
    size_t usable = tau_tlsf_usable_size(heap.tlsf, object);
    memset(object, 0x7e, usable);
    EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, damage->neighbors & 1 ? low : NULL), TAU_OK);
    EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, damage->neighbors & 2 ? high : NULL), TAU_OK);
    unsigned char *place = damage->is_behind ? object + usable : object - damage->bytes;
    heap_remember(&heap);
    memset(place, damage->fill, damage->bytes);
    bool is_changed = memcmp(heap.memory, heap.copy, heap.size_bytes) != 0;
    enum tau_status reason = expected_answer(heap.tlsf, object);
    bool moves_canary = damage->is_behind || (word_before(object, 1) & ALIGNED) != 0;
    if (is_changed && TAU_CHECK_LEVEL >= 2 && moves_canary && reason == TAU_OK) {
        reason = TAU_OVERWRITTEN;  // the canary lies before the next header, or is sought elsewhere
    }
    if (reason != TAU_OK) {
        expect_misuse(&heap, object, reason);
    } else {
        EXPECT_EQUAL(tau_tlsf_check_pointer(heap.tlsf, object), TAU_OK);
    }
    heap_close(&heap);
}

TEST_CASE(overflow_and_underflow_are_reported) {
    static const int fills[] = {0x00, 0x01, 0x02, 0x03, 0x07, 0x41, 0x7f, 0x80, 0xc3, 0xff};
    for (size_t f = 0; f < sizeof fills / sizeof *fills; f++) {
        for (unsigned neighbors = 0; neighbors < 4; neighbors++) {
            for (size_t bytes = 1; bytes <= 8; bytes++) {
                suffer(&(struct damage){neighbors, fills[f], bytes, false});
                suffer(&(struct damage){neighbors, fills[f], bytes, true});
            }
        }
    }
}

// Any bytes around an object, and any bits of them: the answer is the one that docs/spec/tlsf.md
// gives.
TEST_CASE(random_damage_is_reported) {
    unsigned reported_count = 0;
    for (unsigned round = 0; round < 5000; round++) {
        struct test_heap heap = heap_open(2048);
        void *low = tau_tlsf_malloc(heap.tlsf, 1 + test_random_below(60));
        unsigned char *object = tau_tlsf_malloc(heap.tlsf, 1 + test_random_below(60));
        void *high = tau_tlsf_malloc(heap.tlsf, 1 + test_random_below(60));
        void *wall = tau_tlsf_malloc(heap.tlsf, 1);
        REQUIRE(low != NULL && object != NULL && high != NULL && wall != NULL);
        size_t usable = tau_tlsf_usable_size(heap.tlsf, object);
        memset(object, 0x7e, usable);
        EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, round & 1 ? low : NULL), TAU_OK);
        EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, round & 2 ? high : NULL), TAU_OK);
        unsigned char *place = round & 4 ? object - 2 * WORD : object + usable;
        for (unsigned i = 0; i < 1 + round % 3; i++) {
            place[test_random_below(2 * WORD)] ^= (unsigned char)test_random();
        }
        enum tau_status reason = expected_answer(heap.tlsf, object);
        if (TAU_CHECK_LEVEL >= 2 && reason == TAU_OK) {
            reason = tau_tlsf_check_pointer(heap.tlsf, object);  // the canary may have been hit
            EXPECT(reason == TAU_OK || reason == TAU_OVERWRITTEN);
        }
        if (reason != TAU_OK) {
            expect_misuse(&heap, object, reason);
            reported_count++;
        }
        heap_close(&heap);
    }
    EXPECT(reported_count > 1000);
}

// Level 2 sees a single changed bit after the object, wherever it is in the first word.
TEST_CASE(every_changed_bit_behind_is_reported) {
    for (unsigned bit = 0; TAU_CHECK_LEVEL >= 2 && bit < 8 * WORD; bit++) {
        for (unsigned is_aligned = 0; is_aligned < 2; is_aligned++) {
            struct test_heap heap = heap_open(4096);
            unsigned char *object = is_aligned ? tau_tlsf_aligned_alloc(heap.tlsf, 64, 77)
                                               : tau_tlsf_malloc(heap.tlsf, 77);
            REQUIRE(object != NULL);
            unsigned char *behind = object + tau_tlsf_usable_size(heap.tlsf, object);
            behind[bit / 8] = (unsigned char)(behind[bit / 8] ^ 1u << bit % 8);
            expect_misuse(&heap, object, TAU_OVERWRITTEN);
            EXPECT_EQUAL(check_tlsf(heap.tlsf), 10);
            heap_close(&heap);
        }
    }
}

// Calls malloc(REQUEST), which may find the block DAMAGED. Either it takes another block, or it
// returns NULL, reports once and changes no byte. Returns whether it found DAMAGED.
static bool expect_malloc_refuses(struct test_heap *heap, size_t request, const void *damaged) {
    heap_remember(heap);
    test_port.misuse_count = 0;
    test_port.out_of_memory_count = 0;
    void *object = tau_tlsf_malloc(heap->tlsf, request);
    EXPECT(object != damaged);
    if (object != NULL) {
        EXPECT_EQUAL(test_port.misuse_count, 0);
        return false;
    }
    EXPECT_EQUAL(test_port.misuse_count, 1);
    EXPECT_EQUAL(test_port.misuse_reason, TAU_OVERWRITTEN);
    EXPECT_EQUAL(test_port.out_of_memory_count, 0);
    EXPECT_UNCHANGED(heap);
    return true;
}

// The header, the links or the footer of a free block are overwritten: by the block before it, or
// through a dangling pointer.
TEST_CASE(malloc_refuses_an_overwritten_block) {
    unsigned met_count = 0;
    for (unsigned round = 0; round < 5000; round++) {
        struct test_heap heap = heap_open(4096);
        size_t request = round % 2 ? 32 * UNIT : 32 * UNIT - 3 * WORD;  // with and without a probe
        unsigned char *first = tau_tlsf_malloc(heap.tlsf, request);
        void *wall = tau_tlsf_malloc(heap.tlsf, 1);
        unsigned char *second = tau_tlsf_malloc(heap.tlsf, request);
        void *other_wall = tau_tlsf_malloc(heap.tlsf, 1);
        REQUIRE(first && wall && second && other_wall);
        size_t size = size_of_header(second);
        EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, first), TAU_OK);
        EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, second), TAU_OK);
        unsigned char *places[] = {second - WORD, second, second + size - 2 * WORD};
        unsigned char *place = places[round % 3] + test_random_below(WORD);
        unsigned char was = *place;
        *place = round % 5 ? (unsigned char)test_random() : 0x41;
        bool is_list_end = word_before(second + WORD, 1) == 0;  // cannot be told from a true one
        if (*place != was && !is_list_end) {
            met_count += expect_malloc_refuses(&heap, request, second);
        }
        heap_close(&heap);
    }
    EXPECT(met_count > 2000);
}

// Regression: the links of a free neighbor were followed unread, so a correct free wrote wherever
// they led. Any word there instead of either link is found before anything is written, whichever
// neighbor has it, whether the other is free or not, wherever the block stands in its list. Except
// a `next` of 0, and a link that leads to an old copy of a link to this block.
TEST_CASE(free_next_to_an_overwritten_list_is_reported) {
    for (unsigned round = 0; round < 10000; round++) {
        struct test_heap heap = heap_open(4096);
        unsigned char *live = tau_tlsf_malloc(heap.tlsf, 40);
        unsigned char *low = tau_tlsf_malloc(heap.tlsf, 50);
        unsigned char *object = tau_tlsf_malloc(heap.tlsf, 90);
        unsigned char *high = tau_tlsf_malloc(heap.tlsf, round & 1 ? 50 : 70);
        void *wall = tau_tlsf_malloc(heap.tlsf, 1);
        unsigned char *other = tau_tlsf_malloc(heap.tlsf, 50);
        void *last_wall = tau_tlsf_malloc(heap.tlsf, 1);
        REQUIRE(live && low && object && high && wall && other && last_wall);
        bool is_high = (round & 2) != 0;
        EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, round & 4 ? other : NULL), TAU_OK);
        EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, round & 8 || !is_high ? low : NULL), TAU_OK);
        EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, round & 8 || is_high ? high : NULL), TAU_OK);
        EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, round & 16 ? other : NULL),
                     (round & 20) == 20 ? TAU_DOUBLE_FREE : TAU_OK);
        unsigned char *link = (is_high ? high : low) + (round & 32 ? WORD : 0);
        tau_word words[] = {0, (tau_word)test_random(), tau_link_to(heap.tlsf, live),
                            tau_link_to(heap.tlsf, heap.memory + test_random_below(4096)),
                            tau_link_to(heap.tlsf, heap.memory + 8 * test_random_below(512))};
        tau_word word = words[round / 64 % 5];
        bool is_next_lost = word == 0 && (round & 32) == 0;  // as at the end of a list
        const unsigned char *named = (unsigned char *)tau_link_follow(heap.tlsf, word);
        size_t copy_words = round & 32 ? 1 : 2;  // an old copy of what points to this block
        bool is_imitation = (uintptr_t)(named - heap.memory) < 4096 - 2 * WORD + 1 &&
                            word_before(named + copy_words * WORD, 1) ==
                                tau_link_to(heap.tlsf, is_high ? high : low);
        if (word != word_before(link + WORD, 1) && !is_next_lost && !is_imitation) {
            memcpy(link, &word, WORD);
            expect_misuse(&heap, object, TAU_OVERWRITTEN);
        }
        heap_close(&heap);
    }
}

// The block after has left its list when the one before turns out to be overwritten. It was alone
// in its list, and this list in its word of the bitmap: all of that comes back.
TEST_CASE(the_last_block_of_a_word_is_listed_again) {
    struct test_heap heap = heap_open(1 << 16);
    unsigned char *low = tau_tlsf_malloc(heap.tlsf, 50);
    void *object = tau_tlsf_malloc(heap.tlsf, 90);
    void *high = tau_tlsf_malloc(heap.tlsf, 20000);
    REQUIRE(low != NULL && object != NULL && high != NULL);
    for (size_t size = 20000; size > 0; size /= 2) {
        while (tau_tlsf_malloc(heap.tlsf, size) != NULL) {
        }
    }
    test_port.out_of_memory_count = 0;
    EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, low), TAU_OK);
    EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, high), TAU_OK);
    low[WORD] ^= 1;
    expect_misuse(&heap, object, TAU_OVERWRITTEN);
    heap_close(&heap);
}

// Regression: `back` was not looked at where `next` is 0, so a zeroed block left a list that it was
// not in.
TEST_CASE(malloc_refuses_a_zeroed_block) {
    struct test_heap heap = heap_open(4096);
    unsigned char *first = tau_tlsf_malloc(heap.tlsf, 100);
    void *wall = tau_tlsf_malloc(heap.tlsf, 1);
    REQUIRE(first != NULL && wall != NULL);
    EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, first), TAU_OK);
    memset(first, 0, 2 * WORD);
    EXPECT(expect_malloc_refuses(&heap, 100, first));
    heap_close(&heap);
}

// Regression: a first block whose header says less than its class holds was passed over, although
// it has been overwritten.
TEST_CASE(malloc_refuses_a_block_smaller_than_its_class) {
    enum { CLASS_UNITS_MIN = 29, ROUNDS = CLASS_UNITS_MIN + 2 };  // of the class up to 32 units
    for (size_t units = 0; units < ROUNDS; units++) {
        struct test_heap heap = heap_open(4096);
        const size_t request = 32 * UNIT - 3 * WORD;
        unsigned char *first = tau_tlsf_malloc(heap.tlsf, request);
        void *wall = tau_tlsf_malloc(heap.tlsf, 1);
        REQUIRE(first != NULL && wall != NULL);
        const size_t size = size_of_header(first);
        EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, first), TAU_OK);
        const tau_word negative = (tau_word)1 << (8 * WORD - 1);
        const tau_word header = (units < ROUNDS - 1 ? (tau_word)(units * UNIT) : negative) | 1;
        memcpy(first - WORD, &header, WORD);
        const bool is_of_class = units == CLASS_UNITS_MIN && size > CLASS_UNITS_MIN * UNIT;
        EXPECT_EQUAL(expect_malloc_refuses(&heap, request, first), !is_of_class);
        heap_close(&heap);
    }
}

// Regression: realloc computed a remainder of an alignment that an overflow had zeroed, and
// trapped.
TEST_CASE(realloc_finds_an_overwritten_alignment) {
    const tau_word alignments[] = {0, 1, UNIT, 3 * UNIT, 8192, (tau_word)-1};
    for (size_t i = 0; i < sizeof alignments / sizeof *alignments; i++) {
        struct test_heap heap = heap_open(4096);
        unsigned char *low = tau_tlsf_malloc(heap.tlsf, 100);
        unsigned char *object = tau_tlsf_aligned_alloc(heap.tlsf, 64, 40);
        void *wall = tau_tlsf_malloc(heap.tlsf, 1);
        REQUIRE(low != NULL && object != NULL && wall != NULL);
        EXPECT_EQUAL(tau_tlsf_free(heap.tlsf, low), TAU_OK);
        memcpy(object + size_of_header(object) - 2 * WORD, &alignments[i], WORD);
        heap_remember(&heap);
        for (size_t size = 1; size < 400; size += 30) {
            test_port.misuse_count = 0;
            EXPECT(tau_tlsf_realloc(heap.tlsf, object, size) == NULL);
            EXPECT_EQUAL(test_port.misuse_count, 1);
            EXPECT_EQUAL(test_port.misuse_reason, TAU_OVERWRITTEN);
            EXPECT(test_port.misuse_pointer == object);
            EXPECT_UNCHANGED(&heap);
        }
        heap_close(&heap);
    }
}

// Regression: free of the last block took the size of the free block before it without a mask. An
// object may hold bytes that look like one, with flags in the footer. One bit of the last header
// then says that it is free.
TEST_CASE(an_imitated_free_block_before_the_last_is_not_obeyed) {
    static const tau_word flags[] = {0, 1, 2, UNIT / 2, ALIGNED};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        struct test_heap heap = heap_open(4096);
        unsigned char *object = tau_tlsf_malloc(heap.tlsf, 200);
        unsigned char *last = tau_tlsf_malloc(heap.tlsf, 100);
        REQUIRE(object != NULL && last != NULL);
        const tau_word footer = (tau_word)(8 * UNIT) | flags[i];
        tau_word *const imitated = (tau_word *)(void *)(last - 8 * UNIT);
        imitated[-1] = footer + 1;
        imitated[0] = 0;
        imitated[1] = 0;
        ((tau_word *)(void *)last)[-2] = footer;
        ((tau_word *)(void *)last)[-1] |= 2;
        expect_misuse(&heap, last, TAU_OVERWRITTEN);
        heap_close(&heap);
    }
}

// Regression: a walk followed a header that led around in the heap or out of it.
TEST_CASE(walk_ends_at_an_overwritten_header) {
    const tau_word headers[] = {0, UNIT, 4096, (tau_word)-UNIT};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        struct test_heap heap = heap_open(4096);
        unsigned char *first = tau_tlsf_malloc(heap.tlsf, 100);
        unsigned char *second = tau_tlsf_malloc(heap.tlsf, 100);
        unsigned blocks = 0;
        REQUIRE(first != NULL && second != NULL);
        memcpy(second - WORD, &headers[i], WORD);
        tau_tlsf_walk(heap.tlsf, count_block, &blocks);
        EXPECT_EQUAL(blocks, 1);
        heap_close(&heap);
    }
}
