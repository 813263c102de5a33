// The fixed addresses of the tile, and its registers. hw/tile/doc/tile.md explains each.
#ifndef TAU_TILE_H
#define TAU_TILE_H

#include "facts/gen/tau_tile_format.h"

#include <stdint.h>

#define TAU_TILE_TABLE0 ((volatile uint32_t *)TAU_TILE_ADDRESS_TABLE0)
#define TAU_TILE_TABLE1 ((volatile uint32_t *)TAU_TILE_ADDRESS_TABLE1)
#define TAU_TILE_TABLE2 ((volatile uint32_t *)TAU_TILE_ADDRESS_TABLE2)
#define TAU_TILE_PLAIN ((void *)TAU_TILE_ADDRESS_PLAIN)
#define TAU_TILE_LINKS ((volatile uint32_t *)TAU_TILE_ADDRESS_LINKS)
#define TAU_TILE_UNIT ((volatile uint32_t *)TAU_TILE_ADDRESS_UNIT)

// Rights in a word of table 2, and in the `top` words of table 0.
#define TAU_TILE_READ (1u << TAU_TILE_PAGE_WORD_READ)
#define TAU_TILE_WRITE (1u << TAU_TILE_PAGE_WORD_WRITE)
#define TAU_TILE_EXECUTE (1u << TAU_TILE_PAGE_WORD_EXECUTE)
#define TAU_TILE_RIGHTS (TAU_TILE_READ | TAU_TILE_WRITE | TAU_TILE_EXECUTE)

static inline volatile uint32_t *tau_tile_register(uint32_t offset_bytes) {
    return (volatile uint32_t *)(TAU_TILE_ADDRESS_DEVICE + offset_bytes);
}

static inline uint32_t tau_tile_read(uint32_t offset_bytes) {
    return *tau_tile_register(offset_bytes);
}

static inline void tau_tile_write(uint32_t offset_bytes, uint32_t value) {
    *tau_tile_register(offset_bytes) = value;
}

// A 64-bit number. Reading its low word latches its high word.
static inline uint64_t tau_tile_read_long(uint32_t offset_bytes) {
    uint32_t low = tau_tile_read(offset_bytes);
    return (uint64_t)tau_tile_read(offset_bytes + 4) << 32 | low;
}

// Cycles since reset.
static inline uint64_t tau_tile_cycle(void) {
    return tau_tile_read_long(TAU_TILE_REGISTER_CYCLE);
}

static inline void tau_tile_print(const char *text) {
    for (; *text != '\0'; text++)
        tau_tile_write(TAU_TILE_REGISTER_CONSOLE, (uint8_t)*text);
}

static inline void tau_tile_print_number(uint32_t value) {
    char digits[11];
    char *first = digits + sizeof digits - 1;
    *first = '\0';
    do {
        *--first = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    tau_tile_print(first);
}

// Ends the simulation; 0 is success.
_Noreturn static inline void tau_tile_exit(uint32_t code) {
    tau_tile_write(TAU_TILE_REGISTER_EXIT, code);
    for (;;) {
    }
}

// Stopwatches of the mailbox, 0 to 7: hw/tile/doc/mailbox.md.
static inline void tau_tile_start(uint32_t stopwatch, uint32_t tag) {
    tau_tile_write(TAU_TILE_REGISTER_START + 16 * stopwatch, tag);
}

static inline void tau_tile_done(uint32_t stopwatch, uint32_t value) {
    tau_tile_write(TAU_TILE_REGISTER_DONE + 16 * stopwatch, value);
}

static inline void tau_tile_send(uint32_t stopwatch, uint32_t value) {
    tau_tile_write(TAU_TILE_REGISTER_SEND + 16 * stopwatch, value);
}

#endif
