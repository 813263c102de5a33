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
    count += count % 2;  // so that the next one may have pointers
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

// ---- The image ---------------------------------------------------------------------------------

// A partition and all that it points to; pointers are offsets in it. Behind it is a zero.
static unsigned char *image;
static size_t image_bytes;

// The number that begins at *TEXT, which moves after it and a blank. False if there is none.
static bool number(const char **text, uint64_t most, uint64_t *found) {
    const bool is_found = tau_settings_number(text, most, found);
    *text += **text == ' ';
    return is_found;
}

static bool read_image(const char *text) {
    size_t count = 0;
    // A word has two characters in the text, and two words of the table.
    uint64_t *const words = (void *)tau_colors_table(strlen(text) + 4);
    while (words != NULL && number(&text, UINT64_MAX, &words[count])) {
        count++;
    }
    image = (void *)words;
    image_bytes = count * sizeof *words;
    return words != NULL && *text == '\0' && image_bytes >= sizeof *tau_colors.partition;
}

// COUNT items of BYTES at OFFSET of the image; NULL if it does not have them.
static void *placed(const void *offset, size_t count, size_t bytes) {
    const uintptr_t at = (uintptr_t)offset;
    const bool is_inside = at % 8 == 0 && at < image_bytes && count <= (image_bytes - at) / bytes;
    return at != 0 && is_inside ? image + at : NULL;
}

static bool place_geometry(struct tau_tlb_color_geometry *geometry) {
    const struct tau_tlb_color_array *const arrays =
        placed(geometry->arrays, geometry->arrays_count, sizeof *arrays);
    struct tau_tlb_color_structure *const structures =
        placed(geometry->structures, geometry->structures_count, sizeof *structures);
    geometry->arrays = arrays;
    geometry->structures = structures;
    if (arrays == NULL || structures == NULL) {
        return false;
    }
    for (size_t index = 0; index < geometry->structures_count; index++) {
        struct tau_tlb_color_structure *const own = &structures[index];
        if (own->array >= geometry->arrays_count) {
            return false;
        }
        const int bits = 31 - __builtin_clz(arrays[own->array].sets_count | 1);
        own->rows = placed(own->rows, (size_t)bits, sizeof *own->rows);
    }
    return true;
}

static bool place_principal(struct tau_tlb_color_principal *principal) {
    const struct tau_tlb_color_geometry *const geometry = tau_colors.partition->geometry;
    struct tau_tlb_color_sets *const sets =
        placed(principal->sets, geometry->arrays_count, sizeof *sets);
    for (size_t index = 0; sets != NULL && index < geometry->arrays_count; index++) {
        const size_t words = (geometry->arrays[index].sets_count + 31) / 32;
        sets[index].owned = placed(sets[index].owned, words, sizeof *sets[index].owned);
    }
    principal->sets = sets;
    principal->windows =
        placed(principal->windows, principal->windows_count, sizeof *principal->windows);
    principal->parts = placed(principal->parts, principal->parts_count, sizeof *principal->parts);
    principal->name = placed(principal->name, 1, 1);
    return principal->windows_count != 0 && principal->windows != NULL && principal->name != NULL &&
           (principal->parts != NULL || principal->parts_count == 0);
}

// Makes offsets addresses.
static bool place_image(void) {
    struct tau_tlb_color_partition *const partition = (void *)image;
    struct tau_tlb_color_geometry *const geometry =
        placed(partition->geometry, 1, sizeof *geometry);
    struct tau_tlb_color_principal *const principals =
        placed(partition->principals, partition->principals_count, sizeof *principals);
    partition->geometry = geometry;
    partition->principals = principals;
    tau_colors.partition = partition;
    bool is_right = geometry != NULL && principals != NULL && place_geometry(geometry);
    for (size_t index = 0; is_right && index < partition->principals_count; index++) {
        is_right = place_principal(&principals[index]);
    }
    return is_right;
}

// ---- Tasks -------------------------------------------------------------------------------------

// The task of a principal of a partition that was checked. False if it lies below the one before.
static bool begin_task(struct tau_colors_task *task,
                       const struct tau_tlb_color_principal *principal) {
    const struct tau_tlb_color_window *const last =
        &principal->windows[principal->windows_count - 1];
    task->principal = principal;
    task->window_start = principal->windows->start;
    task->window_bytes = last->start + ((size_t)1 << last->size_log2) - task->window_start;
    task->heap_pages = principal->windows->pages_count;
    return task == tasks || task[-1].window_start + task[-1].window_bytes <= task->window_start;
}

const char *tau_colors_read(const char *text) {
    uint64_t is_strict, count, thread;
    if (!number(&text, 1, &is_strict) || !number(&text, TAU_COLORS_TASKS_MAX, &count)) {
        return DAMAGED;
    }
    for (size_t index = 0; index < count; index++) {
        if (!number(&text, UINT32_MAX, &thread)) {
            return DAMAGED;
        }
        tasks[index].thread_number = (uint32_t)thread;
    }
    if (!read_image(text) || !place_image() || tau_colors.partition->principals_count != count) {
        return DAMAGED;
    }
    const enum tau_status status = tau_tlb_color_check(tau_colors.partition);
    if (status != TAU_OK) {
        return status == TAU_BAD_ARGUMENT ? DAMAGED
                                          : "two tasks own one TLB set, or a set that is none";
    }
    memset(starts, 0xff, sizeof starts);
    for (size_t index = 0; index < count; index++) {
        if (!begin_task(&tasks[index], &tau_colors.partition->principals[index])) {
            return DAMAGED;
        }
        starts[index] = tasks[index].window_start;
    }
    tau_colors.tasks = tasks;
    tau_colors.tasks_count = count;
    tau_colors.is_strict = is_strict != 0;
    return count == 0 ? DAMAGED : NULL;
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
