// Walks pages of its heap: the paper's synthetic task [P4-16, P4-18].
//
// Arguments: objects, their bytes, how many of them are walked, which ones, and walks of a job.
// Which ones: 0, the first; any other number, a random choice of its own, by the seed of the run.
// The warm-up allocates the objects and walks once. A job also uses its stack and its globals.
#include "kernel/tasks/task.h"

enum { OBJECTS_MAX = 64 };
enum { ARGUMENT_OBJECTS, ARGUMENT_BYTES, ARGUMENT_WALKED, ARGUMENT_CHOICE, ARGUMENT_WALKS };

static volatile uint32_t *objects[OBJECTS_MAX];

// Steps of a generator of Marsaglia's; never 0.
static uint32_t next_random(uint32_t state) {
    state ^= state << 13;
    state ^= state >> 17;
    return state ^ state << 5;
}

// Moves COUNT random ones of TOTAL objects to the front.
static void choose(uint32_t total, uint32_t count, uint32_t seed) {
    uint32_t state = seed;
    for (uint32_t i = 0; i < count; i++) {  // bound: the objects
        state = next_random(state);
        const uint32_t other = i + state % (total - i);
        volatile uint32_t *const object = objects[i];
        objects[i] = objects[other];
        objects[other] = object;
    }
}

static void walk(uint32_t walks, uint32_t count) {
    for (uint32_t turn = 0; turn < walks; turn++) {  // bound: the argument
        for (uint32_t i = 0; i < count; i++) {       // bound: the objects
            *objects[i] = turn;
        }
    }
}

void tau_task_main(struct tau_task *task) {
    const uint32_t *const arguments = task->arguments;
    const uint32_t total = arguments[ARGUMENT_OBJECTS];
    const uint32_t walked = arguments[ARGUMENT_WALKED];
    if (total > OBJECTS_MAX || walked > total) {
        return;
    }
    for (uint32_t i = 0; i < total; i++) {  // bound: the objects
        objects[i] = tau_tlb_color_malloc(task->heap, arguments[ARGUMENT_BYTES]);
        if (objects[i] == NULL) {
            return;
        }
    }
    if (arguments[ARGUMENT_CHOICE] != 0) {
        choose(total, walked, arguments[ARGUMENT_CHOICE] << 16 | task->seed);
    }
    walk(1, walked);
    volatile uint32_t jobs_count = 0;  // so that each job uses its stack
    for (;;) {                         // bound: the run
        tau_task_wait(jobs_count);
        jobs_count++;
        walk(arguments[ARGUMENT_WALKS], walked);
    }
}
