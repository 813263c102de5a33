#include "kernel/copy_words.h"
#include "kernel/stop.h"
#include "kernel/tasks/kernel.h"
#include "targets/tile/mmu_pagetable.h"

enum { PAGE_WORDS = TAU_TILE_SIZE_PAGE_BYTES / 4 };

static uint32_t frames_used_count;

// Maps a page of OWNER to the next frame, whose words are returned. Memories start with 0.
static volatile uint32_t *map(uint32_t page, uint32_t owner, uint32_t rights) {
    const uint32_t frames_count = UINT32_C(1)
                                  << (tau_tile_read(TAU_TILE_REGISTER_CONFIG) >> 8 & 255);
    const uint32_t frame = frames_used_count;
    TAU_KERNEL_ASSERT(owner <= TAU_TASKS_COUNT);
    TAU_KERNEL_ASSERT(frame < frames_count);
    TAU_KERNEL_ASSERT(TAU_TILE_TABLE2[page] == 0);
    frames_used_count++;
    tau_mmu_pagetable_set(page, frame | owner << TAU_TILE_PAGE_WORD_OWNER | rights);
    return (volatile uint32_t *)TAU_TILE_ADDRESS_FRAMES + frame * PAGE_WORDS;
}

// In the task's own pages, which only it may use.
static void begin_heap(const struct tau_tasks_description *task, uint32_t owner) {
    struct tau_task *memory = task->memory;
    struct tau_tlb_color_run run = {0, 0};
    TAU_TILE_UNIT[TAU_TILE_TLB_OWNER] = owner;
    memory->heap = &memory->own_heap;
    memory->seed = tau_tasks_system.seed;
    for (uint32_t i = 0; i < TAU_TASK_ARGUMENTS; i++) {
        memory->arguments[i] = task->arguments[i];
    }
    if (task->partition->principals[task->principal].windows->pages_count == 0) {
        return;
    }
    if (tau_tlb_color_init(&memory->own_heap, task->partition, task->principal, 0,
                           memory->heap_pages,
                           sizeof memory->heap_pages / sizeof memory->heap_pages[0]) != TAU_OK) {
        tau_stop("the pages of a heap are refused");
    }
    while (tau_tlb_color_next_run(&memory->own_heap, &run)) {  // bound: the runs
        for (uint32_t offset = 0; offset < run.size_bytes; offset += TAU_TILE_SIZE_PAGE_BYTES) {
            map((run.start + offset - TAU_TILE_ADDRESS_WINDOW) / TAU_TILE_SIZE_PAGE_BYTES, owner,
                TAU_TILE_READ | TAU_TILE_WRITE);
        }
    }
    if (tau_tlb_color_start(&memory->own_heap) != TAU_OK) {
        tau_stop("a heap is too small");
    }
}

void tau_tasks_memory_begin(void) {
    const struct tau_tasks_system *system = &tau_tasks_system;
    for (uint32_t i = 0; i < system->pages_count; i++) {  // bound: the pages
        const struct tau_tasks_page *page = &system->pages[i];
        TAU_KERNEL_ASSERT(page->words_count <= PAGE_WORDS);
        tau_words_copy(map(page->page, page->owner, page->rights), page->words, page->words_count);
    }
    for (uint32_t task = 0; task < system->tasks_count; task++) {  // bound: the tasks
        begin_heap(&system->tasks[task], task + 1);
    }
}
