// The default trap handler: prints a message and ends the simulation.
#include "targets/tile/program.h"

__attribute__((weak)) uint32_t tau_tile_trap(uint32_t cause, uint32_t address, uint32_t pc) {
    tau_tile_print("tile: trap, cause ");
    tau_tile_print_hex(cause);
    tau_tile_print(" address ");
    tau_tile_print_hex(address);
    tau_tile_print(" pc ");
    tau_tile_print_hex(pc);
    tau_tile_print("\n");
    tau_tile_exit(255);
}
