// A handler that faults itself.
#include "targets/tile/window.h"

uint32_t tau_tile_trap(uint32_t cause, uint32_t address, uint32_t pc) {
    (void)cause;
    *(volatile uint32_t *)(address + 4096) = 1;
    return pc;
}

int main(void) {
    *(volatile uint32_t *)tau_window_address(5) = 1;
    return 0;
}
