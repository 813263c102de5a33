// A C library's malloc as a library of replay, over a fixed arena.
//
// Built once a library: newlib (Lea's allocator of 1998), newlib-nano and picolibc (first fit over
// one sorted list). The library is linked as its package ships it; only the function that gives it
// memory is ours, and it serves from the arena alone.
#include "core/ports/library.h"

#include <stddef.h>
#include <stdint.h>

#define ALIGNMENT 8u

void *malloc(size_t size_bytes);
void *calloc(size_t count, size_t size_bytes);
void *realloc(void *pointer, size_t size_bytes);
void *memalign(size_t alignment, size_t size_bytes);
void free(void *pointer);
void *_sbrk(ptrdiff_t increment);
void *sbrk(ptrdiff_t increment);

static char *arena_start;
static char *arena_next;
static char *arena_end;

// newlib calls _sbrk, picolibc sbrk; both mean: move the end of the data by INCREMENT and return
// the old end.
static void *end_move(ptrdiff_t increment) {
    if (increment > arena_end - arena_next || increment < arena_start - arena_next) {
        return (void *)-1;
    }
    char *old_end = arena_next;
    arena_next += increment;
    return old_end;
}

void *_sbrk(ptrdiff_t increment) {
    return end_move(increment);
}

void *sbrk(ptrdiff_t increment) {
    return end_move(increment);
}

void *tau_library_init(void *memory, size_t size_bytes) {
#ifdef __riscv
    // picolibc keeps errno in thread-local storage, and no start-up code makes any.
    static uint32_t thread_local_storage[4];
    __asm__ volatile("mv tp, %0" : : "r"(thread_local_storage));
#endif
    arena_start = memory;
    arena_next = memory;
    arena_end = arena_start + size_bytes;
    return memory;
}

void *tau_library_malloc(void *heap, size_t size_bytes) {
    (void)heap;
    return malloc(size_bytes);
}

void *tau_library_calloc(void *heap, size_t count, size_t size_bytes) {
    (void)heap;
    return calloc(count, size_bytes);
}

#ifndef WITHOUT_MEMALIGN  // newlib-nano has none: malloc takes its place, which favors it
void *tau_library_aligned_alloc(void *heap, size_t alignment, size_t size_bytes) {
    (void)heap;
    return alignment <= ALIGNMENT ? malloc(size_bytes) : memalign(alignment, size_bytes);
}
#endif

void *tau_library_realloc(void *heap, void *pointer, size_t size_bytes) {
    (void)heap;
    return realloc(pointer, size_bytes);
}

int tau_library_free(void *heap, void *pointer) {
    (void)heap;
    free(pointer);
    return 0;
}
