// AES-128 (FIPS 197), each block for itself: substitutions, rows and columns by tables that are
// made in front of it.
#include "repro/composable/programs/work/work.h"

enum { ROUNDS = 10, COLUMNS = 4 };
static uint8_t substitute[256];
static uint32_t column[256];  // of a byte in row 0; other rows are turned
static uint32_t keys[COLUMNS * (ROUNDS + 1)];

static uint32_t turned(uint32_t word, uint32_t bits) {
    return bits == 0 ? word : word << bits | word >> (32 - bits);
}

static uint32_t doubled(uint32_t byte) {
    return (byte << 1 ^ (byte >> 7) * 0x11B) & 255;
}

static void make_tables(void) {
    uint32_t power = 1;
    uint32_t inverse = 1;
    do {  // bound: 255, as 3 generates every byte but 0
        power ^= doubled(power);
        inverse ^= inverse << 1;  // divided by 3
        inverse ^= inverse << 2;
        inverse ^= inverse << 4;
        inverse = (inverse & 255) ^ (inverse >> 7 & 1) * 9;
        uint32_t mixed = inverse ^ 0x63;
        for (uint32_t i = 1; i <= 4; i++) {
            mixed ^= (inverse << i | inverse >> (8 - i)) & 255;
        }
        substitute[power] = (uint8_t)mixed;
    } while (power != 1);
    substitute[0] = 0x63;
    for (uint32_t i = 0; i < 256; i++) {
        const uint32_t byte = substitute[i];
        column[i] = doubled(byte) | byte << 8 | byte << 16 | (doubled(byte) ^ byte) << 24;
    }
}

void tau_iterations_begin(void) {
    tau_work_fill();
    make_tables();
    uint32_t constant = 1;
    for (uint32_t i = 0; i < COLUMNS * (ROUNDS + 1); i++) {
        uint32_t word = i < COLUMNS ? tau_work_input[i] : keys[i - 1];
        if (i >= COLUMNS && i % COLUMNS == 0) {
            word = turned(word, 24);
            word = (uint32_t)substitute[word & 255] | (uint32_t)substitute[word >> 8 & 255] << 8 |
                   (uint32_t)substitute[word >> 16 & 255] << 16 |
                   (uint32_t)substitute[word >> 24] << 24;
            word ^= constant;
            constant = doubled(constant);
        }
        keys[i] = i < COLUMNS ? word : word ^ keys[i - COLUMNS];
    }
}

static void encrypt(const uint32_t *from, uint32_t *to) {
    uint32_t state[COLUMNS];
    uint32_t next[COLUMNS];
    for (uint32_t i = 0; i < COLUMNS; i++) {
        state[i] = from[i] ^ keys[i];
    }
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        for (uint32_t i = 0; i < COLUMNS; i++) {
            uint32_t word = keys[COLUMNS * round + i];
            for (uint32_t row = 0; row < 4; row++) {
                const uint32_t byte = state[(i + row) % COLUMNS] >> 8 * row & 255;
                word ^= round == ROUNDS ? (uint32_t)substitute[byte] << 8 * row
                                        : turned(column[byte], 8 * row);
            }
            next[i] = word;
        }
        for (uint32_t i = 0; i < COLUMNS; i++) {
            state[i] = next[i];
        }
    }
    for (uint32_t i = 0; i < COLUMNS; i++) {
        to[i] = state[i];
    }
}

void tau_iterations_run(void) {
    for (uint32_t i = 0; i < TAU_SIZE; i++) {
        encrypt(tau_work_input + COLUMNS * i, tau_work_output + COLUMNS * i);
    }
}
