// The conventional heap in an image. TAU_IMAGE_WALK says how its table finds the mapped pages
// among those that it releases.
#ifndef TAU_PAGED_HEAP_BREAK_HEAP_H
#define TAU_PAGED_HEAP_BREAK_HEAP_H

#include "peers/conventional/break_heap.h"
#include "targets/programs/paged/table.h"

static struct tau_break_heap heap;

static enum tau_status start(void *memory, uint32_t size_bytes, struct tau_frames *frames,
                             uint32_t first, uint32_t pages) {
    const enum tau_status status = start_table(memory, size_bytes, frames, TAU_IMAGE_WALK, &heap);
    return status != TAU_OK
               ? status
               : tau_break_heap_init(&heap, &table, 0, (struct tau_page){first}, pages);
}

#endif
