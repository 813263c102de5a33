// What the processor reads at reset: the stack, newlib's own start, the kernel's handlers under
// the names of FreeRTOS's ports, and a timer of the board (CMSDK timer 0).
#include <stdlib.h>

extern char __stack[];
void _start(void);
void timer_interrupt(void);
void xPortPendSVHandler(void);
void xPortSysTickHandler(void);
__attribute__((weak)) void vPortSVCHandler(void);  // the stand-in has none

static void fault(void) {
    _Exit(99);
}

__attribute__((section(".vectors"), used)) static const void *const vectors[25] = {
    [0] = __stack,
    [1] = (void *)_start,
    [2] = (void *)fault,
    [3] = (void *)fault,
    [4] = (void *)fault,
    [5] = (void *)fault,
    [6] = (void *)fault,
    [11] = (void *)vPortSVCHandler,
    [14] = (void *)xPortPendSVHandler,
    [15] = (void *)xPortSysTickHandler,
    [24] = (void *)timer_interrupt,
};
