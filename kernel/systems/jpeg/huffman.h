// A Huffman table of T.81, Annex C and F.2.2.3: codes of at most 16 bits, in order of their length.
#ifndef TAU_JPEG_HUFFMAN_H
#define TAU_JPEG_HUFFMAN_H

#include <stdbool.h>
#include <stdint.h>

enum {
    TAU_JPEG_CODE_BITS_MAX = 16,
    TAU_JPEG_LOOKUP_BITS = 8,  // codes up to this length are found by one load
    TAU_JPEG_SYMBOLS_MAX = 256,
};

struct tau_jpeg_huffman {
    uint16_t lookup[1 << TAU_JPEG_LOOKUP_BITS];  // length << 8 | symbol; 0: no code so short
    // By length: the first 16 bits, left-aligned, that no code up to this length begins; and what
    // added to a code, modulo 2^16, gives its index in `symbols`.
    uint32_t limit[TAU_JPEG_CODE_BITS_MAX + 1];
    uint16_t index[TAU_JPEG_CODE_BITS_MAX + 1];
    uint8_t symbols[TAU_JPEG_SYMBOLS_MAX];
    bool is_defined;
};

// Defines TABLE from COUNTS[n], the number of codes of n + 1 bits, and the SYMBOLS in their order.
// - The caller grants: the counts sum up to at most TAU_JPEG_SYMBOLS_MAX, and SYMBOLS has as many.
// - False if and only if there are more codes of some length than fit, the code of all ones
//   counting as one. TABLE is undefined then.
// - Cost: at most 256 + 16 × 256 steps.
bool tau_jpeg_huffman_define(struct tau_jpeg_huffman *table, const uint8_t counts[16],
                             const uint8_t *symbols);

// The code at the front of the 16 bits PEEKED: length << 8 | symbol, or 0 if there is none.
// At most 8 steps.
static inline uint32_t tau_jpeg_huffman_find(const struct tau_jpeg_huffman *table,
                                             uint32_t peeked) {
    const uint32_t found = table->lookup[peeked >> (16 - TAU_JPEG_LOOKUP_BITS)];
    if (found != 0) {
        return found;
    }
    for (uint32_t bits = TAU_JPEG_LOOKUP_BITS + 1; bits <= TAU_JPEG_CODE_BITS_MAX; bits++) {
        if (peeked < table->limit[bits]) {
            const uint32_t index = (peeked >> (16 - bits)) + table->index[bits];
            return bits << 8 | table->symbols[index % TAU_JPEG_SYMBOLS_MAX];
        }
    }
    return 0;
}

#endif
