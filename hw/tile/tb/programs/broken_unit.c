// The probe answers a lookup that nobody asked for: the port's assertion must stop the run.
#include "targets/tile/tile.h"

int main(void) {
    tau_tile_print("before\n");
    TAU_TILE_UNIT[2] = 1;
    for (int i = 0; i < 100; i++)
        __asm__ volatile("");
    tau_tile_print("after\n");
    return 0;
}
