#include "kernel/systems/jpeg/huffman.h"

// Every entry whose first BITS bits are CODE.
static void fill_lookup(struct tau_jpeg_huffman *table, uint32_t code, uint32_t bits,
                        uint32_t symbol) {
    const uint32_t spare = TAU_JPEG_LOOKUP_BITS - bits;
    for (uint32_t i = 0; i < 1u << spare; i++) {
        table->lookup[(code << spare) + i] = (uint16_t)(bits << 8 | symbol);
    }
}

bool tau_jpeg_huffman_define(struct tau_jpeg_huffman *table, const uint8_t counts[16],
                             const uint8_t *symbols) {
    uint32_t code = 0;
    uint32_t used = 0;
    table->is_defined = false;
    for (uint32_t i = 0; i < 1u << TAU_JPEG_LOOKUP_BITS; i++) {
        table->lookup[i] = 0;
    }
    for (uint32_t bits = 1; bits <= TAU_JPEG_CODE_BITS_MAX; bits++) {
        const uint32_t count = counts[bits - 1];
        if (count > 0 && code + count >= 1u << bits) {
            return false;
        }
        table->index[bits] = (uint16_t)(used - code);
        for (uint32_t i = 0; i < count; i++, code++, used++) {
            table->symbols[used] = symbols[used];
            if (bits <= TAU_JPEG_LOOKUP_BITS) {
                fill_lookup(table, code, bits, symbols[used]);
            }
        }
        table->limit[bits] = code << (16 - bits);
        code <<= 1;
    }
    table->is_defined = true;
    return true;
}
