// Our TLSF as a library of replay.
#include "core/ports/library.h"
#include "core/tlsf.c"

void *tau_library_init(void *memory, size_t size_bytes) {
    return tau_tlsf_init(memory, size_bytes, 0);
}

void *tau_library_malloc(void *heap, size_t size_bytes) {
    return tau_tlsf_malloc(heap, size_bytes);
}

void *tau_library_calloc(void *heap, size_t count, size_t size_bytes) {
    return tau_tlsf_calloc(heap, count, size_bytes);
}

void *tau_library_aligned_alloc(void *heap, size_t alignment, size_t size_bytes) {
    return tau_tlsf_aligned_alloc(heap, alignment, size_bytes);
}

void *tau_library_realloc(void *heap, void *pointer, size_t size_bytes) {
    return tau_tlsf_realloc(heap, pointer, size_bytes);
}

int tau_library_free(void *heap, void *pointer) {
    return (int)tau_tlsf_free(heap, pointer);
}
