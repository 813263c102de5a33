// Goal: no legal calls break a TLSF heap.
// Method: random programs on heaps of random shape; after each call a full walk, the contents of
// every object touched, and the promises that a caller can see. Every state of a heap of 1 KiB that
// a number of calls can reach: what the future depends on are the blocks and the order of the
// lists.
#include "core/tests/heap/tlsf_heap.h"
#include "core/tests/kit/mechanism.h"
#include "core/tests/kit/objects.h"

enum {
    ARENA_BYTES = 1 << 18,
    SMALL_BYTES = 1024,
    POOLS_MAX = 6,
    WALK_EVERY = 64,
    UNIT = TAU_ALIGNMENT
};

static _Alignas(4096) unsigned char arena[ARENA_BYTES];
static struct fuzz_object objects[FUZZ_OBJECTS];
static struct tau_tlsf *heap;
static size_t pool_bytes;
static size_t pools_count;
static size_t arena_used;  // bytes of the arena that pools have

// Few sizes, so that the states are few: the smallest block, two that share a class, and two that
// need more than a third and more than half of the heap.
static const size_t few_sizes[] = {1, 2 * UNIT, 9 * UNIT, 10 * UNIT, 24 * UNIT, SMALL_BYTES / 2};

static size_t choose_size(void) {
    return explores() ? few_sizes[fuzz_choose(sizeof few_sizes / sizeof *few_sizes)]
                      : fuzz_size(pool_bytes);
}

static size_t choose_alignment(void) {
    return explores() ? 8 * UNIT : (size_t)1 << fuzz_choose(13);
}

static void *call_malloc(size_t size) {
    return tau_tlsf_malloc(heap, size);
}

static void *call_calloc(size_t count, size_t size) {
    return tau_tlsf_calloc(heap, count, size);
}

static void *call_aligned_alloc(size_t alignment, size_t size) {
    return tau_tlsf_aligned_alloc(heap, alignment, size);
}

static void *call_realloc(void *pointer, size_t size) {
    return tau_tlsf_realloc(heap, pointer, size);
}

static enum tau_status call_free(void *pointer) {
    if (!once_in(8)) {
        return tau_tlsf_free(heap, pointer);
    }
    EXPECT(tau_tlsf_realloc(heap, pointer, 0) == NULL);  // as free
    return TAU_OK;
}

static size_t call_usable_size(void *pointer) {
    EXPECT_EQUAL(tau_tlsf_check_pointer(heap, pointer), TAU_OK);
    return tau_tlsf_usable_size(heap, pointer);
}

// Right only if the largest block that is known to be free could not serve either.
static void refused(size_t size, size_t alignment) {
    const size_t needed = alignment > UNIT ? size + 2 * alignment + 8 * UNIT : size;
    const struct tau_tlsf_statistics now = tau_tlsf_statistics(heap);
    EXPECT(size == 0 || needed < size || needed > now.largest_free_bytes);
    EXPECT_EQUAL(test_port.misuse_count, 0);
}

static void expect_double_free(void *pointer) {
    if (TAU_CHECK_LEVEL >= 1) {
        EXPECT_EQUAL(tau_tlsf_free(heap, pointer), TAU_DOUBLE_FREE);
        test_port.misuse_count = 0;
    }
}

static const struct heap_calls calls = {
    .malloc = call_malloc,
    .calloc = call_calloc,
    .aligned_alloc = call_aligned_alloc,
    .realloc = call_realloc,
    .free = call_free,
    .usable_size = call_usable_size,
    .choose_size = choose_size,
    .choose_alignment = choose_alignment,
    .refused = refused,
    .expect_double_free = expect_double_free,
};

static enum tau_status use_object(void) {
    objects_call(&calls, objects, FUZZ_OBJECTS);
    return TAU_OK;
}

