#include "linux/coldcode/profile/checksum.h"

#include <string.h>

#define POLYNOMIAL 0xedb88320u  // reflected: bit 31 is the coefficient of x^0
#define STEP_BYTES 8u

// A byte's part of the checksum if 0 … 7 zero bytes are after it. So eight bytes are eight
// independent loads, where one by one each waits for the one before.
static uint32_t with_zeros[STEP_BYTES][256];

static void fill_tables(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t rest = byte;
        for (int bit = 0; bit < 8; bit++) {
            rest = (rest >> 1) ^ (POLYNOMIAL & (0u - (rest & 1u)));
        }
        with_zeros[0][byte] = rest;
    }
    for (uint32_t byte = 0; byte < 256; byte++) {
        for (uint32_t zeros = 1; zeros < STEP_BYTES; zeros++) {
            const uint32_t fewer = with_zeros[zeros - 1][byte];
            with_zeros[zeros][byte] = with_zeros[0][fewer & 0xff] ^ (fewer >> 8);
        }
    }
}

uint32_t tau_checksum_add(uint32_t checksum, const void *bytes, size_t bytes_count) {
    const uint8_t *next = bytes;
    if (with_zeros[0][1] == 0) {
        fill_tables();
    }
    checksum = ~checksum;
    for (; bytes_count >= STEP_BYTES; bytes_count -= STEP_BYTES, next += STEP_BYTES) {
        uint64_t step;
        memcpy(&step, next, sizeof step);  // little-endian, as all that QEMU runs this plugin on
        step ^= checksum;
        checksum = 0;
        for (uint32_t place = 0; place < STEP_BYTES; place++) {
            checksum ^= with_zeros[STEP_BYTES - 1 - place][step >> (8 * place) & 0xff];
        }
    }
    for (; bytes_count > 0; bytes_count--, next++) {
        checksum = with_zeros[0][(checksum ^ *next) & 0xff] ^ (checksum >> 8);
    }
    return ~checksum;
}
