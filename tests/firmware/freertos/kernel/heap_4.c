// A stand-in for FreeRTOS's heap_4.c: it rounds the wanted size with its header up to
// 8, suspends the scheduler for the search, and traces the block's size, not the wanted one.
#include "FreeRTOS.h"
#include "task.h"

#include <stdint.h>

#define HEADER_BYTES 8u

struct block {
    uint32_t bytes;  // with this header
    uint32_t is_used;
};

#if configAPPLICATION_ALLOCATED_HEAP == 1
extern uint8_t ucHeap[configTOTAL_HEAP_SIZE];
#else
static _Alignas(8) uint8_t ucHeap[configTOTAL_HEAP_SIZE];
#endif
static int is_ready;

static struct block *after(struct block *block) {
    return (struct block *)((unsigned char *)block + block->bytes);
}

static int is_end(const struct block *block) {
    return (const unsigned char *)block == ucHeap + configTOTAL_HEAP_SIZE;
}

static struct block *first_that_fits(size_t bytes) {
    struct block *block = (struct block *)ucHeap;
    if (!is_ready) {
        *block = (struct block){configTOTAL_HEAP_SIZE, 0};
        is_ready = 1;
    }
    while (!is_end(block) && (block->is_used || block->bytes < bytes)) {
        struct block *next = after(block);
        if (!block->is_used && !is_end(next) && !next->is_used) {
            block->bytes += next->bytes;
        } else {
            block = next;
        }
    }
    return is_end(block) ? NULL : block;
}

void *pvPortMalloc(size_t wanted) {
    void *object = NULL;
    const size_t bytes = (wanted + HEADER_BYTES + 7) / 8 * 8;
    vTaskSuspendAll();
    struct block *block = wanted == 0 || bytes < wanted ? NULL : first_that_fits(bytes);
    if (block != NULL) {
        if (block->bytes - bytes >= 2 * HEADER_BYTES) {
            const uint32_t left = (uint32_t)(block->bytes - bytes);
            block->bytes = (uint32_t)bytes;
            *after(block) = (struct block){left, 0};
        }
        block->is_used = 1;
        object = (unsigned char *)block + HEADER_BYTES;
    }
    traceMALLOC(object, bytes);
    (void)xTaskResumeAll();
    return object;
}

void vPortFree(void *object) {
    if (object != NULL) {
        struct block *block = (struct block *)((unsigned char *)object - HEADER_BYTES);
        vTaskSuspendAll();
        traceFREE(object, block->bytes);
        block->is_used = 0;
        (void)xTaskResumeAll();
    }
}
