// Proofs of pools for bands of sizes, for CBMC: the shipped functions, on a heap in any state.
//
// tau_pools_init made the heap: its memory is in PROOF_IMAGE, with links relative to the handle.
// Then any_state chooses any state that the invariants of docs/spec/pools.md allow: any blocks in
// use, any order of the free ones, any bytes in those that are in use. Each proof runs one call
// with any arguments and shows that
//
// - a request is served if and only if a band has its size and holds less than its limit [POOLS-1],
// - an object is a block of its band that was free, aligned, and in no other object,
// - only words of the object and of its band change; a refused call changes a counter,
// - the invariants hold again.
//
// prove_init shows that they hold at the start. So all of this holds after any history.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAU_ASSERT_LEVEL 1
#define TAU_ASSERT_FAILED(text) __CPROVER_assert(0, "assert of the core: " text)
#include "core/budget.h"
#include "core/config.h"
#include "core/private/inline.h"

enum { BANDS = PROOF_BANDS, BLOCKS_MAX = 3, WORDS = PROOF_WORDS };

struct memory {
    tau_word words[WORDS];
};

static struct memory memory = {{PROOF_IMAGE}};
static struct memory before;

// Bytes that realloc moves. The bytes themselves are memmove's.
static const void *moved_to, *moved_from;
static size_t moved_bytes;
#define TAU_PORT_MOVE(to, from, bytes) (moved_to = (to), moved_from = (from), moved_bytes = (bytes))
#define TAU_PORT_FILL(to, value, bytes) __CPROVER_assert(0, "nothing is filled")

#include "core/budget.c"
#include "core/pools.c"
#include "core/tests/proofs/any.h"

// No heap is behind the pools.
#define NEVER_CALLED __CPROVER_assert(0, "no heap is behind the pools")

void *tau_tlsf_aligned_alloc(struct tau_tlsf *tlsf, size_t alignment, size_t size_bytes) {
    NEVER_CALLED;
    return NULL;
}

void *tau_tlsf_realloc(struct tau_tlsf *tlsf, void *pointer, size_t size_bytes) {
    NEVER_CALLED;
    return NULL;
}

enum tau_status tau_tlsf_free(struct tau_tlsf *tlsf, void *pointer) {
    NEVER_CALLED;
    return TAU_OK;
}

size_t tau_tlsf_usable_size(const struct tau_tlsf *tlsf, const void *pointer) {
    NEVER_CALLED;
    return 0;
}

static struct tau_pools *const heap = (void *)((char *)memory.words + PROOF_HANDLE);
// In place of the functions of the core that compute addresses as numbers: CBMC follows places in
// the memory. test_pools_proofs.py replaces the calls.
tau_word *place_at_link(const void *handle, tau_word link) {
    (void)handle;
    return (tau_word *)(void *)((char *)memory.words + PROOF_HANDLE + (int32_t)link);
}

tau_word link_to_place(const void *handle, const void *address) {
    (void)handle;
    return (tau_word)((const char *)address - (const char *)memory.words - PROOF_HANDLE);
}

struct budget_fields *fields_before(const struct tau_budget *blocks) {
    return (struct budget_fields *)(void *)((char *)memory.words + PROOF_HANDLE) - 1;
}

struct budget_class *class_at_index(const struct tau_budget *blocks, uintptr_t index) {
    return (struct budget_class *)(void *)fields_before(blocks) - 1 - index;
}

uintptr_t same_number(uintptr_t value) {
    return value;
}

static const struct tau_budget_class bands[BANDS] = {PROOF_PLAN};

// The choices of any_state, and the words that a call may change.
static struct {
    struct budget_class *class;
    uint32_t fresh, length, used;
    bool is_used[BLOCKS_MAX];
} state[BANDS];

static tau_word link_of(uint32_t band, uint32_t index) {
    return state[band].class->start + index * state[band].class->bucket_bytes;
}

static tau_word *block_of(uint32_t band, uint32_t index) {
    return tau_link_follow(heap, link_of(band, index));
}

static void find_classes(void) {
    const struct budget_fields *const fields = budget_fields_of(&heap->blocks);
    for (uint32_t band = 0; band < BANDS; band++) {
        state[band].class =
            budget_class_at(&heap->blocks, heap->blocks.owner[fields->order + band]);
    }
}

