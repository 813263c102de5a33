// Without virtual memory: in the untranslated banks. Prints the cycles of the iterations.
#include "repro/composable/programs/iterations.h"
#include "targets/tile/tile.h"

static uint32_t cycle(void) {
    uint32_t now;
    __asm__ volatile("csrr %0, mcycle" : "=r"(now) : : "memory");
    return now;
}

int main(void) {
    tau_iterations_begin();
    const uint32_t before = cycle();
    tau_iterations_run();
    tau_tile_print_number(cycle() - before);
    return 0;
}
