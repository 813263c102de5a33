// o1heap as a library of replay. Compiled with the folder of its crate as an include path.
#include "o1heap.c"

#include "core/ports/library.h"

void *tau_library_init(void *memory, size_t size_bytes) {
    return o1heapInit(memory, size_bytes);
}

void *tau_library_malloc(void *heap, size_t size_bytes) {
    return o1heapAllocate(heap, size_bytes);
}

int tau_library_free(void *heap, void *pointer) {
    o1heapFree(heap, pointer);
    return 0;
}
