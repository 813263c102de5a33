// Bitmaps. Their bits count from the end that the machine scans from: Arm has only
// count-leading-zeros.
#ifndef TAU_BITS_MAP_H
#define TAU_BITS_MAP_H

#include "core/private/bits.h"

#ifdef __arm__
#define TAU_BITS_FROM_TOP 1
#else
#define TAU_BITS_FROM_TOP 0
#endif

static inline uint32_t tau_bits_mask(unsigned index) {
    return TAU_BITS_FROM_TOP ? 0x80000000u >> index : 1u << index;
}

// The bits from INDEX (0 ... 31) on.
static inline uint32_t tau_bits_from(unsigned index) {
    return TAU_BITS_FROM_TOP ? 0xffffffffu >> index : 0xffffffffu << index;
}

// The bits after INDEX (0 ... 31).
static inline uint32_t tau_bits_above(unsigned index) {
    return TAU_BITS_FROM_TOP ? 0x7fffffffu >> index : 0xfffffffeu << index;
}

// Index of the first set bit of WORD, which is not 0.
static inline unsigned tau_bits_first(uint32_t word) {
    return TAU_BITS_FROM_TOP ? 31u - tau_bits_highest(word) : tau_bits_lowest(word);
}

static inline unsigned tau_bits_last(uint32_t word) {
    return TAU_BITS_FROM_TOP ? 31u - tau_bits_lowest(word) : tau_bits_highest(word);
}

#endif