static enum tau_status add_pool(void) {
    if (explores()) {
        return TAU_OK;
    }
    const size_t size = fuzz_choose(pool_bytes) + 1;
    const size_t skew = fuzz_choose(64);
    if (pools_count == POOLS_MAX || arena_used + skew + size > ARENA_BYTES) {
        return TAU_OK;
    }
    const enum tau_status status = tau_tlsf_add_pool(heap, arena + arena_used + skew, size);
    EXPECT(status == TAU_OK || (status == TAU_POOL_TOO_SMALL && size < 16 * sizeof(tau_word)));
    LOG("p %lld %zu %d\n", objects_offset(arena + arena_used + skew), size, status);
    if (status == TAU_OK) {
        arena_used += skew + size;
        pools_count++;
    }
    return TAU_OK;
}

static void open_heap(void) {
    pool_bytes = explores() ? SMALL_BYTES : 1024 + fuzz_choose((size_t)1 << (1 + fuzz_choose(15)));
    const size_t skew = explores() ? 0 : fuzz_choose(64);
    memset(objects, 0, sizeof objects);
    memset(&test_port, 0, sizeof test_port);
    pools_count = 0;
    const size_t pool_max_bytes = explores() ? 0 : pool_bytes * choose(3) * 20;
    heap = tau_tlsf_init(arena + skew, pool_bytes, pool_max_bytes);
    arena_used = skew + pool_bytes;
    REQUIRE(heap != NULL);
    objects_base = arena + skew;
    LOG("I %zu %zu %zu %d %d %d %zu\n", pool_bytes, pool_max_bytes,
        tau_tlsf_statistics(heap).control_bytes, TAU_WORD_BITS, UNIT, TAU_CHECK_LEVEL,
        (size_t)objects_base);
}

static bool log_block(void *context, void *payload, size_t size_bytes, bool is_free) {
    (void)context;
    LOG(" %lld %zu %d", objects_offset(payload), size_bytes, is_free);
    return true;
}

static void log_state(void) {
    const struct tau_tlsf_statistics now = tau_tlsf_statistics(heap);
    LOG("s %zu %zu %zu %zu %zu %zu", now.used_bytes, now.peak_used_bytes, now.capacity_bytes,
        now.free_bytes, now.largest_free_bytes, (size_t)now.out_of_memory_count);
    if (choose(WALK_EVERY) == 0) {
        tau_tlsf_walk(heap, log_block, NULL);
    }
    LOG("\n");
}

static void check(void) {
    if (mechanism_log != NULL) {
        log_state();
    }
    EXPECT_EQUAL(check_tlsf(heap), 0);
    EXPECT(tau_tlsf_invariants_hold(heap));
    EXPECT_EQUAL(test_port.lock_depth, 0);
    EXPECT_EQUAL(test_port.nested_count + test_port.inside_count + test_port.outside_count, 0);
    EXPECT_EQUAL(test_port.misuse_count, 0);
}

static void close_heap(void) {
    if (!explores() && test_failures_count == 0) {
        objects_give_all_back(&calls, objects, FUZZ_OBJECTS);
        check();
        EXPECT_EQUAL(tau_tlsf_statistics(heap).used_bytes, 0);
    }
}

static void parts(void) {
    if (explores()) {
        mechanism_part(arena, SMALL_BYTES);
        mechanism_part(objects, sizeof objects);
    }
}

static bool visit(void *context, void *payload, size_t size_bytes, bool is_free) {
    uint64_t *const hash = context;
    tau_word words[3];
    memcpy(words, (unsigned char *)payload - sizeof(tau_word), sizeof words);
    *hash = mechanism_mix(*hash, (uint64_t)((unsigned char *)payload - arena));
    *hash = mechanism_mix(*hash, size_bytes * 16 + words[0] % 16);
    if (is_free) {
        *hash = mechanism_mix(mechanism_mix(*hash, words[1]), words[2]);
    }
    return true;
}

static uint64_t fingerprint(void) {
    uint64_t hash = 1;
    tau_tlsf_walk(heap, visit, &hash);
    return hash;
}

static const struct operation operations[] = {{63, use_object}, {1, add_pool}, {0, NULL}};

static struct mechanism calls_of_tlsf = {
    .name = "tlsf",
    .operations = operations,
    .calls_max = 4000,
    .check_every = 1,
    .open = open_heap,
    .check = check,
    .parts = parts,
    .close = close_heap,
    .fingerprint = fingerprint,
};

MECHANISM(calls_of_tlsf)
