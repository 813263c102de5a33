// Handlers that fault themselves, each in another way; the command's first word says which. All of
// them must end the simulation: none may spin.
#include "targets/tile/window.h"

enum { BY_STORE, BY_LOAD, BY_STACK, BY_CALL, BY_ILLEGAL, BY_ECALL, NOT_THERE, UNMAPPED, ACROSS };
static uint32_t way;

static void point_mtvec_at(uint32_t address) {
    __asm__ volatile("csrw mtvec, %0" ::"r"(address));
}

uint32_t tau_tile_trap(uint32_t cause, uint32_t address, uint32_t pc) {
    (void)cause;
    switch (way) {
    case BY_STORE:
        *(volatile uint32_t *)(address + 4096) = 1;
        break;
    case BY_LOAD:
        (void)*(volatile uint32_t *)address;
        break;
    case BY_CALL:
        ((void (*)(void))(uintptr_t)address)();
        break;
    case BY_ILLEGAL:
        __asm__ volatile(".word 0");
        break;
    case BY_ECALL:
        __asm__ volatile("ecall");
        break;
    case ACROSS:
        (void)*(volatile uint32_t *)(address + 4094);
        break;
    }
    return pc;
}

int main(void) {
    uint32_t words[4];
    if (!tau_tile_next_command(words))
        tau_tile_fail("no command");
    way = words[0];
    if (way == NOT_THERE)
        point_mtvec_at(0x50000000);
    if (way == UNMAPPED)
        point_mtvec_at(tau_window_address(9));
    if (way == BY_STACK)
        __asm__ volatile("li sp, 0x1000\n lw t0, 0(%0)" ::"r"(tau_window_address(5)) : "t0");
    *(volatile uint32_t *)tau_window_address(5) = 1;
    return 0;
}
