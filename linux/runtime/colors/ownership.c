// Looks at pages one by one, with its own indices: it shares nothing with the code that mapped
// them.
#include "linux/runtime/colors/partition.h"

#include <stdio.h>

#include "linux/runtime/colors/maps.h"

static char complaint[160];

static const char *wrong(const struct tau_colors_task *task, uintptr_t page, const char *what) {
    snprintf(complaint, sizeof complaint, "the page at %#lx in the window of %s %s", page,
             task->principal->name, what);
    return complaint;
}

static unsigned set_of(const struct tau_tlb_color_structure *structure, uintptr_t page) {
    const uintptr_t number = page >> tau_colors.partition->geometry->page_log2;
    unsigned set = structure->constant;
    const struct tau_tlb_color_geometry *const geometry = tau_colors.partition->geometry;
    for (unsigned bit = 0; 1u << bit < geometry->arrays[structure->array].sets_count; bit++) {
        set ^= (unsigned)__builtin_parityl(number & structure->rows[bit]) << bit;
    }
    return set;
}

// Whether TASK owns the set of each entry that PAGE needs, with structures of ROLE.
static bool is_owned(const struct tau_colors_task *task, uintptr_t page, unsigned role) {
    const struct tau_tlb_color_geometry *const geometry = tau_colors.partition->geometry;
    const struct tau_tlb_color_sets *const sets = task->principal->sets;
    for (unsigned index = 0; index < geometry->structures_count; index++) {
        const struct tau_tlb_color_structure *const structure = &geometry->structures[index];
        const bool is_directory = structure->role == TAU_TLB_COLOR_DIRECTORY;
        const bool is_needed =
            is_directory ? structure->page_log2 > geometry->page_log2
                         : structure->role == role && structure->page_log2 == geometry->page_log2;
        if (!is_needed || geometry->arrays[structure->array].sets_count == 1) {
            continue;
        }
        const uint32_t *const owned = sets[structure->array].owned;
        const unsigned set = set_of(structure, page);
        if (owned == NULL || (owned[set / 32] >> set % 32 & 1u) == 0) {
            return false;
        }
    }
    return true;
}

// The part that has PAGE, or NULL.
static const struct tau_tlb_color_part *part_at(const struct tau_colors_task *task,
                                                uintptr_t page) {
    for (size_t index = 0; index < task->principal->parts_count; index++) {
        const struct tau_tlb_color_part *const part = &task->principal->parts[index];
        if (page - part->start < part->size_bytes) {
            return part;
        }
    }
    return NULL;
}

static bool is_of_heap(const struct tau_colors_task *task, uintptr_t page) {
    const uintptr_t offset = page - task->window_start;
    const uintptr_t number = offset >> task->heap.page_log2;
    return task->heap_pages != 0 && offset < task->heap.span_bytes &&
           (task->heap.pages[number / 32] >> (31 - number % 32) & 1u) != 0;
}

static const char *check_page(const struct tau_colors_task *task, uintptr_t page,
                              const struct tau_mapping *mapping, size_t *own_pages) {
    const struct tau_tlb_color_part *const part = part_at(task, page);
    const bool is_heap = is_of_heap(task, page);
    const bool is_own = is_heap || (part != NULL && part->use == TAU_TLB_COLOR_STACK_PAGES);
    if (part == NULL && !is_heap) {
        return wrong(task, page, "is mapped, but its plan does not have it");
    }
    if (!is_owned(task, page, TAU_TLB_COLOR_DATA) ||
        (!is_heap && !is_owned(task, page, TAU_TLB_COLOR_CODE))) {
        return wrong(task, page, "needs sets of others");
    }
    if (is_own && (!mapping->can_read || !mapping->can_write || !mapping->is_private)) {
        return wrong(task, page, "is not its own memory");
    }
    *own_pages += is_own;
    return NULL;
}

static const char *check_mapping(const struct tau_mapping *mapping, size_t *own_pages) {
    const size_t page_bytes = (size_t)1 << tau_colors.partition->geometry->page_log2;
    const bool is_used = mapping->can_read || mapping->can_write || mapping->can_execute;
    // A mapping that is larger than a window lies outside all of them.
    const struct tau_colors_task *const first = tau_colors_task_at(mapping->start);
    const struct tau_colors_task *const last = tau_colors_task_at(mapping->end - 1);
    if (!is_used || (first == NULL && last == NULL)) {
        return NULL;
    }
    for (uintptr_t page = mapping->start; page < mapping->end; page += page_bytes) {
        const struct tau_colors_task *const task = tau_colors_task_at(page);
        const char *const failure =
            task == NULL ? NULL : check_page(task, page, mapping, own_pages);
        if (failure != NULL) {
            return failure;
        }
        tau_colors.pages_checked += task != NULL;
    }
    return NULL;
}

// Pages of all heaps and stacks.
static size_t planned_pages(void) {
    size_t count = 0;
    for (size_t index = 0; index < tau_colors.tasks_count; index++) {
        const struct tau_colors_task *const task = &tau_colors.tasks[index];
        const struct tau_tlb_color_part *const stack = tau_colors_stack_of(task);
        count += task->heap_pages;
        count += stack == NULL ? 0 : stack->size_bytes >> tau_colors.partition->geometry->page_log2;
    }
    return count;
}

const char *tau_colors_check_pages(void) {
    static struct tau_maps maps;
    struct tau_mapping mapping;
    size_t own_pages = 0;
    const char *failure = NULL;
    if (!tau_maps_open(&maps)) {
        return "/proc/self/maps cannot be read";
    }
    while (failure == NULL && tau_maps_next(&maps, &mapping)) {
        failure = check_mapping(&mapping, &own_pages);
    }
    tau_maps_close(&maps);
    if (failure == NULL && own_pages != planned_pages()) {
        return "pages of a heap or a stack are not mapped";
    }
    return failure;
}
