// Bit scans and roundings, in constant time on every machine.
//
// Machines without count-leading-zeros use tables instead of a call into the compiler's library. At
// -O2 a logarithm takes two shifts and a table of 256 bytes, and the lowest bit takes a de Bruijn
// multiplication and a table of 32. A build for size has a table of 64 for the logarithm.
#ifndef TAU_BITS_H
#define TAU_BITS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/private/inline.h"

// RISC-V without Zbb and ARMv6-M have no such instruction. There the builtin is a library call.
#ifndef TAU_BITS_SCAN
#if (defined(__riscv) && !defined(__riscv_zbb)) || defined(__ARM_ARCH_6M__)
#define TAU_BITS_SCAN 0
#else
#define TAU_BITS_SCAN 1
#endif
#endif

// Largest argument of tau_bits_log2 that works on every machine.
#define TAU_BITS_LOG2_MAX 0xffffffu

#if TAU_BITS_SCAN
// floor(log2(value)); 0 for 0.
TAU_INLINE unsigned tau_bits_log2(uintptr_t value) {
#if UINTPTR_MAX > 0xffffffffu
    return 63u - (unsigned)__builtin_clzll(value | 1u);
#else
    return 31u - (unsigned)__builtin_clz(value | 1u);
#endif
}

// COUNT - LESS, at least 0. Zbb has the minimum of two registers; Arm clears a negative number.
TAU_INLINE unsigned tau_bits_beyond(unsigned count, unsigned less) {
#ifdef __riscv
    return count - (less < count ? less : count);
#else
    return (int)(count - less) > 0 ? count - less : 0;
#endif
}

// Index of the lowest set bit of VALUE, which is not 0.
TAU_INLINE unsigned tau_bits_lowest(uint32_t value) {
    return (unsigned)__builtin_ctz(value);
}

// Index of the highest set bit of VALUE, which is not 0.
TAU_INLINE unsigned tau_bits_highest(uint32_t value) {
    return 31u - (unsigned)__builtin_clz(value);
}
#elif defined(__OPTIMIZE_SIZE__)
// Logarithms of 0 … 63, then the positions of the de Bruijn sequence.
#define TAU_BITS_DE_BRUIJN 64
static const uint8_t tau_bits_table[96] = {
    0,  0,  1,  1,  2, 2, 2,  2,  3,  3,  3,  3,  3,  3,  3, 3, 4,  4,  4,  4,  4,  4,  4,  4,
    4,  4,  4,  4,  4, 4, 4,  4,  5,  5,  5,  5,  5,  5,  5, 5, 5,  5,  5,  5,  5,  5,  5,  5,
    5,  5,  5,  5,  5, 5, 5,  5,  5,  5,  5,  5,  5,  5,  5, 5, 0,  1,  28, 2,  29, 14, 24, 3,
    30, 22, 20, 15, 25, 17, 4, 8, 31, 27, 13, 23, 21, 19, 16, 7, 26, 12, 18, 6, 11, 5,  10, 9,
};

TAU_INLINE unsigned tau_bits_log2(uintptr_t value) {
    unsigned above = 0;
    if (value >> 12 != 0) {
        value >>= 12;
        above = 12;
    }
    if (value >> 6 != 0) {
        value >>= 6;
        above += 6;
    }
    return above + tau_bits_table[value];
}

TAU_INLINE unsigned tau_bits_lowest(uint32_t value) {
    return tau_bits_table[TAU_BITS_DE_BRUIJN + (((value & -value) * 0x077cb531u) >> 27)];
}

