// Starts a budgeted heap in an image. These instructions are not counted.
#include <stddef.h>

#include "core/budget.h"

void *tau_image_init(void *memory, size_t size_bytes, const struct tau_budget_class *classes,
                     size_t count);
const void *tau_image_shared(const struct tau_budget *heap);

void *tau_image_init(void *memory, size_t size_bytes, const struct tau_budget_class *classes,
                     size_t count) {
    struct tau_budget *heap = NULL;
    return tau_budget_init(&heap, memory, size_bytes, classes, count) == TAU_OK ? heap : NULL;
}

// Every object below this address is in a dedicated region.
const void *tau_image_shared(const struct tau_budget *heap) {
    const struct tau_tlsf *shared = tau_budget_shared(heap);
    return shared != NULL ? (const void *)shared : (const void *)~(size_t)0;
}
