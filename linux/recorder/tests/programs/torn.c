// A program that leaves malloc by siglongjmp behind each of its instructions in turn, and so also
// in the middle of each store of the recorder's row. Built twice: with -DALLOCATOR it is the
// library, whose malloc of the telling size may be left anywhere.
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define SIZE 777

#ifdef ALLOCATOR

void *__libc_malloc(size_t size);

void *malloc(size_t size) {
    static char memory[1 << 22];
    static size_t used;
    if (size != SIZE) {
        return __libc_malloc(size);
    }
    used += 1024;
    return memory + used - 1024;
}

#else

static sigjmp_buf back;
static volatile long steps_left;

// Called after every instruction while the processor's trap flag is set.
static void step(int number) {
    (void)number;
    if (--steps_left == 0) {
        siglongjmp(back, 1);
    }
}

// Whether malloc was left, behind STEPS instructions.
static __attribute__((noinline)) int leaves_malloc(long steps) {
    steps_left = steps;
    if (sigsetjmp(back, 1) != 0) {
        return 1;
    }
    __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
    void *volatile made = malloc(SIZE);
    __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
    return made == NULL;
}

// As many objects of 1033 bytes as there are tries, whose number it prints.
int main(void) {
    signal(SIGTRAP, step);
    for (long steps = 1; steps < 4000; steps++) {
        free(malloc(1033));
        if (!leaves_malloc(steps)) {
            fprintf(stderr, "tries %ld\n", steps);
            return 0;
        }
    }
    return 1;
}

#endif
