// Ours in an image: core/page_heap over core/vspace.
#ifndef TAU_PAGED_HEAP_PAGE_HEAP_H
#define TAU_PAGED_HEAP_PAGE_HEAP_H

#include "core/page_heap.h"
#include "core/vspace.h"
#include "targets/programs/paged/facts.h"

static struct tau_vspace space;
static struct tau_page_heap heap;

static enum tau_status start(void *memory, uint32_t size_bytes, struct tau_frames *frames,
                             uint32_t first, uint32_t pages) {
    const enum tau_status status = tau_vspace_init(&space, memory, size_bytes, SPACE_PAGES_LOG2,
                                                   frames, TAU_VSPACE_OVERCOMMIT);
    tau_image_facts = (struct facts){&heap,
                                     &space,
                                     &space.mapped_pages,
                                     space.validity.regions,
                                     space.validity.stacks,
                                     1u << SPACE_PAGES_LOG2,
                                     tau_vspace_size_bytes(SPACE_PAGES_LOG2)};
    return status != TAU_OK
               ? status
               : tau_page_heap_init(&heap, &space, 0, (struct tau_page){first}, pages, UINT32_MAX);
}

#endif
