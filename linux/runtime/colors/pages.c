#include "linux/runtime/colors/partition.h"

#include <errno.h>
#include <sys/mman.h>

#include "linux/runtime/colors/maps.h"

#define MAPPED_MAX 1024u

// Earlier mappings in windows: parts of the executable.
static struct tau_mapping mapped[MAPPED_MAX];
static size_t mapped_count;

static const char *find_mapped(void) {
    static struct tau_maps maps;
    struct tau_mapping found;
    if (!tau_maps_open(&maps)) {
        return "/proc/self/maps cannot be read";
    }
    const char *failure = NULL;
    while (failure == NULL && tau_maps_next(&maps, &found)) {
        const struct tau_colors_task *const first = tau_colors_task_at(found.start);
        const struct tau_colors_task *const last = tau_colors_task_at(found.end - 1);
        if (first != last || mapped_count == MAPPED_MAX) {
            failure = "something is mapped across the border of a task's window";
        } else if (first != NULL) {
            mapped[mapped_count++] = found;
        }
    }
    tau_maps_close(&maps);
    return failure;
}

static bool reserve(uintptr_t start, uintptr_t end) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    if (start == end) {
        return true;
    }
    void *const found = mmap((void *)start, end - start, PROT_NONE, flags, -1, 0);
    if (found != MAP_FAILED && found != (void *)start) {  // a kernel that does not know the flag
        munmap(found, end - start);
        return false;
    }
    if (found == MAP_FAILED) {
        return false;
    }
    (void)madvise(found, end - start, MADV_NOHUGEPAGE);
    return true;
}

// The parts of a window that are not mapped yet.
static bool reserve_window(const struct tau_colors_task *task) {
    uintptr_t at = task->window_start;
    const uintptr_t end = at + task->window_bytes;
    for (size_t index = 0; index < mapped_count; index++) {
        if (mapped[index].start >= at && mapped[index].start < end) {
            if (!reserve(at, mapped[index].start)) {
                return false;
            }
            at = mapped[index].end;
        }
    }
    return reserve(at, end);
}

// Makes reserved pages ours, and there: nobody waits for a page fault later.
static bool open_run(uintptr_t start, size_t size_bytes) {
    if (mprotect((void *)start, size_bytes, PROT_READ | PROT_WRITE) != 0) {
        return false;
    }
    const size_t page_bytes = (size_t)1 << tau_colors.partition->geometry->page_log2;
    for (size_t offset = 0; offset < size_bytes; offset += page_bytes) {
        *(volatile char *)(start + offset) = 0;
    }
    return true;
}

static bool open_runs(const struct tau_colors_task *task) {
    const struct tau_tlb_color_part *const stack = tau_colors_stack_of(task);
    struct tau_tlb_color_run run = {0, 0};
    while (task->heap_pages != 0 && tau_tlb_color_next_run(&task->heap, &run)) {
        if (!open_run(run.start, run.size_bytes)) {
            return false;
        }
    }
    return stack == NULL || open_run(stack->start, stack->size_bytes);
}

const char *tau_colors_map(void) {
    const char *const failure = find_mapped();
    if (failure != NULL) {
        return failure;
    }
    for (size_t index = 0; index < tau_colors.tasks_count; index++) {
        if (!reserve_window(&tau_colors.tasks[index])) {
            return errno == ENOMEM ? "the system gives no addresses for a task's window"
                                   : "the addresses of a task's window are not free";
        }
        if (!open_runs(&tau_colors.tasks[index])) {
            return "the system gives no memory for a task's pages (see vm.max_map_count)";
        }
    }
    return NULL;
}
