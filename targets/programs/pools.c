// Starts a heap of pools in an image. These instructions are not counted.
#include <stddef.h>

#include "core/pools.h"

void *tau_image_init(void *memory, size_t size_bytes, const struct tau_budget_class *bands,
                     size_t count);

void *tau_image_init(void *memory, size_t size_bytes, const struct tau_budget_class *bands,
                     size_t count) {
    struct tau_pools *heap = NULL;
    return tau_pools_init(&heap, memory, size_bytes, bands, count, POOLS_ALIGNMENT) == TAU_OK
               ? heap
               : NULL;
}
