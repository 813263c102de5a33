#include "linux/runtime/colors/partition.h"

#include <stddef.h>

#include "linux/interpose/machine.h"
#include "linux/runtime/colors/heaps.h"
#include "linux/runtime/heap.h"

// The high-water marks tell two heaps apart: below the spill heap, and from it on.
static const char *check_order(void) {
    const struct tau_colors_task *const last = &tau_colors.tasks[tau_colors.tasks_count - 1];
    return last->window_start + last->window_bytes <= tau_heap.spill_start
               ? NULL
               : "a task's window lies above the spill heap; plan with a [window] at lower "
                 "addresses";
}

const char *tau_colors_start(const char *text) {
    if (TAU_MACHINE_ABI != TAU_ABI_NUMBER_X86_64) {
        return "tasks in TLB sets are served on x86-64 only";
    }
    const char *failure = tau_colors_read(text);
    failure = failure != NULL ? failure : check_order();
    failure = failure != NULL ? failure : tau_colors_find_heaps();
    failure = failure != NULL ? failure : tau_colors_map();
    failure = failure != NULL ? failure : tau_colors_check_pages();
    return failure != NULL ? failure : tau_colors_start_heaps();
}
