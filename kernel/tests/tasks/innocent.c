// Fills its globals, its stack and objects of its heap once, and in each job adds up the words that
// are no longer as they were.
//
// Arguments: objects, their bytes.
#include "kernel/tasks/task.h"

enum { OBJECTS_MAX = 8, WORDS = 16 };

static uint32_t *objects[OBJECTS_MAX];
static uint32_t globals[WORDS];

static void fill(volatile uint32_t *words, uint32_t first) {
    for (uint32_t i = 0; i < WORDS; i++) {  // bound: WORDS
        words[i] = first + i * 0x01010101u;
    }
}

static uint32_t changed(const volatile uint32_t *words, uint32_t first) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < WORDS; i++) {  // bound: WORDS
        count += words[i] != first + i * 0x01010101u;
    }
    return count;
}

void tau_task_main(struct tau_task *task) {
    volatile uint32_t on_stack[WORDS];
    const uint32_t count = task->arguments[0];
    for (uint32_t i = 0; i < count; i++) {  // bound: the objects
        objects[i] = tau_tlb_color_malloc(task->heap, task->arguments[1]);
        if (objects[i] == NULL) {
            return;
        }
        fill(objects[i], i);
    }
    fill(globals, 100);
    fill(on_stack, 200);
    for (;;) {  // bound: the run
        uint32_t changed_count = changed(globals, 100) + changed(on_stack, 200);
        for (uint32_t i = 0; i < count; i++) {  // bound: the objects
            changed_count += changed(objects[i], i);
        }
        tau_task_wait(changed_count);
    }
}
