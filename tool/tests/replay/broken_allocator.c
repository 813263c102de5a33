// A first-come allocator with one mistake, chosen by BUG; 0 is correct. Each must be caught by
// replay, on this machine and on a target.
#include "core/ports/library.h"

#include <stddef.h>
#include <stdint.h>

#define BUG_OVERLAP 1    // Hands out the middle of a live object.
#define BUG_OVERWRITE 2  // Writes into the object handed out last.
#define BUG_MISALIGN 3
#define BUG_OUTSIDE 4
#define BUG_NOT_CLEARED 5
#define BUG_REFUSE_FREE 6
#define BUG_LOSE_CONTENT 7  // realloc does not copy.
#define BUG_TAIL 8          // Hands out 8 bytes too few between objects.
#define BUG_CRASH 9
#define BUG_ENDLESS 10
#define BUG_EXIT 11  // Ends the process as if all were well; on this machine only.
#define BUG_PAST_END 12
#define BUG_NO_FREE 13
#define BUG_NO_PIPE 14  // Closes what it has not opened, and is endless; on this machine only.
#define RARELY 100u

void *memset(void *to, int value, size_t size_bytes);
void *memmove(void *to, const void *from, size_t size_bytes);
void _exit(int status);
int close(int file);

static uint8_t *arena_end;
static uint8_t *next;
static uint8_t *last;
static unsigned calls;

static __attribute__((noinline)) void spin(void) {
    for (;;) {
        __asm__ volatile(".rept 900\n nop\n .endr");  // An emulator is fast on long blocks.
    }
}

void *tau_library_init(void *memory, size_t size_bytes) {
    next = memory;
    last = NULL;
    calls = 0;
    arena_end = next + size_bytes;
    memset(memory, 0x77, size_bytes);
    return memory;
}

void *tau_library_aligned_alloc(void *heap, size_t alignment, size_t size_bytes) {
    (void)heap;
    uint8_t *at = (uint8_t *)(((uintptr_t)next + alignment - 1) & ~(uintptr_t)(alignment - 1));
    if (size_bytes == 0 || at > arena_end || size_bytes > (size_t)(arena_end - at)) {
        return NULL;
    }
    const int now = ++calls % RARELY == 0;
    next = at + ((size_bytes + 7) & ~(size_t)7);
    if (now && BUG == BUG_OVERLAP && last != NULL) {
        return last + 64;
    }
    if (now && BUG == BUG_OVERWRITE && last != NULL) {
        memset(last, 0, 4);
    }
    if (now && BUG == BUG_MISALIGN) {
        return at + 4;
    }
    if (now && BUG == BUG_TAIL && size_bytes > 8) {
        next -= 8;
    }
#if BUG == BUG_EXIT
    if (now) {
        _exit(0);
    }
#endif
#if BUG == BUG_NO_PIPE
    for (int file = 0; now && file < 1024; file++) {
        close(file);
    }
#endif
    if (now && BUG == BUG_CRASH) {
        *(volatile int *)8 = 0;
    }
    if (now && BUG == BUG_PAST_END) {
        *(volatile uint8_t *)arena_end = 0;
    }
    if (now && (BUG == BUG_ENDLESS || BUG == BUG_NO_PIPE)) {
        spin();
    }
    last = at;
    return at;
}

void *tau_library_malloc(void *heap, size_t size_bytes) {
    void *pointer = tau_library_aligned_alloc(heap, 8, size_bytes);
    return BUG == BUG_OUTSIDE && calls % RARELY == 0 ? arena_end - size_bytes / 16 * 8 : pointer;
}

void *tau_library_calloc(void *heap, size_t count, size_t size_bytes) {
    void *pointer = tau_library_aligned_alloc(heap, 8, count * size_bytes);
    if (pointer != NULL && BUG != BUG_NOT_CLEARED) {
        memset(pointer, 0, count * size_bytes);
    }
    return pointer;
}

#if BUG != BUG_NO_FREE
int tau_library_free(void *heap, void *pointer) {
    (void)heap;
    last = pointer == last ? NULL : last;
    return BUG == BUG_REFUSE_FREE && ++calls % RARELY == 0;
}
#endif

void *tau_library_realloc(void *heap, void *pointer, size_t size_bytes) {
    uint8_t *moved = tau_library_aligned_alloc(heap, 4096, size_bytes);
    if (moved != NULL && BUG != BUG_LOSE_CONTENT) {
        memmove(moved, pointer, size_bytes);  // Behind a shorter object is arena, too.
    }
    (void)heap;
    last = pointer == last ? NULL : last;
    return moved;
}
