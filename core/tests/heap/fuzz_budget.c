// Goal: no sequence of legal calls breaks a budgeted heap. Method: random plans and random
// programs, most of whose sizes have a class; after each call a full walk, the contents of every
// object touched, and where it lies.
//
// Usage: fuzz_budget SEED CALLS. Built with -DTAU_FUZZER it is a libFuzzer target instead.
#include "core/tests/heap/budget_heap.h"
#include "core/tests/kit/fuzz.h"

enum { ARENA_BYTES = 1 << 18, CALLS_A_PROGRAM_MAX = 2000, CLASSES_MAX = 12, UNIT = TAU_ALIGNMENT };

struct program {
    struct tau_budget *heap;
    struct tau_budget_class plan[CLASSES_MAX];
    size_t classes_count;
    size_t shared_bytes;
    struct fuzz_object objects[FUZZ_OBJECTS];
};

static _Alignas(4096) unsigned char arena[ARENA_BYTES];

static void choose_plan(struct program *program) {
    uint32_t key = 0;
    program->classes_count = fuzz_choose(CLASSES_MAX + 1);
    for (size_t i = 0; i < program->classes_count; i++) {
        key += 1 + (uint32_t)fuzz_choose(9);
        program->plan[i].size_bytes = key * UNIT - (uint32_t)fuzz_choose(UNIT);
        program->plan[i].count = 1 + (uint32_t)fuzz_choose(10);
    }
    program->shared_bytes = fuzz_choose(4) == 0 ? fuzz_choose(300) : 1024 + fuzz_choose(8192);
}

// Mostly a size of the plan, or just beside it.
static size_t choose_size(const struct program *program) {
    if (program->classes_count == 0 || fuzz_choose(4) == 0) {
        return fuzz_size(program->shared_bytes + 1);
    }
    return program->plan[fuzz_choose(program->classes_count)].size_bytes + fuzz_choose(3) - 1;
}

// The plan's pair for SIZE, or NULL. *INDEX is its place in the plan.
static const struct tau_budget_class *class_for(const struct program *program, size_t size,
                                                size_t *index) {
    for (size_t i = 0; i < program->classes_count; i++) {
        size_t rounded = (program->plan[i].size_bytes + UNIT - 1u) / UNIT * UNIT;
        if (size <= rounded && size + UNIT > rounded) {
            *index = i;
            return &program->plan[i];
        }
    }
    return NULL;
}

static size_t used_of(const struct program *program, size_t index) {
    return tau_budget_class_statistics(program->heap, index).used_count;
}

static void allocate(struct program *program, struct fuzz_object *object) {
    size_t size = choose_size(program);
    size_t alignment = UNIT;
    size_t index = 0;
    const struct tau_budget_class *class = class_for(program, size, &index);
    bool had_bucket = size > 0 && class != NULL && used_of(program, index) < class->count;
    size_t kind = fuzz_choose(8);
    if (kind == 0) {
        alignment = (size_t)1 << fuzz_choose(9);
        object->bytes = tau_budget_aligned_alloc(program->heap, alignment, size);
        had_bucket = had_bucket && alignment <= UNIT;
    } else if (kind == 1) {
        object->bytes = tau_budget_calloc(program->heap, 1, size);
        EXPECT(object->bytes == NULL || all_bytes_are(object->bytes, size, 0));
    } else if (kind == 2) {
        object->bytes = tau_budget_realloc(program->heap, NULL, size);
    } else {
        object->bytes = tau_budget_malloc(program->heap, size);
    }
    if (object->bytes != NULL) {
        size_t usable = tau_budget_usable_size(program->heap, object->bytes);
        fuzz_begin(object, usable, size, alignment);
        EXPECT(!had_bucket || usable < size + UNIT);
    } else {
        EXPECT(!had_bucket);
    }
}

static void give_back(struct program *program, struct fuzz_object *object) {
    unsigned char *bytes = object->bytes;
    fuzz_expect_intact(object, object->size);
    EXPECT_EQUAL(tau_budget_free(program->heap, bytes), TAU_OK);
    object->bytes = NULL;
    if (TAU_CHECK_LEVEL >= 1) {
        EXPECT_EQUAL(tau_budget_free(program->heap, bytes), TAU_DOUBLE_FREE);
        test_port.misuse_count = 0;
    }
}

static void resize(struct program *program, struct fuzz_object *object) {
    size_t size = choose_size(program);
    if (size == 0) {
        return;
    }
    fuzz_expect_intact(object, object->size);
    unsigned char *moved = tau_budget_realloc(program->heap, object->bytes, size);
    if (moved == NULL) {
        EXPECT(size > object->size);
        return;
    }
    object->bytes = moved;
    fuzz_expect_intact(object, size < object->size ? size : object->size);
    fuzz_begin(object, tau_budget_usable_size(program->heap, moved), size, object->alignment);
}

static void expect_all_sound(const struct program *program) {
    EXPECT_EQUAL(check_budget(program->heap), 0);
    EXPECT(tau_budget_invariants_hold(program->heap));
    EXPECT_EQUAL(test_port.lock_depth + test_port.nested_count + test_port.inside_count, 0);
    EXPECT_EQUAL(test_port.outside_count + test_port.misuse_count, 0);
}

// One program. Returns its number of calls.
static size_t run_program(void) {
    struct program program = {.heap = NULL};
    size_t calls_max = 1 + fuzz_choose(CALLS_A_PROGRAM_MAX);
    size_t calls = 0;
    choose_plan(&program);
    memset(&test_port, 0, sizeof test_port);
    size_t needed = tau_budget_size(program.plan, program.classes_count, program.shared_bytes);
    REQUIRE(needed != 0 && needed <= ARENA_BYTES);
    enum tau_status status =
        tau_budget_init(&program.heap, arena, needed, program.plan, program.classes_count);
    REQUIRE(status == TAU_OK);
    for (; calls < calls_max && !fuzz_is_over() && test_failures_count == 0; calls++) {
        struct fuzz_object *object = &program.objects[fuzz_choose(FUZZ_OBJECTS)];
        if (object->bytes == NULL) {
            allocate(&program, object);
        } else if (fuzz_choose(3) == 0) {
            resize(&program, object);
        } else {
            give_back(&program, object);
        }
        expect_all_sound(&program);
    }
    for (size_t i = 0; i < FUZZ_OBJECTS && test_failures_count == 0; i++) {
        if (program.objects[i].bytes != NULL) {
            give_back(&program, &program.objects[i]);
            expect_all_sound(&program);
        }
    }
    for (size_t i = 0; i < program.classes_count; i++) {
        EXPECT_EQUAL(used_of(&program, i), 0);
    }
    EXPECT_EQUAL(tau_budget_statistics(program.heap).shared.used_bytes, 0);
    return calls;
}

FUZZ_MAIN(run_program)
