// A neighbor that does what could disturb others: it walks all its pages, and tries what is theirs.
//
// Arguments: a seed, objects of a page each, how many addresses follow, and these: pages of others.
// Every second job tries one of them, or any other address of the window, by a load, a store or a
// fetch. The kernel stops it for that, and starts it again. The value of a job is how many pages of
// others it has reached.
#include "kernel/systems/tasks/random_choice.h"
#include "kernel/tasks/task.h"

enum { OBJECTS_MAX = 64, OBJECT_BYTES = 3000, PAGE_LOG2 = 12, OTHERS_EACH = 2 };
enum { ARGUMENT_SEED, ARGUMENT_OBJECTS, ARGUMENT_ADDRESSES, ARGUMENT_ADDRESS };

static volatile uint32_t *objects[OBJECTS_MAX];
static uint32_t state;
static uint32_t reached_count;

static void try_others(const uint32_t *arguments) {
    const uint32_t count = arguments[ARGUMENT_ADDRESSES];
    state = next_random(state);
    uintptr_t address = 0x80000000 | (state & 0x3FFFFFFC);
    const uint32_t is_others = count != 0 && (state >> 30) != 0;
    if (is_others) {
        address = arguments[ARGUMENT_ADDRESS + (state >> 8) % count] | (state & 0xFFC);
    }
    volatile uint32_t *const word = (volatile uint32_t *)address;
    switch ((state >> 20) % 3) {
    case 0:
        state ^= *word;
        break;
    case 1:
        *word = state;
        break;
    default:
        ((void (*)(void))address)();
    }
    reached_count += is_others;
}

void tau_task_main(struct tau_task *task) {
    const uint32_t *const arguments = task->arguments;
    const uint32_t total = arguments[ARGUMENT_OBJECTS];
    if (total > OBJECTS_MAX) {
        return;
    }
    for (uint32_t i = 0; i < total && objects[i] == NULL; i++) {  // bound: the objects
        objects[i] = tau_tlb_color_malloc(task->heap, OBJECT_BYTES);
        if (objects[i] == NULL) {
            return;
        }
    }
    state = next_random(state ^ arguments[ARGUMENT_SEED] ^ 0x9E3779B9);
    for (uint32_t job = 1;; job++) {  // bound: the run
        tau_task_wait(reached_count);
        state = next_random(state);
        for (uint32_t i = 0; i < total; i++) {  // bound: the objects
            *objects[(i + state) % total] += i;
        }
        if (job % OTHERS_EACH == 0) {
            try_others(arguments);
        }
    }
}
