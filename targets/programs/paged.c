// Starts a heap on pages in an image and reports where its parts are. These instructions are not
// counted.
//
// TAU_IMAGE_BREAK selects the heap:
// - 0: tau_page_heap
// - 1: the conventional heap, whose unmap walks every page of the range
// - 2: the conventional heap, whose unmap walks mapped pages only
//
// The frames are a reserved pool of the space. Released frames are ready again at once, and no
// frame is zeroed between two uses.
#include <stddef.h>
#include <stdint.h>

#include "core/conventional/break_heap.h"
#include "core/frames.h"
#include "core/page_heap.h"
#include "core/conventional/pagetable.h"
#include "core/vspace.h"

#define SPACE_PAGES_LOG2 20u  // the 4 GiB of a 32-bit address

// As in tool/native/replay/paging.c.
struct facts {
    void *heap;           // first argument of malloc, resize, free
    void *fault_subject;  // first argument of the fault handler
    const uint32_t *mapped_pages;
    const void *regions;  // of the validity array, or the plain table's entries
    const void *stacks;
    uint32_t pages_count;
    uint32_t table_bytes;
};

struct facts tau_image_facts;
enum tau_status tau_image_start(unsigned char *memory, uint32_t size_bytes, uint32_t frames_count,
                                uint32_t first, uint32_t pages);

static struct tau_frames machine;
static struct tau_frames frames;

#if TAU_IMAGE_BREAK
static struct tau_pagetable table;
static struct tau_break_heap heap;

static enum tau_status start(void *memory, uint32_t size_bytes, uint32_t first, uint32_t pages) {
    const enum tau_pagetable_walk walk =
        TAU_IMAGE_BREAK == 2 ? TAU_PAGETABLE_MAPPED : TAU_PAGETABLE_RESERVED;
    tau_image_facts = (struct facts){&heap,
                                     &heap,
                                     &table.mapped_pages,
                                     memory,
                                     NULL,
                                     1u << SPACE_PAGES_LOG2,
                                     tau_pagetable_size_bytes(SPACE_PAGES_LOG2, walk)};
    const enum tau_status status =
        tau_pagetable_init(&table, memory, size_bytes, SPACE_PAGES_LOG2, &frames, walk);
    tau_image_facts.regions = table.entries;
    return status != TAU_OK
               ? status
               : tau_break_heap_init(&heap, &table, 0, (struct tau_page){first}, pages);
}
#else
static struct tau_vspace space;
static struct tau_page_heap heap;

static enum tau_status start(void *memory, uint32_t size_bytes, uint32_t first, uint32_t pages) {
    const enum tau_status status = tau_vspace_init(&space, memory, size_bytes, SPACE_PAGES_LOG2,
                                                   &frames, TAU_VSPACE_OVERCOMMIT);
    tau_image_facts = (struct facts){&heap,
                                     &space,
                                     &space.mapped_pages,
                                     space.validity.regions,
                                     space.validity.stacks,
                                     1u << SPACE_PAGES_LOG2,
                                     tau_vspace_size_bytes(SPACE_PAGES_LOG2)};
    return status != TAU_OK ? status
                            : tau_page_heap_init(&heap, &space, 0, (struct tau_page){first}, pages,
                                                 UINT32_MAX);
}
#endif

// MEMORY holds the links of the frames and, behind them, the tables.
enum tau_status tau_image_start(unsigned char *memory, uint32_t size_bytes, uint32_t frames_count,
                                uint32_t first, uint32_t pages) {
    const uint32_t links_bytes = frames_count * (uint32_t)sizeof(uint32_t);
    enum tau_status status =
        tau_frames_init(&machine, (uint32_t *)(void *)memory, frames_count, NULL);
    if (status == TAU_OK) {
        status = tau_frames_add(&machine, (struct tau_frame){0}, frames_count);
    }
    if (status == TAU_OK) {
        status = tau_frames_reserve(&machine, &frames, frames_count);
    }
    return status != TAU_OK ? status
                            : start(memory + links_bytes, size_bytes - links_bytes, first, pages);
}