TAU_INLINE unsigned tau_bits_highest(uint32_t value) {
    return value >> 16 != 0 ? 16u + tau_bits_log2(value >> 16) : tau_bits_log2(value);
}
#else
// Logarithms of 0 … 255, then the positions of the de Bruijn sequence. One table, so that its
// address is loaded once for both.
#define TAU_BITS_DE_BRUIJN 256
static const uint8_t tau_bits_table[288] = {
    0,  0,  1,  1,  2,  2,  2, 2, 3,  3,  3,  3,  3,  3,  3,  3, 4,  4,  4,  4, 4,  4,  4,  4,
    4,  4,  4,  4,  4,  4,  4, 4, 5,  5,  5,  5,  5,  5,  5,  5, 5,  5,  5,  5, 5,  5,  5,  5,
    5,  5,  5,  5,  5,  5,  5, 5, 5,  5,  5,  5,  5,  5,  5,  5, 6,  6,  6,  6, 6,  6,  6,  6,
    6,  6,  6,  6,  6,  6,  6, 6, 6,  6,  6,  6,  6,  6,  6,  6, 6,  6,  6,  6, 6,  6,  6,  6,
    6,  6,  6,  6,  6,  6,  6, 6, 6,  6,  6,  6,  6,  6,  6,  6, 6,  6,  6,  6, 6,  6,  6,  6,
    6,  6,  6,  6,  6,  6,  6, 6, 7,  7,  7,  7,  7,  7,  7,  7, 7,  7,  7,  7, 7,  7,  7,  7,
    7,  7,  7,  7,  7,  7,  7, 7, 7,  7,  7,  7,  7,  7,  7,  7, 7,  7,  7,  7, 7,  7,  7,  7,
    7,  7,  7,  7,  7,  7,  7, 7, 7,  7,  7,  7,  7,  7,  7,  7, 7,  7,  7,  7, 7,  7,  7,  7,
    7,  7,  7,  7,  7,  7,  7, 7, 7,  7,  7,  7,  7,  7,  7,  7, 7,  7,  7,  7, 7,  7,  7,  7,
    7,  7,  7,  7,  7,  7,  7, 7, 7,  7,  7,  7,  7,  7,  7,  7, 7,  7,  7,  7, 7,  7,  7,  7,
    7,  7,  7,  7,  7,  7,  7, 7, 7,  7,  7,  7,  7,  7,  7,  7, 0,  1,  28, 2, 29, 14, 24, 3,
    30, 22, 20, 15, 25, 17, 4, 8, 31, 27, 13, 23, 21, 19, 16, 7, 26, 12, 18, 6, 11, 5,  10, 9,
};

TAU_INLINE unsigned tau_bits_log2(uintptr_t value) {
    // The second return ends the longest path, so it is the fall-through.
    if (__builtin_expect(value >> 16 == 0, 1)) {
        if (__builtin_expect(value >> 8 != 0, 1)) {
            return 8u + tau_bits_table[value >> 8];
        }
        return tau_bits_table[value];
    }
    return 16u + tau_bits_table[value >> 16];
}

TAU_INLINE unsigned tau_bits_lowest(uint32_t value) {
    return tau_bits_table[TAU_BITS_DE_BRUIJN + (((value & -value) * 0x077cb531u) >> 27)];
}

TAU_INLINE unsigned tau_bits_highest(uint32_t value) {
    return value >> 16 != 0 ? 16u + tau_bits_log2(value >> 16) : tau_bits_log2(value);
}
#endif

// Returns VALUE, but the compiler treats it as unknown. It can neither recompute the value, nor
// reuse words that it read through the value before.
TAU_INLINE uintptr_t tau_bits_hold(uintptr_t value) {
    __asm__("" : "+r"(value));
    return value;
}

TAU_INLINE void *tau_bits_hold_pointer(void *value) {
    return (void *)tau_bits_hold((uintptr_t)value);
}

TAU_INLINE bool tau_bits_is_power_of_two(uintptr_t value) {
    return value != 0 && (value & (value - 1)) == 0;
}

// ALIGNMENT is a power of two; the sum must not overflow.
TAU_INLINE uintptr_t tau_bits_round_up(uintptr_t value, uintptr_t alignment) {
    return (value + alignment - 1) & ~(alignment - 1);
}

#endif
