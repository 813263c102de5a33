#include "linux/runtime/colors/heaps.h"

#include <string.h>

#include "linux/runtime/colors/partition.h"
#include "linux/runtime/heap.h"
#include "linux/runtime/high_water.h"
#include "linux/runtime/report.h"

const char *tau_colors_find_heaps(void) {
    for (size_t index = 0; index < tau_colors.tasks_count; index++) {
        struct tau_colors_task *const task = &tau_colors.tasks[index];
        const struct tau_tlb_color_window *const window = task->principal->windows;
        if (task->heap_pages == 0) {
            continue;
        }
        const size_t words =
            TAU_TLB_COLOR_WORDS((size_t)1 << (window->size_log2 - window->page_log2));
        uint32_t *const bits = tau_colors_table(words);
        if (bits == NULL) {
            return "the system gives no memory for the tables of pages";
        }
        switch (tau_tlb_color_init(&task->heap, tau_colors.partition, (uint32_t)index, 0, bits,
                                   words)) {
        case TAU_OK:
            break;
        case TAU_WINDOW_FULL:
            return "a task's window has too few pages that need its TLB sets only";
        case TAU_WAYS_EXCEEDED:
            return "a task's heap has more live entries in a TLB set than its safe ways";
        default:
            return "the settings' tasks are damaged";
        }
    }
    return NULL;
}

const char *tau_colors_start_heaps(void) {
    for (size_t index = 0; index < tau_colors.tasks_count; index++) {
        struct tau_colors_task *const task = &tau_colors.tasks[index];
        if (task->heap_pages != 0 && tau_tlb_color_start(&task->heap) != TAU_OK) {
            return "a task's smallest run of pages is too small for its heap";
        }
    }
    return NULL;
}

static __attribute__((noinline, cold)) void *spill(struct tau_colors_task *task, size_t alignment,
                                                   size_t size_bytes, uintptr_t site) {
    if (tau_colors.is_strict) {
        return tau_heap_refuse(size_bytes, site, false);
    }
    void *const pointer = tau_heap_spill_over(alignment, size_bytes, site);
    task->spilled_objects += pointer != NULL;
    return pointer;
}

static __attribute__((noinline, cold)) void *
spill_new(struct tau_colors_task *task, size_t alignment, size_t size_bytes, uintptr_t site) {
    void *const pointer = spill(task, alignment, size_bytes, site);
    task->objects -= pointer == NULL;
    return pointer;
}

void *tau_colors_allocate(struct tau_colors_task *task, size_t alignment, size_t size_bytes,
                          uintptr_t site) {
    void *pointer = NULL;
    task->objects++;
    if (task->heap_pages != 0) {
        pointer = alignment <= 16 ? tau_tlb_color_malloc(&task->heap, size_bytes)
                                  : tau_tlb_color_aligned_alloc(&task->heap, alignment, size_bytes);
    }
    tau_high_water_latest.object = 0;  // a task's objects are always cleared
    return pointer != NULL ? pointer : spill_new(task, alignment, size_bytes, site);
}

// The task whose heap POINTER must be of. An address of a window without a heap is not an object.
static struct tau_colors_task *owner_of(const void *pointer) {
    struct tau_colors_task *const task = tau_colors_task_at((uintptr_t)pointer);
    if (task != NULL && task->heap_pages == 0) {
        tau_report_stop(pointer, TAU_FOREIGN_POINTER);
    }
    return task;
}

bool tau_colors_free(void *pointer) {
    struct tau_colors_task *const task = owner_of(pointer);
    if (task == NULL) {
        return false;
    }
    (void)tau_tlb_color_free(&task->heap, pointer);
    return true;
}

void *tau_colors_resize(void *pointer, size_t size_bytes, uintptr_t site) {
    struct tau_colors_task *const task = owner_of(pointer);
    void *moved = tau_tlb_color_realloc(&task->heap, pointer, size_bytes);
    if (moved == NULL) {
        const size_t old_bytes = tau_tlb_color_usable_size(&task->heap, pointer);
        moved = spill(task, 16, size_bytes, site);
        if (moved != NULL) {
            memcpy(moved, pointer, old_bytes < size_bytes ? old_bytes : size_bytes);
            (void)tau_tlb_color_free(&task->heap, pointer);
        }
    }
    return moved;
}

size_t tau_colors_usable(const void *pointer) {
    const struct tau_colors_task *const task = tau_colors_task_at((uintptr_t)pointer);
    return task != NULL && task->heap_pages != 0 ? tau_tlb_color_usable_size(&task->heap, pointer)
                                                 : 0;
}
