// The application's system page: how a task marks its iterations, and says something.
#ifndef TAU_SYSTEM_PAGE_H
#define TAU_SYSTEM_PAGE_H

#include <stdint.h>

#include "facts/gen/tau_compose_format.h"
#include "facts/gen/tau_tile_format.h"

static inline volatile uint32_t *tau_system_page_word(uint32_t offset_bytes) {
    return (volatile uint32_t *)(uintptr_t)(TAU_COMPOSE_ADDRESS_SYSTEM + offset_bytes);
}

// Marks, at the cost of one store, that iteration ITERATION (below 2^23) of TASK starts or ends.
static inline void tau_system_page_mark(uint32_t task, uint32_t iteration, uint32_t is_end) {
    *tau_system_page_word(TAU_TILE_SYSTEM_PAGE_MARK) = task << 24 | iteration << 1 | is_end;
}

static inline void tau_system_page_print(const char *text) {
    for (; *text != '\0'; text++) {  // bound: the text
        *tau_system_page_word(TAU_TILE_SYSTEM_PAGE_CONSOLE) = (uint8_t)*text;
    }
}

static inline void tau_system_page_print_hex(uint32_t value) {
    for (int shift = 28; shift >= 0; shift -= 4) {
        *tau_system_page_word(TAU_TILE_SYSTEM_PAGE_CONSOLE) =
            (uint8_t) "0123456789abcdef"[value >> shift & 15];
    }
}

#endif
