// The plain page table in an image, for the heaps over it.
#ifndef TAU_PAGED_TABLE_H
#define TAU_PAGED_TABLE_H

#include "peers/conventional/pagetable.h"
#include "targets/programs/paged/facts.h"

static struct tau_pagetable table;

// Makes the table in MEMORY and says where it is; HEAP is the heap that will lie in it.
static inline enum tau_status start_table(void *memory, uint32_t size_bytes,
                                          struct tau_frames *frames, enum tau_pagetable_walk walk,
                                          void *heap) {
    const enum tau_status status =
        tau_pagetable_init(&table, memory, size_bytes, SPACE_PAGES_LOG2, frames, walk);
    tau_image_facts = (struct facts){heap,
                                     heap,
                                     &table.mapped_pages,
                                     table.entries,
                                     NULL,
                                     1u << SPACE_PAGES_LOG2,
                                     tau_pagetable_size_bytes(SPACE_PAGES_LOG2, walk)};
    return status;
}

#endif
