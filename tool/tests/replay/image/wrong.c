// Allocators that go wrong on the target, chosen by WRONG.
#include <stddef.h>
#include <stdint.h>

#define WRONG_LOOP 1   // malloc never returns
#define WRONG_CRASH 2  // malloc reads where nothing is

static char *next;

void *p_init(void *memory, size_t size_bytes);
void *p_malloc(void *heap, size_t size_bytes);
void p_free(void *heap, void *pointer);

void *p_init(void *memory, size_t size_bytes) {
    (void)size_bytes;
    next = (char *)memory + 64;
    return memory;
}

void *p_malloc(void *heap, size_t size_bytes) {
    (void)heap;
    if (WRONG == WRONG_LOOP) {
        for (volatile int forever = 1; forever != 0;) {
        }
    }
    if (WRONG == WRONG_CRASH) {
        return *(void *volatile *)(uintptr_t)0xf0000000u;
    }
    char *const at = next;
    next += (size_bytes + 7) & ~(size_t)7;
    return at;
}

void p_free(void *heap, void *pointer) {
    (void)heap;
    (void)pointer;
}
