// Frees, asks and resizes pointers that are not its own, and reports each answer in a byte.
//
// Argument: how far the heap of another task, which does the same, is from its own.
#include "kernel/tasks/task.h"

static uint32_t answers(struct tau_tlb_color *heap, uintptr_t distance) {
    int on_stack = 0;
    void *const object = tau_tlb_color_malloc(heap, 100);
    void *const others = (void *)((uintptr_t)object + distance);
    const uint32_t foreign = tau_tlb_color_free(heap, &on_stack);
    const uint32_t other = tau_tlb_color_free(heap, others);
    const uint32_t touched = (tau_tlb_color_usable_size(heap, others) != 0) |
                             (tau_tlb_color_realloc(heap, others, 200) != NULL) << 1 |
                             (tau_tlb_color_malloc(heap, heap->object_max_bytes + 1) != NULL) << 2;
    const uint32_t freed = tau_tlb_color_free(heap, object);
    const uint32_t doubled = tau_tlb_color_free(heap, object);
    return foreign | other << 8 | doubled << 16 | (freed << 4 | touched) << 24;
}

void tau_task_main(struct tau_task *task) {
    for (;;) {  // bound: the run
        tau_task_wait(answers(task->heap, task->arguments[0]));
    }
}
