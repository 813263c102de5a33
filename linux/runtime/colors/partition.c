#include "linux/runtime/colors/partition.h"

#include <string.h>
#include <sys/mman.h>

#include "linux/runtime/settings.h"

#define DAMAGED "the settings' tasks are damaged"
#define CHUNK_BYTES ((size_t)1 << 18)  // tables grow by this

struct tau_colors tau_colors;

static struct tau_tlb_color_array arrays[TAU_COLORS_ARRAYS_MAX];
static struct tau_tlb_color_structure structures[TAU_COLORS_STRUCTURES_MAX];
static uintptr_t rows[TAU_COLORS_STRUCTURES_MAX][TAU_TLB_COLOR_ROWS_MAX];
static struct tau_colors_task tasks[TAU_COLORS_TASKS_MAX];
static struct tau_tlb_color_principal principals[TAU_COLORS_TASKS_MAX];
static struct tau_tlb_color_sets sets[TAU_COLORS_TASKS_MAX][TAU_COLORS_ARRAYS_MAX];
static struct tau_colors_part parts[TAU_COLORS_PARTS_MAX];
static size_t parts_count;

// ---- Tables
// ---------------------------------------------------------------------------------------

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

// ---- Words -------------------------------------------------------------------------------------

// The number that begins at *TEXT, which moves after it and a blank. False if there is none.
static bool number(const char **text, uint64_t *found) {
    const bool is_found = tau_settings_number(text, UINT64_MAX, found);
    *text += **text == ' ';
    return is_found;
}

// COUNT numbers, each at most its MOST.
static bool numbers(const char **text, size_t count, const uint64_t *most, uint64_t *found) {
    for (size_t index = 0; index < count; index++) {
        if (!number(text, &found[index]) || found[index] > most[index]) {
            return false;
        }
    }
    return true;
}

// The word at *TEXT, which moves after it and a blank. False if it does not fit.
static bool word(const char **text, char *found, size_t bytes) {
    size_t length = 0;
    while ((*text)[length] != ' ' && (*text)[length] != '\0') {
        length++;
    }
    if (length == 0 || length >= bytes) {
        return false;
    }
    memcpy(found, *text, length);
    found[length] = '\0';
    *text += length;
    *text += **text == ' ';
    return true;
}

// ---- Records -----------------------------------------------------------------------------------

static bool read_page(const char **text) {
    uint64_t found;
    const bool is_right = numbers(text, 1, (const uint64_t[]){63}, &found);
    tau_colors.geometry.page_log2 = (uint8_t)found;
    return is_right;
}

static bool read_array(const char **text) {
    uint64_t found[3];
    const unsigned count = tau_colors.geometry.arrays_count;
    if (count == TAU_COLORS_ARRAYS_MAX ||
        !numbers(text, 3, (const uint64_t[]){65536, UINT32_MAX, UINT32_MAX}, found)) {
        return false;
    }
    arrays[count] =
        (struct tau_tlb_color_array){(uint32_t)found[0], (uint32_t)found[1], (uint32_t)found[2]};
    tau_colors.geometry.arrays_count++;
    return true;
}

static bool read_structure(const char **text) {
    uint64_t found[4];
    const unsigned count = tau_colors.geometry.structures_count;
    const uint64_t arrays_last = tau_colors.geometry.arrays_count - 1u;
    if (count == TAU_COLORS_STRUCTURES_MAX || tau_colors.geometry.arrays_count == 0 ||
        !numbers(text, 4, (const uint64_t[]){TAU_TLB_COLOR_CODE, 63, arrays_last, 65535}, found)) {
        return false;
    }
    for (unsigned bit = 0; UINT64_C(1) << bit < arrays[found[2]].sets_count; bit++) {
        uint64_t row;
        if (!number(text, &row)) {
            return false;
        }
        rows[count][bit] = row;
    }
    structures[count] = (struct tau_tlb_color_structure){
        .rows = rows[count],
        .constant = (uint32_t)found[3],
        .role = (uint8_t)found[0],
        .page_log2 = (uint8_t)found[1],
        .array = (uint8_t)found[2],
    };
    tau_colors.geometry.structures_count++;
    return true;
}

static bool read_task(const char **text) {
    uint64_t found[6];
    const size_t count = tau_colors.tasks_count;
    struct tau_colors_task *const task = &tasks[count];
    if (count == TAU_COLORS_TASKS_MAX || !word(text, task->name, sizeof task->name) ||
        !numbers(text, 6,
                 (const uint64_t[]){TAU_TLB_COLOR_NO_MISS, UINT64_C(1) << 47, 46, 46, UINT32_MAX,
                                    UINT32_MAX},
                 found)) {
        return false;
    }
    task->mode = (enum tau_tlb_color_mode)found[0];
    task->window_start = found[1];
    task->window_bytes = (size_t)1 << found[2];
    task->heap_window =
        (struct tau_tlb_color_window){found[1], (uint8_t)found[3], tau_colors.geometry.page_log2};
    task->heap_pages = (uint32_t)found[4];
    task->thread_number = (uint32_t)found[5];
    task->parts = &parts[parts_count];
    principals[count] =
        (struct tau_tlb_color_principal){sets[count], &task->heap_window, task->heap_pages != 0};
    tau_colors.tasks_count++;
    return count == 0 || task[-1].window_start + task[-1].window_bytes <= task->window_start;
}

