// Numbers spread over objects of a task's heap, each in a page of its own, and the task around a
// benchmark: warm-up, then a job again and again.
//
// Arguments: objects, their bytes, how many of them hold numbers, the seed that chooses these (0:
// the first ones), how often a job repeats its work, and the numbers in an object, as a power of
// two. The value of a job is what its work came to, to be compared with a model.
#ifndef TAU_TLB_PAGED_ARRAY_H
#define TAU_TLB_PAGED_ARRAY_H

#include "kernel/systems/tasks/random_choice.h"
#include "kernel/tasks/task.h"
#ifdef PAGED_NOTES  // where the bound of a job is asked for: they cost cycles
#include "kernel/tasks/loops.h"
#else
#define TAU_LOOP(name, rounds_max)
#define TAU_ROUND(name)
#endif

enum { PAGED_OBJECTS_MAX = 64 };
enum {
    PAGED_OBJECTS,
    PAGED_OBJECT_BYTES,
    PAGED_USED,
    PAGED_SEED,
    PAGED_REPEATS,
    PAGED_NUMBERS_LOG2
};

struct paged_array {
    void *objects[PAGED_OBJECTS_MAX];
    uint32_t log2;  // numbers in an object
    uint32_t count;
};

// The benchmark: its work on the numbers of ARRAY, once.
static uint32_t work(const struct paged_array *array);

static inline int32_t *at(const struct paged_array *array, uint32_t index) {
    int32_t *const numbers = array->objects[index >> array->log2];
    return &numbers[index & ((1u << array->log2) - 1)];
}

// Fills the array with numbers of -2^15 up to 2^15 - 1, the same ones each time.
static inline void fill(const struct paged_array *array) {
    uint32_t state = 1;
    TAU_LOOP(fill, 0);
    for (uint32_t i = 0; i < array->count; i++) {  // bound: the numbers
        TAU_ROUND(fill);
        state = next_random(state);
#ifdef PAGED_FALLING  // the input for which sorts take longest
        *at(array, i) = -(int32_t)i;
#else
        *at(array, i) = (int32_t)(state >> 16) - 32768;
#endif
    }
}

// A checksum in which the place of a number matters.
static inline uint32_t checksum(const struct paged_array *array) {
    uint32_t sum = 0;
    TAU_LOOP(checksum, 0);
    for (uint32_t i = 0; i < array->count; i++) {  // bound: the numbers
        TAU_ROUND(checksum);
        sum = sum * 31 + (uint32_t)*at(array, i);
    }
    return sum;
}

static bool paged_allocate(struct paged_array *array, struct tau_task *task) {
    const uint32_t *const arguments = task->arguments;
    const uint32_t total = arguments[PAGED_OBJECTS];
    const uint32_t used = arguments[PAGED_USED];
    if (total > PAGED_OBJECTS_MAX || used > total ||
        arguments[PAGED_OBJECT_BYTES] >> arguments[PAGED_NUMBERS_LOG2] < sizeof(int32_t)) {
        return false;
    }
    for (uint32_t i = 0; i < total; i++) {  // bound: the objects
        array->objects[i] = tau_tlb_color_malloc(task->heap, arguments[PAGED_OBJECT_BYTES]);
        if (array->objects[i] == NULL) {
            return false;
        }
    }
    uint32_t state = arguments[PAGED_SEED];
    for (uint32_t i = 0; state != 0 && i < used; i++) {  // bound: the objects
        state = choose(array->objects, total, i, state);
    }
    array->log2 = arguments[PAGED_NUMBERS_LOG2];
    array->count = used << array->log2;
    return true;
}

void tau_task_main(struct tau_task *task) {
    static struct paged_array array;
    if (!paged_allocate(&array, task)) {
        return;
    }
    fill(&array);
    uint32_t value = work(&array);
    for (;;) {
        tau_task_wait(value);
        TAU_LOOP(turns, 0);
        for (uint32_t turn = 0; turn < task->arguments[PAGED_REPEATS]; turn++) {  // bound: that
            TAU_ROUND(turns);
            fill(&array);
            value = work(&array);
        }
    }
}

#endif