// Any order of the blocks that are not in use, the one freed last first.
static void any_list(uint32_t band) {
    struct budget_class *const class = state[band].class;
    bool is_listed[BLOCKS_MAX] = {false};
    tau_word *end = &class->free;
    for (uint32_t place = 0; place < BLOCKS_MAX; place++) {
        if (place < state[band].length) {
            const uint32_t index = below(BLOCKS_MAX);
            __CPROVER_assume(index < state[band].fresh && !is_listed[index]);
            is_listed[index] = true;
            *end = link_of(band, index);
            end = block_of(band, index);
        }
    }
    *end = 0;
    for (uint32_t index = 0; index < BLOCKS_MAX; index++) {
        state[band].is_used[index] = index < state[band].fresh && !is_listed[index];
        if (is_listed[index]) {
            tau_word *const block = block_of(band, index);
            block[1] = (index + 1) ^ block[0];
        }
    }
}

static void any_state(void) {
    find_classes();
    for (uint32_t band = 0; band < BANDS; band++) {
        struct budget_class *const class = state[band].class;
        for (uint32_t index = 0; index < bands[band].count; index++) {
            block_of(band, index)[0] = nondet_number();
            block_of(band, index)[1] = nondet_number();
        }
        state[band].fresh = below(bands[band].count + 1);
        state[band].length = below(state[band].fresh + 1);
        state[band].used = state[band].fresh - state[band].length;
        class->fresh_count = state[band].fresh;
        class->used_count = state[band].used;
        any_list(band);
        uint32_t bits = 0;
        for (uint32_t index = 0; index < BLOCKS_MAX; index++) {
            bits |= (uint32_t)state[band].is_used[index] << index;
        }
        *budget_bits_of(&heap->blocks, class, 0) = bits;
    }
    before = memory;
}

// The invariants of one band, read from the memory.
static bool holds(uint32_t band) {
    const struct budget_class *const class = state[band].class;
    bool is_listed[BLOCKS_MAX] = {false};
    uint32_t length = 0;
    tau_word link = class->free;
    bool result = class->fresh_count <= class->count && class->used_count <= class->fresh_count;
    for (uint32_t place = 0; place < BLOCKS_MAX && link != 0; place++) {
        uint32_t found = BLOCKS_MAX;
        for (uint32_t index = 0; index < bands[band].count; index++) {
            found = link == link_of(band, index) ? index : found;
        }
        if (found >= class->fresh_count || is_listed[found]) {
            return false;
        }
        is_listed[found] = true;
        const tau_word *const block = block_of(band, found);
        result = result && budget_index_in(block) == found;
        link = block[0];
        length++;
    }
    const uint32_t bits = *budget_bits_of(&heap->blocks, class, 0);
    for (uint32_t index = 0; index < BLOCKS_MAX; index++) {
        const bool is_used = index < class->fresh_count && !is_listed[index];
        result = result && (bits >> index & 1u) == is_used;
    }
    return result && link == 0 && length == class->fresh_count - class->used_count;
}

static void expect_invariants(void) {
    for (uint32_t band = 0; band < BANDS; band++) {
        __CPROVER_assert(holds(band), "the invariants hold");
    }
}

// The first band that is large enough, BANDS above all.
static uint32_t band_of(uint32_t size) {
    uint32_t band = 0;
    for (; band < BANDS && (size == 0 || size > budget_bucket_for(bands[band].size_bytes));
         band++) {
    }
    return band;
}

static uint32_t place_of(const void *word) {
    return (uint32_t)((const tau_word *)word - memory.words);
}

// Whether the word at PLACE is one of WORD, WORD + 1, …: COUNT of them.
static bool is_among(uint32_t place, const void *word, uint32_t count) {
    return place - place_of(word) < count;
}

// No word but the ones of BAND's state, COUNT words of BLOCK and of OTHER's has changed.
static void expect_unchanged(uint32_t band, const void *block, uint32_t other) {
    const uint32_t place = below(WORDS);
    bool may_change = block != NULL && is_among(place, block, 2);
    for (uint32_t each = 0; each < BANDS; each++) {
        const struct budget_class *const class = state[each].class;
        may_change = may_change ||
                     ((each == band || each == other) &&
                      (is_among(place, &class->free, 2) || is_among(place, &class->used_count, 1) ||
                       is_among(place, budget_bits_of(&heap->blocks, class, 0), 1)));
    }
    __CPROVER_assert(may_change || memory.words[place] == before.words[place],
                     "nothing else changes");
}

// A refused call counts, for BAND or above all, and changes nothing else.
static void expect_refused(uint32_t band) {
    const size_t class = band < BANDS ? pools_index_of(heap, state[band].class)
                                      : budget_fields_of(&heap->blocks)->classes;
    const uint32_t counter = place_of(pools_counter_of(heap, class)), place = below(WORDS);
    const uint32_t count = before.words[counter];
    __CPROVER_assert(memory.words[counter] == count + (count != UINT32_MAX), "it is counted");
    __CPROVER_assert(place == counter || memory.words[place] == before.words[place],
                     "a refused call changes nothing");
}

