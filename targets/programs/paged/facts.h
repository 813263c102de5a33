// What an image tells of its heap.
#ifndef TAU_PAGED_FACTS_H
#define TAU_PAGED_FACTS_H

#include <stddef.h>
#include <stdint.h>

#include "core/frames.h"
#include "core/page.h"
#include "core/status.h"

#define SPACE_PAGES_LOG2 20u  // the 4 GiB that 32 bits can name

// As in tool/native/replay/paging.c.
struct facts {
    void *heap;           // first argument of malloc, resize, free
    void *fault_subject;  // first argument of the fault handler
    const uint32_t *mapped_pages;
    const void *regions;  // the validity array's regions, or the plain table's entries
    const void *stacks;
    uint32_t pages_count;
    uint32_t table_bytes;
};

struct facts tau_image_facts;

#endif
