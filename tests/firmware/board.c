// What the processor reads at reset: the stack, and newlib's own start. A fault ends the program.
#include <stdlib.h>

extern char __stack[];
void _start(void);

static void fault(void) {
    _Exit(99);
}

__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    __stack, (void *)_start, (void *)fault, (void *)fault, (void *)fault, (void *)fault,
};
