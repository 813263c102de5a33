// Goal: within the limits no call fails, in any order; beyond them every refusal is the right one.
// Method: random bands, alignments and programs against a naive oracle, which only counts the live
// objects of each band. Contents of all objects touched, counters, and frees that must fail.
#include "core/private/heap/pools_table.h"
#include "core/tests/kit/fuzz.h"
#include "core/tests/kit/mechanism.h"
#include "core/tests/kit/port_test.h"

enum { ARENA_BYTES = 1 << 19, BANDS_MAX = 14, UNIT = TAU_ALIGNMENT };
enum { NO_BAND = BANDS_MAX };

struct program {
    struct tau_pools *heap;
    struct tau_budget_class bands[BANDS_MAX];
    size_t bands_count;
    size_t alignment;  // the heap's alignment
    bool has_overflow;
    size_t live[BANDS_MAX + 1];  // the last: in the overflow heap
    size_t exceeded[BANDS_MAX + 1];
    size_t band_of[FUZZ_OBJECTS];
    struct fuzz_object objects[FUZZ_OBJECTS];
};

static _Alignas(4096) unsigned char arena[ARENA_BYTES];
static struct program now;

static long long offset_of(const void *pointer) {
    return pointer == NULL ? -1 : (const unsigned char *)pointer - arena;
}