static bool read_sets(const char **text) {
    uint64_t found[2];
    const uint64_t arrays_last = tau_colors.geometry.arrays_count - 1u;
    if (tau_colors.tasks_count == 0 ||
        !numbers(text, 2, (const uint64_t[]){arrays_last, UINT32_MAX}, found)) {
        return false;
    }
    const uint64_t set_last = arrays[found[0]].sets_count - 1u;
    uint32_t *const owned = tau_colors_table(set_last / 32 + 1);
    if (owned == NULL) {
        return false;
    }
    sets[tau_colors.tasks_count - 1][found[0]] =
        (struct tau_tlb_color_sets){owned, (uint32_t)found[1]};
    while (**text >= '0' && **text <= '9') {
        if (!numbers(text, 2, (const uint64_t[]){set_last, set_last}, found)) {
            return false;
        }
        for (uint64_t set = found[0]; set <= found[1]; set++) {
            owned[set / 32] |= UINT32_C(1) << set % 32;
        }
    }
    return true;
}

static bool read_part(const char **text, enum tau_colors_kind kind) {
    uint64_t found[2];
    const uint64_t most = UINT64_C(1) << 47;
    if (tau_colors.tasks_count == 0 || parts_count == TAU_COLORS_PARTS_MAX ||
        !numbers(text, 2, (const uint64_t[]){most, most}, found)) {
        return false;
    }
    parts[parts_count++] = (struct tau_colors_part){found[0], found[1], kind};
    tasks[tau_colors.tasks_count - 1].parts_count++;
    return true;
}

static bool read_record(const char *kind, const char **text) {
    static const char *const kinds[] = {"stack", "globals", "code"};
    for (size_t index = 0; index < sizeof kinds / sizeof *kinds; index++) {
        if (strcmp(kind, kinds[index]) == 0) {
            return read_part(text, (enum tau_colors_kind)index);
        }
    }
    if (strcmp(kind, "strict") == 0) {
        tau_colors.is_strict = true;
        return true;
    }
    return strcmp(kind, "page") == 0        ? read_page(text)
           : strcmp(kind, "array") == 0     ? read_array(text)
           : strcmp(kind, "structure") == 0 ? read_structure(text)
           : strcmp(kind, "task") == 0      ? read_task(text)
           : strcmp(kind, "sets") == 0      ? read_sets(text)
                                            : false;
}

const char *tau_colors_read(const char *text) {
    char kind[16];
    while (*text != '\0') {
        if (!word(&text, kind, sizeof kind) || !read_record(kind, &text)) {
            return DAMAGED;
        }
    }
    tau_colors.geometry.arrays = arrays;
    tau_colors.geometry.structures = structures;
    tau_colors.tasks = tasks;
    tau_colors.partition = (struct tau_tlb_color_partition){&tau_colors.geometry, principals,
                                                            (uint32_t)tau_colors.tasks_count};
    const enum tau_status status = tau_tlb_color_check(&tau_colors.partition);
    return tau_colors.tasks_count == 0 || status == TAU_BAD_ARGUMENT ? DAMAGED
           : status != TAU_OK ? "two tasks own one TLB set, or a set that is none"
                              : NULL;
}

// ---- Looking -----------------------------------------------------------------------------------

struct tau_colors_task *tau_colors_task_at(uintptr_t address) {
    size_t first = 0;
#pragma GCC unroll 8
    for (size_t step = TAU_COLORS_TASKS_MAX / 2; step > 0; step /= 2) {  // bound: log2 of the tasks
        if (first + step < tau_colors.tasks_count && tasks[first + step].window_start <= address) {
            first += step;
        }
    }
    return address - tasks[first].window_start < tasks[first].window_bytes ? &tasks[first] : NULL;
}

struct tau_colors_task *tau_colors_task_named(const char *name) {
    for (size_t index = 0; index < tau_colors.tasks_count; index++) {
        if (strcmp(tasks[index].name, name) == 0) {
            return &tasks[index];
        }
    }
    return NULL;
}

const struct tau_colors_part *tau_colors_stack_of(const struct tau_colors_task *task) {
    for (size_t index = 0; index < task->parts_count; index++) {
        if (task->parts[index].kind == TAU_COLORS_STACK) {
            return &task->parts[index];
        }
    }
    return NULL;
}
