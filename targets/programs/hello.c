// The smallest program. Prints where it runs and how long an empty measurement takes.
#include "targets/tile/tile.h"

int main(void) {
    uint32_t before = (uint32_t)tau_tile_cycle();
    uint32_t after = (uint32_t)tau_tile_cycle();
    tau_tile_print("hello from tile ");
    tau_tile_print_number(tau_tile_read(TAU_TILE_REGISTER_NUMBER));
    tau_tile_print(", unit ");
    tau_tile_print_number(tau_tile_read(TAU_TILE_REGISTER_CONFIG) >> 16 & 255);
    tau_tile_print(", cycles between two readings: ");
    tau_tile_print_number(after - before);
    tau_tile_print("\n");
    return 0;
}
