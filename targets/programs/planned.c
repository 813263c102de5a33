// Starts the heap of a plan's header, which stands in front of this file, as a firmware's heap.c
// does: in exactly TAU_PLAN_HEAP_BYTES. These instructions are not counted.
void *tau_image_init(void *memory, size_t size_bytes);

void *tau_image_init(void *memory, size_t size_bytes) {
    return size_bytes == TAU_PLAN_HEAP_BYTES ? tau_plan_init(memory) : NULL;
}

#if TAU_PLAN_CLASSES_COUNT > 0
const void *tau_image_shared(const struct tau_budget *heap);

// Every object below this address is in a pool.
const void *tau_image_shared(const struct tau_budget *heap) {
    const struct tau_tlsf *shared = tau_budget_shared(heap);
    return shared != NULL ? (const void *)shared : (const void *)~(size_t)0;
}
#endif
