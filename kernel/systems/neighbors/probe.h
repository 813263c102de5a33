// Attempts to reach what no application may: one of the kernel's or of others' addresses, an own
// page by an access that it does not allow, a CSR, an instruction of the machine. Each ends the
// task. One that does not is printed, and so is what the kernel left in registers.
#ifndef TAU_NEIGHBORS_PROBE_H
#define TAU_NEIGHBORS_PROBE_H

#include <stdint.h>

#include "kernel/base/system_page.h"

enum { PROBE_LOAD = 1, PROBE_STORE = 2, PROBE_FETCH = 4, PROBE_ANY = 7, PROBE_RET = 0x8067 };

// The first word, how many words from there on are like it, and the accesses that are forbidden.
struct probe_place {
    uintptr_t address;
    uint32_t words;
    uint32_t forbidden;
};

static inline void probe_print(const char *text, uint32_t value, const char *end) {
    tau_system_page_print(text);
    tau_system_page_print_hex(value);
    tau_system_page_print(end);
}

// Prints each register that is not 0, of x5 to x31 but gp's: nobody has given them values.
static inline void probe_registers(const uint32_t *registers) {
    for (uint32_t i = 5; i < 32; i++) {
        if (registers[i] != 0) {
            probe_print("found: register ", i, "");
            probe_print(" begins with ", registers[i], "\n");
        }
    }
}

// An access that PLACE forbids, at a word that CHANCE chooses. A store keeps what is there, a fetch
// of own data finds a return.
static inline void probe_access(const struct probe_place *place, uint32_t chance) {
    const uintptr_t address = place->address + 4 * (chance % place->words);
    uint32_t access = UINT32_C(1) << (chance >> 24) % 3;
    while ((place->forbidden & access) == 0) {  // bound: it forbids one of three
        access = access == PROBE_FETCH ? PROBE_LOAD : access << 1;
    }
    volatile uint32_t *word = (volatile uint32_t *)address;
    if (access == PROBE_LOAD) {
        (void)*word;
    } else if (access == PROBE_STORE) {
        *word = (place->forbidden & PROBE_LOAD) != 0 ? 0 : *word;
    } else {
        if ((place->forbidden & PROBE_STORE) == 0) {
            *word = PROBE_RET;
            __asm__ volatile(".word 0x0000100f");  // fence.i
        }
        ((void (*)(void))address)();
    }
    probe_print(access == PROBE_LOAD     ? "reached: load of "
                : access == PROBE_STORE ? "reached: store to "
                                        : "reached: fetch from ",
                (uint32_t)address, "\n");
}

static inline void probe_instruction(uint32_t chance) {
    switch (chance % 8) {
    case 0:
        __asm__ volatile(".word 0");
        break;
    case 1:
        __asm__ volatile(".word 0x7b200073");  // dret
        break;
    case 2:
        __asm__ volatile(".word 0x10200073");  // sret
        break;
    case 3:
        __asm__ volatile("li a7, 77\n ecall" ::: "a7");
        break;
    case 4:
        __asm__ volatile("csrr t0, %0" ::"i"(TAU_NEIGHBOR_CSR) : "t0");
        break;
    case 5:
        __asm__ volatile("csrw %0, zero" ::"i"(TAU_NEIGHBOR_CSR));
        break;
    case 6:
        __asm__ volatile("csrr t0, mcycle" ::: "t0");
        break;
    default:
        __asm__ volatile("csrs mstatus, %0" ::"r"(chance));
    }
    probe_print("reached: instruction ", chance % 8, "\n");
}

#endif
