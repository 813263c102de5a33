// Touches pages of one large object at a stride, so that a counter of misses shows a TLB's shape
// (the paper's Algorithm 1 with exact counts) [P4-5, P4-11].
//
// Arguments: bytes of the object, rounds of a job, strides in pages and pages of one stride that
// are tried one job after the other (0: all of both, up to 2^STRIDES_LOG2_MAX and PAGES_MAX). The
// value of a job: stride in the upper half, pages in the lower half.
#include "kernel/tasks/task.h"

enum { OBJECT_BYTES, ROUNDS, STRIDE, PAGES };
enum { PAGE_BYTES = 4096, PAGES_MAX = 6, STRIDES_LOG2_MAX = 5 };

static void touch(volatile uint8_t *object, uint32_t stride, uint32_t pages, uint32_t rounds) {
    for (uint32_t round = 0; round < rounds; round++) {  // bound: the argument
        for (uint32_t page = 0; page < pages; page++) {  // bound: the pages
            object[page * stride * PAGE_BYTES] = (uint8_t)round;
        }
    }
}

void tau_task_main(struct tau_task *task) {
    const uint32_t *const arguments = task->arguments;
    uint8_t *const object = tau_tlb_color_malloc(task->heap, arguments[OBJECT_BYTES]);
    if (object == NULL) {
        return;
    }
    for (;;) {
        for (uint32_t log2 = 0; log2 <= STRIDES_LOG2_MAX; log2++) {  // bound: the strides
            for (uint32_t count = 1; count <= PAGES_MAX; count++) {  // bound: the pages
                const uint32_t stride = arguments[STRIDE] != 0 ? arguments[STRIDE] : 1u << log2;
                const uint32_t pages = arguments[PAGES] != 0 ? arguments[PAGES] : count;
                if ((pages - 1) * stride * PAGE_BYTES >= arguments[OBJECT_BYTES]) {
                    continue;
                }
                touch(object, stride, pages, arguments[ROUNDS]);
                tau_task_wait(stride << 16 | pages);
            }
        }
    }
}
