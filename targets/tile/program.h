// What programs without a kernel do on the tile: serve the host's commands, fail, handle traps.
#ifndef TAU_TILE_PROGRAM_H
#define TAU_TILE_PROGRAM_H

#include "targets/tile/tile.h"

// The counter with that index, in the order of hw/tile/doc/tile.md.
static inline uint64_t tau_tile_counter(uint32_t index) {
    return tau_tile_read_long(TAU_TILE_REGISTER_COUNTERS + 8 * index);
}

static inline void tau_tile_print_hex(uint32_t value) {
    for (int shift = 28; shift >= 0; shift -= 4) {
        const char digit = "0123456789abcdef"[value >> shift & 15];
        tau_tile_write(TAU_TILE_REGISTER_CONSOLE, (uint8_t)digit);
    }
}

// Stops with a message, for assertions of programs.
_Noreturn static inline void tau_tile_fail(const char *text) {
    tau_tile_print("tile: failed: ");
    tau_tile_print(text);
    tau_tile_print("\n");
    tau_tile_exit(1);
}

static inline void tau_tile_count(uint32_t stopwatch) {
    tau_tile_write(TAU_TILE_REGISTER_COUNT + 16 * stopwatch, 0);
}

// Waits for the host's next command. Returns 0 if there are no more commands.
static inline int tau_tile_next_command(uint32_t words[4]) {
    if ((tau_tile_read(TAU_TILE_REGISTER_STATUS) & 1) == 0)
        return 0;
    for (uint32_t i = 0; i < 4; i++)
        words[i] = tau_tile_read(TAU_TILE_REGISTER_COMMAND + 4 * i);
    tau_tile_write(TAU_TILE_REGISTER_NEXT, 0);
    return 1;
}

// crt0.S calls this at every trap. `address` is mtval. It returns the address at which to continue;
// `pc` repeats the instruction. The default, if a program defines none, prints the trap and ends
// the simulation.
uint32_t tau_tile_trap(uint32_t cause, uint32_t address, uint32_t pc);

#endif
