// What translation costs a loop: the same code and data in the banks, then in the window. Prints
// the cycles of both, once nothing misses any more, with both words in one page and in two pages by
// turns. Then the same of a loop that reads one page and writes another. window.h defines
// the window's pages.
#include "targets/tile/window.h"

enum { ROUNDS = 100, CODE_PAGE = 1, DATA_PAGE = 2, PAGE = 4096, NEAR = 64 };

uint32_t at_once_run(uint32_t data, uint32_t count, uint32_t offset, uint32_t code);
extern const uint32_t at_once_begin[], at_once_copy[], at_once_end[];
static uint32_t words[NEAR + 1];

static void put_code(uint32_t frame) {
    volatile uint32_t *to = (volatile uint32_t *)(TAU_TILE_ADDRESS_FRAMES + frame * PAGE);
    for (const uint32_t *from = at_once_begin; from < at_once_end; from++)
        *to++ = *from;
}

static void print_cycles(const char *text, uint32_t data, uint32_t offset, uint32_t code) {
    at_once_run(data, 2, offset, code);
    tau_tile_print(text);
    tau_tile_print_number(at_once_run(data, ROUNDS, offset, code));
    tau_tile_print("\n");
}

int main(void) {
    for (uint32_t page = CODE_PAGE; page <= DATA_PAGE + 1; page++)
        tau_window_map(page, page, TAU_WINDOW_ALL);
    put_code(CODE_PAGE);
    const uint32_t code = tau_window_address(CODE_PAGE), data = tau_window_address(DATA_PAGE);
    const uint32_t bank = (uint32_t)(uintptr_t)words;
    const uint32_t copy = 4 * (uint32_t)(at_once_copy - at_once_begin);
    print_cycles("banks ", bank, NEAR, (uint32_t)(uintptr_t)at_once_begin);
    print_cycles("window, one page ", data, NEAR, code);
    print_cycles("window, two pages ", data, PAGE, code);
    print_cycles("banks, copy ", bank, NEAR, (uint32_t)(uintptr_t)at_once_copy);
    print_cycles("window, copy ", data, PAGE, code + copy);
    return 0;
}
