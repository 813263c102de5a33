#include "linux/runtime/colors/partition.h"

#include <string.h>
#include <sys/mman.h>

#include "linux/runtime/settings.h"

#define DAMAGED "the settings' tasks are damaged"
#define CHUNK_BYTES ((size_t)1 << 18)  // tables grow by this

struct tau_colors tau_colors;

static struct tau_colors_task tasks[TAU_COLORS_TASKS_MAX];
// Of their windows; behind the last one the highest address.
static uintptr_t starts[TAU_COLORS_TASKS_MAX];

// ---- Tables ------------------------------------------------------------------------------------

static uint32_t *table_next;
static size_t table_left_count;

uint32_t *tau_colors_table(size_t count) {
    if (count > table_left_count) {
        const size_t bytes =
            count * sizeof *table_next > CHUNK_BYTES ? count * sizeof *table_next : CHUNK_BYTES;
        void *const chunk =
            mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (chunk == MAP_FAILED) {
            return NULL;
        }
        table_next = chunk;
        table_left_count = bytes / sizeof *table_next;
    }
    uint32_t *const found = table_next;
    table_next += count;
    table_left_count -= count;
    return found;
}

// ---- The settings ------------------------------------------------------------------------------

// The numbers of TEXT, or NULL unless the first one is the checksum of the others (FNV-1a).
static uint64_t *numbers_of(const char *text) {
    // A number has two characters at least, and two words of a table, the first one of a chunk.
    uint64_t *const numbers = (void *)tau_colors_table(strlen(text) + 4);
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    size_t count = 0;
    while (numbers != NULL && tau_settings_number(&text, UINT64_MAX, &numbers[count])) {
        sum = count == 0 ? sum : (sum ^ numbers[count]) * UINT64_C(0x100000001b3);
        text += *text == ' ';
        count++;
    }
    return count != 0 && *text == '\0' && numbers[0] == sum ? numbers : NULL;
}

// The partition of an image, behind the places of its pointers, which are offsets in it.
static const struct tau_tlb_color_partition *placed(uint64_t *pointers) {
    const size_t count = *pointers++;
    unsigned char *const image = (void *)(pointers + count);
    for (size_t index = 0; index < count; index++) {
        uintptr_t pointer;
        memcpy(&pointer, image + pointers[index], sizeof pointer);
        pointer += (uintptr_t)image;
        memcpy(image + pointers[index], &pointer, sizeof pointer);
    }
    return (const void *)image;
}

// False if the task lies below the one before.
static bool begin_task(struct tau_colors_task *task,
                       const struct tau_tlb_color_principal *principal) {
    const struct tau_tlb_color_window *const last =
        &principal->windows[principal->windows_count - 1];
    task->principal = principal;
    task->window_start = principal->windows->start;
    task->window_bytes = last->start + ((size_t)1 << last->size_log2) - task->window_start;
    task->heap_pages = principal->windows->pages_count;
    starts[task - tasks] = task->window_start;
    return task == tasks || task[-1].window_start + task[-1].window_bytes <= task->window_start;
}

const char *tau_colors_read(const char *text) {
    uint64_t *const numbers = numbers_of(text);
    if (numbers == NULL || numbers[2] == 0 || numbers[2] > TAU_COLORS_TASKS_MAX) {
        return DAMAGED;
    }
    const size_t count = numbers[2];
    tau_colors.is_strict = numbers[1] != 0;
    tau_colors.partition = placed(&numbers[3 + count]);
    const enum tau_status status = tau_tlb_color_check(tau_colors.partition);
    if (status != TAU_OK) {
        return status == TAU_BAD_ARGUMENT ? DAMAGED
                                          : "two tasks own one TLB set, or a set that is none";
    }
    memset(starts, 0xff, sizeof starts);
    for (size_t index = 0; index < count; index++) {
        tasks[index].thread_number = (uint32_t)numbers[3 + index];
        if (!begin_task(&tasks[index], &tau_colors.partition->principals[index])) {
            return DAMAGED;
        }
    }
    tau_colors.tasks = tasks;
    tau_colors.tasks_count = count;
    return NULL;
}

// ---- Looking -----------------------------------------------------------------------------------

struct tau_colors_task *tau_colors_task_at(uintptr_t address) {
    size_t first = 0;
#pragma GCC unroll 8
    for (size_t step = TAU_COLORS_TASKS_MAX / 2; step > 0; step /= 2) {  // bound: log2 of the tasks
        first += starts[first + step] <= address ? step : 0;
    }
    return address - tasks[first].window_start < tasks[first].window_bytes ? &tasks[first] : NULL;
}

struct tau_colors_task *tau_colors_task_named(const char *name) {
    for (size_t index = 0; index < tau_colors.tasks_count; index++) {
        if (strcmp(tasks[index].principal->name, name) == 0) {
            return &tasks[index];
        }
    }
    return NULL;
}

const struct tau_tlb_color_part *tau_colors_stack_of(const struct tau_colors_task *task) {
    for (size_t index = 0; index < task->principal->parts_count; index++) {
        if (task->principal->parts[index].use == TAU_TLB_COLOR_STACK_PAGES) {
            return &task->principal->parts[index];
        }
    }
    return NULL;
}
