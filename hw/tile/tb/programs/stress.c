// Random accesses of all sizes and alignments to 24 pages of the window, against an array in the
// data bank; pages lose their mapping all the time (the frame stays), and a timer interrupts every
// few cycles. Prints `ok`, faults and interrupts. The command's first word is the seed.
#include "targets/tile/window.h"

enum { PAGES = 24, PAGE = 4096, ACCESSES = 2500, INTERRUPT_CYCLES = 397 };
enum { TIMER = 0x80000007u };

static uint8_t expected[PAGES * PAGE];
static uint32_t faults, interrupts, random_state;

static uint32_t random_below(uint32_t limit) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return (uint32_t)((uint64_t)random_state * limit >> 32);
}

static void set_timer(void) {
    uint64_t next = tau_tile_cycle() + INTERRUPT_CYCLES;
    tau_tile_write(TAU_TILE_REGISTER_TIMER_COMPARE + 4, (uint32_t)(next >> 32));
    tau_tile_write(TAU_TILE_REGISTER_TIMER_COMPARE, (uint32_t)next);
}

uint32_t tau_tile_trap(uint32_t cause, uint32_t address, uint32_t pc) {
    if (cause == TIMER) {
        interrupts++;
        set_timer();
        return pc;
    }
    uint32_t page = tau_window_page_of(address);
    if ((cause != 5 && cause != 7) || page == 0 || page > PAGES)
        tau_tile_fail("foreign trap");
    faults++;
    tau_window_map(page, 100 - page, TAU_WINDOW_ALL);
    return pc;
}

static void check_access(uint32_t offset, uint32_t bytes, int is_store) {
    volatile void *address = (volatile void *)(tau_window_address(1) + offset);
    uint32_t value = random_below(~0u), read = 0, wanted = 0;
    if (is_store) {
        if (bytes == 4) {
            __asm__ volatile("sw %0, 0(%1)" ::"r"(value), "r"(address) : "memory");
        } else if (bytes == 2) {
            __asm__ volatile("sh %0, 0(%1)" ::"r"(value), "r"(address) : "memory");
        } else {
            __asm__ volatile("sb %0, 0(%1)" ::"r"(value), "r"(address) : "memory");
        }
        for (uint32_t i = 0; i < bytes; i++)
            expected[offset + i] = (uint8_t)(value >> 8 * i);
        return;
    }
    if (bytes == 4) {
        __asm__ volatile("lw %0, 0(%1)" : "=r"(read) : "r"(address) : "memory");
    } else if (bytes == 2) {
        __asm__ volatile("lhu %0, 0(%1)" : "=r"(read) : "r"(address) : "memory");
    } else {
        __asm__ volatile("lbu %0, 0(%1)" : "=r"(read) : "r"(address) : "memory");
    }
    for (uint32_t i = 0; i < bytes; i++)
        wanted |= (uint32_t)expected[offset + i] << 8 * i;
    if (read != wanted) {
        tau_tile_print_hex(offset);
        tau_tile_fail(" read what was not written");
    }
}

int main(void) {
    uint32_t words[4];
    if (!tau_tile_next_command(words))
        tau_tile_fail("no seed");
    random_state = words[0] | 1;
    if ((tau_tile_read(TAU_TILE_REGISTER_CONFIG) >> 16 & 255) == TAU_TILE_UNIT_PROBE) {
        TAU_TILE_UNIT[1] = words[0];
        TAU_TILE_UNIT[0] = words[1];
    }
    for (uint32_t page = 1; page <= PAGES; page++) {
        tau_window_unmap(page);
        for (uint32_t i = 0; i < PAGE; i += 4) {
            *(volatile uint32_t *)(TAU_TILE_ADDRESS_FRAMES + (100 - page) * PAGE + i) = 0;
        }
    }
    set_timer();
    __asm__ volatile("csrs mie, %0\n csrsi mstatus, 8" ::"r"(0x80));
    for (uint32_t i = 0; i < ACCESSES; i++) {
        if (random_below(4) == 0)
            tau_window_unmap(1 + random_below(PAGES));
        uint32_t bytes = 1u << random_below(3);
        uint32_t offset = random_below(PAGES * PAGE - 4);
        // Half of them where two pages meet.
        if (random_below(2) == 0)
            offset = (1 + random_below(PAGES - 1)) * PAGE - random_below(5);
        check_access(offset, bytes, random_below(2) == 0);
    }
    tau_tile_print("ok ");
    tau_tile_print_number(faults);
    tau_tile_print(" ");
    tau_tile_print_number(interrupts);
    tau_tile_print("\n");
    return 0;
}
