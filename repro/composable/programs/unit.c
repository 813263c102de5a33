// Prints what the unit takes: loads of tables of 0 to 64 entries, and a miss of each entry beyond a
// hit of it.
#include "targets/tile/mmu_composable.h"

enum { RUNS = TAU_MMU_COMPOSABLE_ENTRIES, FIRST_PAGE = 64, FIRST_FRAME = 64 };

static uint32_t cycle(void) {
    uint32_t now;
    __asm__ volatile("csrr %0, mcycle" : "=r"(now) : : "memory");
    return now;
}

static void print(const char *name, uint32_t value) {
    tau_tile_print(name);
    tau_tile_print(" ");
    tau_tile_print_number(value);
    tau_tile_print("\n");
}

static void fill(uint32_t entries) {
    for (uint32_t i = 0; i < TAU_MMU_COMPOSABLE_ENTRIES; i++) {
        const uint32_t frame = i < entries ? (FIRST_FRAME + i) | TAU_TILE_READ : 0;
        tau_mmu_composable_set(0, i, FIRST_PAGE + i, 0, frame);
    }
}

enum { NOPS = 100 };

// Starts a load, reads its register NOPS_COUNT instructions later, and waits for its end. Returns
// the cycles from the store to the read, if the load was over then.
static uint32_t cycles_if_over(uint32_t nops_count) {
    uint32_t begin;
    uint32_t end;
    uint32_t is_loading;
    volatile uint32_t *reg = TAU_TILE_UNIT + TAU_TILE_COMPOSABLE_LOAD;
    __asm__ volatile(
        ".option push\n.option norelax\n"
        "la t2, 2f\n sub t2, t2, %4\n"
        "csrr %0, mcycle\n sw zero, 0(%3)\n jr t2\n"
        ".rept %5\n c.nop\n .endr\n"
        "2: csrr %1, mcycle\n lw %2, 0(%3)\n"
        ".option pop"
        : "=&r"(begin), "=&r"(end), "=&r"(is_loading)
        : "r"(reg), "r"(2 * nops_count), "i"(NOPS)
        : "t2", "memory");
    while (*reg != 0)
        continue;
    return is_loading == 0 ? end - begin : UINT32_MAX;
}

static uint32_t load_cycles(void) {
    uint32_t least = UINT32_MAX;
    for (uint32_t nops_count = 0; nops_count <= NOPS; nops_count++) {
        const uint32_t cycles = cycles_if_over(nops_count);
        least = cycles < least ? cycles : least;
    }
    return least;
}

static uint32_t access_cycles(uint32_t page) {
    const volatile uint32_t *word = (volatile uint32_t *)(TAU_TILE_ADDRESS_WINDOW + page * 1024);
    const uint32_t before = cycle();
    (void)*word;
    return cycle() - before;
}

int main(void) {
    for (uint32_t entries = 0; entries <= TAU_MMU_COMPOSABLE_ENTRIES; entries++) {
        fill(entries);
        print("load", load_cycles());
    }
    for (uint32_t i = 0; i < RUNS; i++) {
        const uint32_t miss = access_cycles(FIRST_PAGE + i);
        const uint32_t hit = access_cycles(FIRST_PAGE + i);
        print("miss", miss - hit);
    }
    return 0;
}