static size_t round_up(size_t bytes, size_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

// A block's size, which has room for two words.
static size_t block_of(size_t size) {
    const size_t rounded = round_up(size, UNIT);
    return rounded == sizeof(tau_word) ? 2 * sizeof(tau_word) : rounded;
}

static void choose_bands(struct program *program) {
    size_t key = 0;
    program->bands_count = 1 + fuzz_choose(BANDS_MAX);
    program->alignment = (size_t)1 << fuzz_choose(8);
    for (size_t i = 0; i < program->bands_count; i++) {
        key += 1 + fuzz_choose(fuzz_choose(4) == 0 ? 40 : 3);
        key += key * UNIT < 2 * sizeof(tau_word);  // 1 and 2 units make the same block
        program->bands[i].size_bytes = (uint32_t)(key * UNIT - fuzz_choose(UNIT));
        program->bands[i].count = 1 + (uint32_t)fuzz_choose(9);
    }
    program->has_overflow = fuzz_choose(4) == 0 && mechanism_log == NULL;  // not in the model
}

// The place of SIZE's band, NO_BAND above all.
static size_t band_of(const struct program *program, size_t size) {
    for (size_t i = 0; i < program->bands_count; i++) {
        if (size <= block_of(program->bands[i].size_bytes)) {
            return i;
        }
    }
    return NO_BAND;
}

// Whether every block of BAND has ALIGNMENT: it must where the heap and the block's size do, and
// may by chance.
static bool has_alignment(const struct program *program, size_t band, size_t alignment) {
    const struct tau_budget *const blocks = &program->heap->blocks;
    const size_t class = blocks->owner[budget_fields_of(blocks)->order + band];
    const size_t block = block_of(program->bands[band].size_bytes);
    const uintptr_t start =
        (uintptr_t)tau_link_follow(blocks, budget_class_at(blocks, class)->start);
    const bool has = (start | block) % alignment == 0;
    EXPECT(has || alignment > program->alignment || block % alignment != 0);
    return has;
}

static size_t choose_size(const struct program *program) {
    if (fuzz_choose(16) == 0) {
        return fuzz_size(block_of(program->bands[program->bands_count - 1].size_bytes) + 64);
    }
    const size_t near =
        program->bands[fuzz_choose(program->bands_count)].size_bytes + fuzz_choose(3) - 1;
    return fuzz_choose(2) == 0 ? near : fuzz_choose(near + 1);
}

static bool is_in_pools(const struct program *program, const unsigned char *bytes) {
    const struct tau_pools_statistics statistics = tau_pools_statistics(program->heap);
    const size_t offset = (size_t)(bytes - arena);
    return offset >= statistics.control_bytes &&
           offset < statistics.control_bytes + statistics.pools_bytes;
}

// What a request in BAND did: OBJECT has it, or it was refused.
static void note(struct program *program, size_t number, size_t band, size_t size,
                 size_t alignment) {
    struct fuzz_object *const object = &program->objects[number];
    const bool fits = band != NO_BAND && program->live[band] < program->bands[band].count;
    if (!fits) {
        program->exceeded[band]++;
    }
    EXPECT(object->bytes != NULL || !fits);
    EXPECT(object->bytes == NULL || fits || program->has_overflow);
    if (object->bytes != NULL) {
        EXPECT_EQUAL(is_in_pools(program, object->bytes), fits);
        program->band_of[number] = fits ? band : NO_BAND;
        program->live[program->band_of[number]]++;
        fuzz_begin(object, tau_pools_usable_size(program->heap, object->bytes), size, alignment);
    }
}

static void allocate(struct program *program, size_t number) {
    struct fuzz_object *const object = &program->objects[number];
    const size_t size = choose_size(program);
    size_t alignment = UNIT, band = band_of(program, size);
    const enum tau_status reason = tau_pools_reason(program->heap, size);
    const size_t kind = fuzz_choose(8);
    EXPECT(size == 0 || (reason == TAU_ABOVE_BANDS) == (band == NO_BAND));
    if (kind == 0) {
        alignment = (size_t)1 << fuzz_choose(8);
        band = size > SIZE_MAX - alignment ? NO_BAND : band_of(program, round_up(size, alignment));
        band = band != NO_BAND && has_alignment(program, band, alignment) ? band : NO_BAND;
        object->bytes = tau_pools_aligned_alloc(program->heap, alignment, size);
        LOG("a %zu %zu %lld\n", alignment, size, offset_of(object->bytes));
    } else if (kind == 1) {
        object->bytes = tau_pools_calloc(program->heap, 1, size);
        LOG("c 1 %zu %lld\n", size, offset_of(object->bytes));
        for (size_t i = 0; object->bytes != NULL && i < size; i++) {
            EXPECT_EQUAL(object->bytes[i], 0);
        }
    } else if (kind == 2) {
        object->bytes = tau_pools_realloc(program->heap, NULL, size);
        LOG("r -1 %zu %lld\n", size, offset_of(object->bytes));
    } else {
        object->bytes = tau_pools_malloc(program->heap, size);
        LOG("m %zu %lld\n", size, offset_of(object->bytes));
    }
    if (size == 0) {
        EXPECT(object->bytes == NULL);
        return;
    }
    note(program, number, band, size, alignment);
}

static void give_back(struct program *program, size_t number) {
    struct fuzz_object *const object = &program->objects[number];
    unsigned char *const bytes = object->bytes;
    fuzz_expect_intact(object, object->size);
    EXPECT_EQUAL(tau_pools_free(program->heap, bytes), TAU_OK);
    LOG("f %lld\n", offset_of(bytes));
    program->live[program->band_of[number]]--;
    object->bytes = NULL;
    if (TAU_CHECK_LEVEL >= 1) {
        EXPECT_EQUAL(tau_pools_free(program->heap, bytes), TAU_DOUBLE_FREE);
        EXPECT(tau_pools_realloc(program->heap, bytes, 8) == NULL);
        if (program->band_of[number] != NO_BAND) {
            EXPECT(tau_pools_free(program->heap, bytes + UNIT / 2) != TAU_OK);
        }
        test_port.misuse_count = 0;
    }
}

static void resize(struct program *program, size_t number) {
    struct fuzz_object *const object = &program->objects[number];
    const size_t size = choose_size(program), old_band = program->band_of[number];
    const size_t band = band_of(program, size);
    if (size == 0) {
        return;
    }
    fuzz_expect_intact(object, object->size);
    const bool stays = band == old_band && band != NO_BAND;
    const bool fits = band != NO_BAND && program->live[band] < program->bands[band].count;
    unsigned char *const moved = tau_pools_realloc(program->heap, object->bytes, size);
    LOG("r %lld %zu %lld\n", offset_of(object->bytes), size, offset_of(moved));
    program->exceeded[band] += !stays && !fits;
    EXPECT(!stays || moved == object->bytes);
    EXPECT(moved != NULL || (!stays && !fits));
    if (moved == NULL) {
        fuzz_expect_intact(object, object->size);
        return;
    }
    if (!stays) {
        program->live[old_band]--;
        program->band_of[number] = fits ? band : NO_BAND;
        program->live[program->band_of[number]]++;
        EXPECT_EQUAL(is_in_pools(program, moved), fits);
    }
    object->bytes = moved;
    fuzz_expect_intact(object, size < object->size ? size : object->size);
    fuzz_begin(object, tau_pools_usable_size(program->heap, moved), size, UNIT);
}

static void expect_counted(const struct program *program) {
    EXPECT(tau_pools_invariants_hold(program->heap));
    for (size_t i = 0; i < program->bands_count; i++) {
        const struct tau_pools_band_statistics band = tau_pools_band_statistics(program->heap, i);
        EXPECT_EQUAL(band.used_count, program->live[i]);
        EXPECT_EQUAL(band.limit_count, program->bands[i].count);
        EXPECT_EQUAL(band.exceeded_count, program->exceeded[i]);
        EXPECT(band.used_count <= band.peak_used_count);
    }
    EXPECT_EQUAL(tau_pools_statistics(program->heap).above_bands_count, program->exceeded[NO_BAND]);
    EXPECT_EQUAL(test_port.lock_depth + test_port.nested_count + test_port.inside_count, 0);
    EXPECT_EQUAL(test_port.outside_count + test_port.misuse_count, 0);
}

static enum tau_status use_object(void) {
    const size_t number = fuzz_choose(FUZZ_OBJECTS);
    if (now.objects[number].bytes == NULL) {
        allocate(&now, number);
    } else if (fuzz_choose(3) == 0) {
        resize(&now, number);
    } else {
        give_back(&now, number);
    }
    return TAU_OK;
}

static void open_heap(void) {
    now = (struct program){.heap = NULL};
    choose_bands(&now);
    memset(&test_port, 0, sizeof test_port);
    const size_t overflow_bytes = now.has_overflow ? 4096 : 0;
    const size_t needed = tau_pools_size(now.bands, now.bands_count, now.alignment, overflow_bytes);
    REQUIRE(needed != 0 && needed <= ARENA_BYTES);
    EXPECT_EQUAL(tau_pools_init(&now.heap, arena, needed - 1 - overflow_bytes, now.bands,
                                now.bands_count, now.alignment),
                 TAU_PLAN_TOO_LARGE);
    REQUIRE(tau_pools_init(&now.heap, arena, needed, now.bands, now.bands_count, now.alignment) ==
            TAU_OK);
    LOG("I %zu %d %d %zu", tau_pools_statistics(now.heap).control_bytes, TAU_WORD_BITS, UNIT,
        now.alignment);
    for (size_t i = 0; i < now.bands_count; i++) {
        LOG(" %u %u", now.bands[i].size_bytes, now.bands[i].count);
    }
    LOG("\n");
}

static void check(void) {
    expect_counted(&now);
    for (size_t i = 0; mechanism_log != NULL && i < now.bands_count; i++) {
        const struct tau_pools_band_statistics band = tau_pools_band_statistics(now.heap, i);
        LOG("s %zu %u %u %u %u\n", i, band.size_bytes, band.used_count, band.peak_used_count,
            band.exceeded_count);
    }
}

static void close_heap(void) {
    for (size_t i = 0; i < FUZZ_OBJECTS && test_failures_count == 0; i++) {
        if (now.objects[i].bytes != NULL) {
            give_back(&now, i);
        }
    }
}

static const struct operation operations[] = {{1, use_object}, {0, NULL}};

static struct mechanism calls_of_pools = {
    .name = "pools",
    .operations = operations,
    .calls_max = 3000,
    .check_every = 1,
    .open = open_heap,
    .check = check,
    .close = close_heap,
};

MECHANISM(calls_of_pools)