// OBJECT is a block of BAND that was free, and is in use now.
static void expect_taken(uint32_t band, const void *object) {
    uint32_t found = BLOCKS_MAX;
    for (uint32_t index = 0; index < bands[band].count; index++) {
        found = object == block_of(band, index) ? index : found;
    }
    __CPROVER_assert(found < BLOCKS_MAX, "an object is a block of its band");
    __CPROVER_assert(found == BLOCKS_MAX || !state[band].is_used[found], "the block was free");
    __CPROVER_assert(state[band].class->used_count == state[band].used + 1, "one more is used");
}

static bool has_room(uint32_t band) {
    return band < BANDS && state[band].used < bands[band].count;
}

void prove_init(void) {
    find_classes();
    expect_invariants();
    const uint32_t band = below(BANDS), other = below(BANDS), index = below(BLOCKS_MAX);
    const uint32_t other_index = below(BLOCKS_MAX);
    __CPROVER_assume(index < bands[band].count && other_index < bands[other].count);
    __CPROVER_assume(band != other || index != other_index);
    const uint32_t bytes = state[band].class->bucket_bytes;
    const uint32_t here = (uint32_t)((const char *)block_of(band, index) - (char *)memory.words);
    const uint32_t there =
        (uint32_t)((const char *)block_of(other, other_index) - (char *)memory.words);
    __CPROVER_assert(here % (bytes & -bytes) == 0, "blocks have the alignment of their size");
    __CPROVER_assert(here + bytes <= sizeof memory, "blocks are in the memory");
    __CPROVER_assert(there < here || there >= here + bytes, "blocks do not overlap");
    __CPROVER_assert(state[band].class->used_count == 0, "no object is alive");
    reached();
}

void prove_malloc(void) {
    const uint32_t size = nondet_number(), band = band_of(size);
    any_state();
    const void *const object = tau_pools_malloc(heap, size);
    __CPROVER_assert((object != NULL) == has_room(band), "malloc fails beyond limits only");
    expect_invariants();
    if (object != NULL) {
        expect_taken(band, object);
        expect_unchanged(band, NULL, band);
    } else if (size != 0) {
        expect_refused(band);
    }
    reached();
}

void prove_free(void) {
    const uint32_t offset = below(sizeof memory);
    any_state();
    char *const pointer = (char *)memory.words + offset;
    const enum tau_status status = tau_pools_free(heap, pointer);
    bool is_object = false;
    uint32_t band = BANDS;
    for (uint32_t each = 0; each < BANDS; each++) {
        for (uint32_t index = 0; index < bands[each].count; index++) {
            if (pointer == (char *)block_of(each, index)) {
                is_object = state[each].is_used[index];
                band = each;
            }
        }
    }
    __CPROVER_assert((status == TAU_OK) == is_object, "free obeys for objects only");
    expect_invariants();
    expect_unchanged(is_object ? band : BANDS, is_object ? pointer : NULL, BANDS);
    __CPROVER_assert(!is_object || state[band].class->used_count + 1 == state[band].used,
                     "one less is used");
    reached();
}

void prove_realloc(void) {
    const uint32_t size = nondet_number(), band = band_of(size);
    const uint32_t old = below(BANDS), index = below(BLOCKS_MAX);
    any_state();
    __CPROVER_assume(size != 0 && state[old].is_used[index]);
    void *const object = block_of(old, index);
    void *const moved = tau_pools_realloc(heap, object, size);
    __CPROVER_assert((moved != NULL) == (band == old || has_room(band)),
                     "realloc fails beyond limits only");
    expect_invariants();
    if (moved == NULL) {
        expect_refused(band);
    } else if (band == old) {
        __CPROVER_assert(moved == object, "it stays in its band's block");
        expect_unchanged(BANDS, NULL, BANDS);
    } else {
        const uint32_t old_bytes = state[old].class->bucket_bytes;
        expect_taken(band, moved);
        expect_unchanged(band, object, old);
        __CPROVER_assert(moved_to == moved && moved_from == object, "the object is moved");
        __CPROVER_assert(moved_bytes == (old_bytes < size ? old_bytes : size), "all of it");
        __CPROVER_assert(state[old].class->used_count + 1 == state[old].used, "the old is freed");
    }
    reached();
}
