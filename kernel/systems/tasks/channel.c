// A task that sends random bits by its TLB entries, or one that receives them.
//
// Arguments: 1 sends and 0 receives; objects of a page each. A job that sends a 1 touches them all,
// one that sends a 0 none; its value is the bit. A job that receives touches all of them.
#include "kernel/systems/tasks/random_choice.h"
#include "kernel/tasks/task.h"

enum { OBJECTS_MAX = 64, OBJECT_BYTES = 3000 };
enum { ARGUMENT_SENDS, ARGUMENT_OBJECTS };

static volatile uint32_t *objects[OBJECTS_MAX];

static void touch(uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {  // bound: the objects
        *objects[i] += i;
    }
}

void tau_task_main(struct tau_task *task) {
    const uint32_t total = task->arguments[ARGUMENT_OBJECTS];
    const uint32_t sends = task->arguments[ARGUMENT_SENDS];
    if (total > OBJECTS_MAX) {
        return;
    }
    for (uint32_t i = 0; i < total; i++) {  // bound: the objects
        objects[i] = tau_tlb_color_malloc(task->heap, OBJECT_BYTES);
        if (objects[i] == NULL) {
            return;
        }
    }
    touch(total);
    uint32_t state = next_random(task->seed ^ 0x9E3779B9);
    uint32_t bit = 0;
    for (;;) {  // bound: the run
        tau_task_wait(bit);
        state = next_random(state);
        bit = sends & state >> 16;
        if (sends == 0 || bit != 0) {
            touch(total);
        }
    }
}
