#include "linux/coldcode/profile/checksum.h"

#define POLYNOMIAL 0xedb88320u  // reflected: bit 31 is the coefficient of x^0

static uint32_t of_byte[256];

static void fill_table(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t rest = byte;
        for (int bit = 0; bit < 8; bit++) {
            rest = (rest >> 1) ^ (POLYNOMIAL & (0u - (rest & 1u)));
        }
        of_byte[byte] = rest;
    }
}

uint32_t tau_checksum_add(uint32_t checksum, const void *bytes, size_t bytes_count) {
    const uint8_t *next = bytes;
    if (of_byte[1] == 0) {
        fill_table();
    }
    checksum = ~checksum;
    for (size_t index = 0; index < bytes_count; index++) {
        checksum = of_byte[(checksum ^ next[index]) & 0xff] ^ (checksum >> 8);
    }
    return ~checksum;
}
