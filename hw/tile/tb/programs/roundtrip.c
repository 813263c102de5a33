// What a fault costs apart from its handler. The probe refuses one lookup although the page is
// mapped; the handler is nop and mret in the vector table. The tile records how long it took from
// the request that faulted to the repeated request. Then the same with an access across two pages,
// both refused. Last, loads from a unit that takes lookups late: what the tile counts must be what
// the core's counter says. Prints cycles of a hit, of the fault, and of all the late loads.
#include "targets/tile/window.h"

uint32_t roundtrip_load(uint32_t address);
extern char roundtrip_handler[];

enum { LATE_LOADS = 64, HOLD = 128 };

int main(void) {
    tau_window_map(3, 9, TAU_WINDOW_ALL);
    tau_window_map(4, 10, TAU_WINDOW_ALL);
    __asm__ volatile("csrw mtvec, %0" ::"r"(roundtrip_handler));
    tau_tile_write(TAU_TILE_REGISTER_FAULT_RECORDS, 3);
    roundtrip_load(tau_window_address(3));
    uint32_t hit = roundtrip_load(tau_window_address(3));
    TAU_TILE_UNIT[5] = 1;
    uint32_t fault = roundtrip_load(tau_window_address(3));
    TAU_TILE_UNIT[5] = 2;
    roundtrip_load(tau_window_address(4) - 2);
    TAU_TILE_UNIT[0] = HOLD;
    uint32_t late = 0;
    for (uint32_t i = 0; i < LATE_LOADS; i++)
        late += roundtrip_load(tau_window_address(4));
    tau_tile_print_number(hit);
    tau_tile_print(" ");
    tau_tile_print_number(fault);
    tau_tile_print(" ");
    tau_tile_print_number(late);
    tau_tile_print("\n");
    return 0;
}
