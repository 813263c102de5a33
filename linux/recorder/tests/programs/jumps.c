// An allocator that raises a signal in the middle of a call with a telling size, and a program
// whose handler leaves the call by siglongjmp. Built twice: with -DALLOCATOR it is the library.
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

#ifdef ALLOCATOR

void *__libc_malloc(size_t size);
void *__libc_realloc(void *pointer, size_t size);
void __libc_free(void *pointer);

void *malloc(size_t size) {
    if (size == 777) {
        raise(SIGUSR1);
    }
    return __libc_malloc(size);
}

void *realloc(void *pointer, size_t size) {
    if (size == 777) {
        raise(SIGUSR1);
    }
    return __libc_realloc(pointer, size);
}

void free(void *pointer) {
    __libc_free(pointer);
}

#else

static sigjmp_buf back;

static void jump(int number) {
    siglongjmp(back, number);
}

// Allocates at some depth of the stack, whose frames it uses.
static __attribute__((noinline)) int deeper(int depth) {
    volatile char frame[64];
    for (unsigned int i = 0; i < sizeof(frame); i++) {
        frame[i] = (char)depth;
    }
    if (depth > 0) {
        return deeper(depth - 1) + frame[depth];
    }
    for (int i = 0; i < 1000; i++) {
        free(malloc(1033));
    }
    return frame[0];
}

int main(int count, char **arguments) {
    const int depth = count > 1 ? atoi(arguments[1]) : 0;
    void *moved = malloc(2033);
    signal(SIGUSR1, jump);
    if (sigsetjmp(back, 1) == 0) {
        free(malloc(777));
    }
    const int first = deeper(depth);
    if (sigsetjmp(back, 1) == 0) {
        moved = realloc(moved, 777);
    }
    const int second = deeper(depth);
    free(moved);
    return first != second;
}

#endif
