// The mailbox: each command {operation, a, b, c} runs `a` empty rounds under stopwatch b % 8, and
// is listed (operation 1) or counted (2); operation 3 also touches the page c, which faults.
#include "targets/tile/window.h"

uint32_t tau_tile_trap(uint32_t cause, uint32_t address, uint32_t pc) {
    if (cause != 5 && cause != 7)
        tau_tile_fail("not a data fault");
    tau_window_map(tau_window_page_of(address), 1, TAU_WINDOW_ALL);
    return pc;
}

__attribute__((noinline)) static void measure(const uint32_t *words) {
    uint32_t stopwatch = words[2] % 8;
    tau_tile_start(stopwatch, words[1]);
    for (uint32_t round = 0; round < words[1]; round++) {
        __asm__ volatile("");
    }
    if (words[0] == 3)
        *(volatile uint32_t *)tau_window_address(words[3]) = words[1];
    tau_tile_done(stopwatch, ~words[1]);
    if (words[0] == 2) {
        tau_tile_count(stopwatch);
    } else {
        tau_tile_send(stopwatch, words[3]);
    }
}

int main(void) {
    uint32_t words[4], count = 0;
    tau_tile_write(TAU_TILE_REGISTER_FAULT_RECORDS, 1);
    tau_tile_start(7, 0xE0E0);
    tau_tile_done(7, 0);
    tau_tile_send(7, 0);
    while (tau_tile_next_command(words)) {
        measure(words);
        count++;
    }
    if (tau_tile_read(TAU_TILE_REGISTER_COMMAND) != 0)
        tau_tile_fail("a command behind the last");
    tau_tile_print_number(count);
    tau_tile_print(" commands\n");
    return 0;
}
