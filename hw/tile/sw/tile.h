// What a program on the tile finds at fixed addresses; hw/tile/doc/tile.md explains each.
#ifndef TAU_TILE_H
#define TAU_TILE_H

#include <stdint.h>

#define TAU_TILE_TABLE0 ((volatile uint32_t *)0x20000000u)
#define TAU_TILE_TABLE1 ((volatile uint32_t *)0x24000000u)
#define TAU_TILE_TABLE2 ((volatile uint32_t *)0x28000000u)
#define TAU_TILE_PLAIN ((void *)0x2C000000u)
#define TAU_TILE_PLAIN_BYTES 0x100000u
#define TAU_TILE_LINKS ((volatile uint32_t *)0x30000000u)
#define TAU_TILE_UNIT ((volatile uint32_t *)0x41000000u)
#define TAU_TILE_WINDOW 0x80000000u
#define TAU_TILE_FRAMES 0xC0000000u
#define TAU_TILE_PAGE_BYTES 4096u

// Rights in a word of table 2 (and in the `top` words of table 0).
#define TAU_TILE_READ (1u << 27)
#define TAU_TILE_WRITE (1u << 28)
#define TAU_TILE_EXECUTE (1u << 29)

enum tau_tile_register {
    TAU_TILE_CONSOLE = 0x000,
    TAU_TILE_EXIT = 0x004,
    TAU_TILE_CYCLE = 0x008,
    TAU_TILE_TIMER_COMPARE = 0x010,
    TAU_TILE_NUMBER = 0x018,
    TAU_TILE_CONFIG = 0x01C,
    TAU_TILE_FETCH_CAUSE = 0x020,
    TAU_TILE_DATA_CAUSE = 0x024,
    TAU_TILE_STATUS = 0x040,
    TAU_TILE_NEXT = 0x044,
    TAU_TILE_COMMAND = 0x050,
    TAU_TILE_FAULT_RECORDS = 0x060,
    TAU_TILE_START = 0x080,
    TAU_TILE_DONE = 0x084,
    TAU_TILE_SEND = 0x088,
    TAU_TILE_COUNT = 0x08C,
    TAU_TILE_COUNTERS = 0x100,
};

// What TAU_TILE_CONFIG says in its four bytes, from the lowest: bits of a page number, bits of a
// frame number, the unit.
enum tau_tile_unit {
    TAU_TILE_UNIT_BARE = 0,
    TAU_TILE_UNIT_PAGETABLE = 1,
    TAU_TILE_UNIT_RTMMU = 2,
    TAU_TILE_UNIT_COMPOSABLE = 3,
    TAU_TILE_UNIT_TLB = 4,
    TAU_TILE_UNIT_RTMMU_TLB = 5,  // with a TLB of regions in front
    TAU_TILE_UNIT_PROBE = 255,
};

// Why an access was answered with an error: TAU_TILE_FETCH_CAUSE, TAU_TILE_DATA_CAUSE.
enum tau_tile_cause {
    TAU_TILE_CAUSE_NONE,
    TAU_TILE_CAUSE_UNMAPPED,
    TAU_TILE_CAUSE_RIGHTS,
    TAU_TILE_CAUSE_OUTSIDE,
};

static inline volatile uint32_t *tau_tile_register(uint32_t offset_bytes) {
    return (volatile uint32_t *)(0x40000000u + offset_bytes);
}

static inline uint32_t tau_tile_read(uint32_t offset_bytes) {
    return *tau_tile_register(offset_bytes);
}

static inline void tau_tile_write(uint32_t offset_bytes, uint32_t value) {
    *tau_tile_register(offset_bytes) = value;
}

// A number of two words: reading the low one keeps the high one.
static inline uint64_t tau_tile_read_long(uint32_t offset_bytes) {
    uint32_t low = tau_tile_read(offset_bytes);
    return (uint64_t)tau_tile_read(offset_bytes + 4) << 32 | low;
}

// Cycles since reset.
static inline uint64_t tau_tile_cycle(void) {
    return tau_tile_read_long(TAU_TILE_CYCLE);
}

// The counter of that index, in the order of doc/tile.md.
static inline uint64_t tau_tile_counter(uint32_t index) {
    return tau_tile_read_long(TAU_TILE_COUNTERS + 8 * index);
}

static inline void tau_tile_print(const char *text) {
    for (; *text != '\0'; text++)
        tau_tile_write(TAU_TILE_CONSOLE, (uint8_t)*text);
}

static inline void tau_tile_print_hex(uint32_t value) {
    for (int shift = 28; shift >= 0; shift -= 4) {
        tau_tile_write(TAU_TILE_CONSOLE, (uint8_t) "0123456789abcdef"[value >> shift & 15]);
    }
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
    tau_tile_write(TAU_TILE_EXIT, code);
    for (;;) {
    }
}

// Stops with a message, for assertions of programs.
_Noreturn static inline void tau_tile_fail(const char *text) {
    tau_tile_print("tile: failed: ");
    tau_tile_print(text);
    tau_tile_print("\n");
    tau_tile_exit(1);
}

// The mailbox, doc/mailbox.md. A stopwatch is 0 to 7.
static inline void tau_tile_start(uint32_t stopwatch, uint32_t tag) {
    tau_tile_write(TAU_TILE_START + 16 * stopwatch, tag);
}

static inline void tau_tile_done(uint32_t stopwatch, uint32_t value) {
    tau_tile_write(TAU_TILE_DONE + 16 * stopwatch, value);
}

static inline void tau_tile_send(uint32_t stopwatch, uint32_t value) {
    tau_tile_write(TAU_TILE_SEND + 16 * stopwatch, value);
}

static inline void tau_tile_count(uint32_t stopwatch) {
    tau_tile_write(TAU_TILE_COUNT + 16 * stopwatch, 0);
}

// Waits for the host's next command; 0 when there will be none.
static inline int tau_tile_next_command(uint32_t words[4]) {
    if ((tau_tile_read(TAU_TILE_STATUS) & 1) == 0)
        return 0;
    for (uint32_t i = 0; i < 4; i++)
        words[i] = tau_tile_read(TAU_TILE_COMMAND + 4 * i);
    tau_tile_write(TAU_TILE_NEXT, 0);
    return 1;
}

// Called by crt0.S at every trap; `address` is mtval. It returns where to go on: at `pc` to repeat
// the instruction. Without one of the program's own, the trap is printed and the simulation ends.
uint32_t tau_tile_trap(uint32_t cause, uint32_t address, uint32_t pc);

#endif
