#include "kernel/base/base.h"

uint64_t tau_base_time(void) {
    volatile uint32_t *low = tau_system_page_word(TAU_TILE_SYSTEM_PAGE_CYCLE);
    uint32_t high;
    uint32_t value;
    do {  // bound: two turns, since the upper half changes every 2^32 cycles
        high = low[1];
        value = low[0];
    } while (high != low[1]);
    return (uint64_t)high << 32 | value;
}

void tau_base_print(const char *text) {
    tau_system_page_print(text);
}
