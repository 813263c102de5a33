// The smallest program with an MMU. Each access to an unmapped page faults, the handler maps the
// page, and the access is repeated. Prints the cost of an access and of a fault.
#include "targets/tile/window.h"

enum { PAGES = 16, RUNS = 4 };
static uint32_t faults;
static uint32_t frame_next = 1;

uint32_t tau_tile_trap(uint32_t cause, uint32_t address, uint32_t pc) {
    if (address - TAU_TILE_ADDRESS_WINDOW >= 0x40000000u || cause > 7) {
        tau_tile_fail("a trap that is no fault of the window");
    }
    faults++;
    tau_window_map(tau_window_page_of(address), frame_next++, TAU_WINDOW_ALL);
    return pc;
}

static void print_cost(const char *text, uint32_t cycles) {
    tau_tile_print(text);
    tau_tile_print_number(cycles);
    tau_tile_print("\n");
}

static uint32_t load_cycles(volatile uint32_t *word) {
    uint32_t before, after;
    __asm__ volatile("csrr %0, mcycle\n lw %1, 0(%2)\n csrr %1, mcycle"
                     : "=&r"(before), "=&r"(after)
                     : "r"(word)
                     : "memory");
    return after - before;
}

int main(void) {
    tau_tile_write(TAU_TILE_REGISTER_FAULT_RECORDS, 1);
    for (uint32_t page = 1; page <= PAGES; page++) {
        volatile uint32_t *word = (volatile uint32_t *)tau_window_address(page);
        word[5] = page * 3;
        word[1023] = page * 7;
    }
    if (faults != PAGES)
        tau_tile_fail("not one fault a page");
    for (uint32_t page = 1; page <= PAGES; page++) {
        volatile uint32_t *word = (volatile uint32_t *)tau_window_address(page);
        volatile uint32_t *frame = (volatile uint32_t *)(TAU_TILE_ADDRESS_FRAMES + page * 4096);
        if (word[5] != page * 3 || word[1023] != page * 7)
            tau_tile_fail("a word is lost");
        if (frame[5] != page * 3)
            tau_tile_fail("the frame is another");
    }
    volatile uint32_t bank_word = 0;
    for (uint32_t run = 0; run < RUNS; run++) {
        print_cost("load from the data bank, cycles: ", load_cycles(&bank_word));
        print_cost("load from the window, cycles: ",
                   load_cycles((volatile uint32_t *)tau_window_address(1)));
    }
    tau_window_unmap(1);
    print_cost("load with a fault, cycles: ",
               load_cycles((volatile uint32_t *)tau_window_address(1)));
    print_cost("faults: ", faults);
    return 0;
}
