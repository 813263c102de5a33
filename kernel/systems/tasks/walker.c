// Walks pages of its heap: the paper's synthetic task [P4-16, P4-18].
//
// Arguments: objects, their bytes, how many of them are walked, which ones, and walks of a job.
// Which ones: 0, the first; any other number, a random choice of its own, by the seed of the run.
// The warm-up allocates the objects and walks once. A job also uses its stack and its globals.
#include "kernel/systems/tasks/random_choice.h"
#include "kernel/tasks/task.h"

enum { OBJECTS_MAX = 64 };
enum { ARGUMENT_OBJECTS, ARGUMENT_BYTES, ARGUMENT_WALKED, ARGUMENT_CHOICE, ARGUMENT_WALKS };

static void *objects[OBJECTS_MAX];

static void walk(uint32_t walks, uint32_t count) {
    for (uint32_t turn = 0; turn < walks; turn++) {  // bound: the argument
        for (uint32_t i = 0; i < count; i++) {       // bound: the objects
            *(volatile uint32_t *)objects[i] = turn;
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
        uint32_t state = arguments[ARGUMENT_CHOICE] << 16 | task->seed;
        for (uint32_t i = 0; i < walked; i++) {  // bound: the objects
            state = choose(objects, total, i, state);
        }
    }
    walk(1, walked);
    volatile uint32_t jobs_count = 0;  // so that each job uses its stack
    for (;;) {                         // bound: the run
        tau_task_wait(jobs_count);
        jobs_count++;
        walk(arguments[ARGUMENT_WALKS], walked);
    }
}
