// The test's kernel: functions that are called known numbers of times, before and after the marker.
// OTHER_KERNEL is another build of it.
#include <stdint.h>

#define NOINLINE __attribute__((noinline))
#define OTHER_CODE_WORDS 2

int falls_through(int value);
int traps(int value);
void kernel_main(void);

static volatile int sink;
static uint32_t other_code[OTHER_CODE_WORDS];

NOINLINE void boot_only(void) {
    sink++;
#ifdef OTHER_KERNEL
    sink += 3;
#endif
}

NOINLINE void cold(void) {
    sink += 2;
}

NOINLINE void hot(void) {
    sink += 3;
}

NOINLINE void never(void) {
    sink += 4;
}

NOINLINE void steady_begins(void) {
    sink = 0;
}

// A loop within one function: many blocks, one touch.
NOINLINE void loops(int count) {
    for (int index = 0; index < count; index++) {
        sink += index;
    }
}

// Code that no symbol knows, as a module's or a user's: addi a0, a0, 1; ret.
NOINLINE int run_other_code(void) {
    volatile uint32_t *code = other_code;
    code[0] = 0x00150513;
    code[1] = 0x00008067;
    __asm__ volatile("fence.i" ::: "memory");
    return ((int (*)(int))(uintptr_t)other_code)(1);
}

void kernel_main(void) {
    for (int index = 0; index < 7; index++) {
        boot_only();
    }
    cold();
    steady_begins();
    for (int index = 0; index < 100; index++) {
        hot();
    }
    cold();
    loops(50);
    cold();
    sink += falls_through(1);
    sink += run_other_code();
    sink += traps(1);
    if (sink == 1) {
        never();
    }
}
