// Goal: no sequence of legal calls breaks a TLSF heap. Method: programs made of random numbers (or
// of a fuzzer's bytes) run on heaps of random shape; after each call a full walk, the contents of
// every object touched, and the promises that a caller can see.
//
// Usage: fuzz_tlsf SEED CALLS. Built with -DTAU_FUZZER it is a libFuzzer target instead.
#include "core/tests/heap/tlsf_heap.h"
#include "core/tests/kit/fuzz.h"

enum { ARENA_BYTES = 1 << 18, CALLS_A_PROGRAM_MAX = 4000, POOLS_MAX = 6, UNIT = TAU_ALIGNMENT };

struct program {
    struct tau_tlsf *heap;
    struct fuzz_object objects[FUZZ_OBJECTS];
    size_t pool_bytes;
    size_t pools_count;
    size_t arena_used;  // bytes of the arena that pools have
};

static _Alignas(4096) unsigned char arena[ARENA_BYTES];

static void refused(const struct program *program, size_t size, size_t alignment) {
    // A refusal is right only if the largest block that is known to be free could not serve either.
    size_t needed = alignment > UNIT ? size + 2 * alignment + 8 * UNIT : size;
    struct tau_tlsf_statistics now = tau_tlsf_statistics(program->heap);
    EXPECT(size == 0 || needed < size || needed > now.largest_free_bytes);
    EXPECT_EQUAL(test_port.misuse_count, 0);
}

static void allocate(struct program *program, struct fuzz_object *object) {
    size_t size = fuzz_size(program->pool_bytes);
    size_t alignment = UNIT;
    size_t kind = fuzz_choose(8);
    if (kind == 0) {
        alignment = (size_t)1 << fuzz_choose(13);
        object->bytes = tau_tlsf_aligned_alloc(program->heap, alignment, size);
    } else if (kind == 1) {
        object->bytes = tau_tlsf_calloc(program->heap, 1, size);
        EXPECT(object->bytes == NULL || all_bytes_are(object->bytes, size, 0));
    } else if (kind == 2) {
        object->bytes = tau_tlsf_realloc(program->heap, NULL, size);
    } else {
        object->bytes = tau_tlsf_malloc(program->heap, size);
    }
    if (object->bytes == NULL) {
        refused(program, size, alignment);
        return;
    }
    fuzz_begin(object, tau_tlsf_usable_size(program->heap, object->bytes), size, alignment);
    EXPECT_EQUAL(tau_tlsf_check_pointer(program->heap, object->bytes), TAU_OK);
}

static void give_back(struct program *program, struct fuzz_object *object) {
    unsigned char *bytes = object->bytes;
    fuzz_expect_intact(object, object->size);
    if (fuzz_choose(8) == 0) {
        EXPECT(tau_tlsf_realloc(program->heap, bytes, 0) == NULL);
    } else {
        EXPECT_EQUAL(tau_tlsf_free(program->heap, bytes), TAU_OK);
    }
    object->bytes = NULL;
    if (TAU_CHECK_LEVEL >= 1) {
        EXPECT_EQUAL(tau_tlsf_free(program->heap, bytes), TAU_DOUBLE_FREE);
        test_port.misuse_count = 0;
    }
}

static void resize(struct program *program, struct fuzz_object *object) {
    size_t size = fuzz_size(program->pool_bytes);
    if (size == 0) {
        return;
    }
    fuzz_expect_intact(object, object->size);
    unsigned char *moved = tau_tlsf_realloc(program->heap, object->bytes, size);
    if (moved == NULL) {
        refused(program, size, object->alignment);
        EXPECT(size > object->size);
        return;
    }
    object->bytes = moved;
    fuzz_expect_intact(object, size < object->size ? size : object->size);
    fuzz_begin(object, tau_tlsf_usable_size(program->heap, moved), size, object->alignment);
}

static void grow(struct program *program) {
    size_t size = fuzz_choose(program->pool_bytes) + 1;
    size_t skew = fuzz_choose(64);
    if (program->pools_count == POOLS_MAX || program->arena_used + skew + size > ARENA_BYTES) {
        return;
    }
    unsigned char *memory = arena + program->arena_used + skew;
    enum tau_status status = tau_tlsf_add_pool(program->heap, memory, size);
    EXPECT(status == TAU_OK || (status == TAU_POOL_TOO_SMALL && size < 8 * UNIT));
    if (status == TAU_OK) {
        program->arena_used += skew + size;
        program->pools_count++;
    }
}

static void expect_all_sound(const struct program *program) {
    EXPECT_EQUAL(check_tlsf(program->heap), 0);
    EXPECT(tau_tlsf_invariants_hold(program->heap));
    EXPECT_EQUAL(test_port.lock_depth, 0);
    EXPECT_EQUAL(test_port.nested_count + test_port.inside_count + test_port.outside_count +
                     test_port.misuse_count,
                 0);
}

// One program. Returns its number of calls.
static size_t run_program(void) {
    struct program program = {.pool_bytes = 1024 + fuzz_choose((size_t)1 << (1 + fuzz_choose(15)))};
    size_t skew = fuzz_choose(64);
    size_t calls_max = 1 + fuzz_choose(CALLS_A_PROGRAM_MAX);
    size_t calls = 0;
    memset(&test_port, 0, sizeof test_port);
    program.heap = tau_tlsf_init(arena + skew, program.pool_bytes, 0);
    program.arena_used = skew + program.pool_bytes;
    REQUIRE(program.heap != NULL);
    expect_all_sound(&program);
    for (; calls < calls_max && !fuzz_is_over(); calls++) {
        struct fuzz_object *object = &program.objects[fuzz_choose(FUZZ_OBJECTS)];
        size_t kind = fuzz_choose(64);
        if (kind == 0) {
            grow(&program);
        } else if (object->bytes == NULL) {
            allocate(&program, object);
        } else if (kind < 24) {
            resize(&program, object);
        } else {
            give_back(&program, object);
        }
        expect_all_sound(&program);
        if (test_failures_count > 0) {
            return calls;
        }
    }
    for (size_t i = 0; i < FUZZ_OBJECTS; i++) {
        if (program.objects[i].bytes != NULL) {
            give_back(&program, &program.objects[i]);
            expect_all_sound(&program);
        }
    }
    EXPECT_EQUAL(tau_tlsf_statistics(program.heap).used_bytes, 0);
    return calls;
}

FUZZ_MAIN(run_program)
