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

// VALUE << COUNT % 32. RISC-V's shift takes the remainder itself, but gcc computes it all the same
// where it has another use.
TAU_INLINE uint32_t tau_bits_left(uint32_t value, unsigned count) {
#if defined(__riscv) && __riscv_xlen == 32
    __asm__("sll %0, %1, %2" : "=r"(value) : "r"(value), "r"(count));
    return value;
#else
    return value << (count & 31u);
#endif
}

TAU_INLINE uintptr_t tau_bits_right(uintptr_t value, unsigned count) {
#if defined(__riscv) && __riscv_xlen == 32
    __asm__("srl %0, %1, %2" : "=r"(value) : "r"(value), "r"(count));
    return value;
#else
    return value >> (count & 31u);
#endif
}

// How far `tau_bits_rotated` turns a number of less than 32 - COUNT bits to shift it left by COUNT.
// Arm can only turn right.
TAU_INLINE unsigned tau_bits_turns(unsigned count) {
#if defined(__thumb2__)
    return -count & 31u;
#else
    return count;
#endif
}

// VALUE turned by TURNS % 32. RISC-V shifts instead, by the remainder, which the machine takes.
TAU_INLINE uint32_t tau_bits_rotated(uint32_t value, unsigned turns) {
#if defined(__thumb2__)
    __asm__("ror %0, %1, %2" : "=r"(value) : "r"(value), "r"(turns));
    return value;
#else
    return tau_bits_left(value, turns);
#endif
}
// RISC-V has no scaled index, so the address of a word is kept. Elsewhere that takes a register.
#ifdef __riscv
#define TAU_BITS_BY_ADDRESS 1
#else
#define TAU_BITS_BY_ADDRESS 0
#endif

// The first bit, for `tau_bits_moved`. Held, as a compiler would load it again for every bit.
TAU_INLINE uint32_t tau_bits_one(void) {
    return (uint32_t)tau_bits_hold(TAU_BITS_FROM_TOP ? 0x80000000u : 1u);
}

// ONE at INDEX % 32.
TAU_INLINE uint32_t tau_bits_moved(uint32_t one, unsigned index) {
#if TAU_BITS_FROM_TOP && !defined(__thumb2__)
    return one >> (index & 31u);
#else
    return tau_bits_rotated(one, index);
#endif
}

TAU_INLINE uint32_t tau_bits_mask(unsigned index) {
    return TAU_BITS_FROM_TOP ? 0x80000000u >> index : 1u << index;
}

// The bits from INDEX (0 ... 31) on.
TAU_INLINE uint32_t tau_bits_from(unsigned index) {
    return TAU_BITS_FROM_TOP ? 0xffffffffu >> index : 0xffffffffu << index;
}

// The bits after INDEX (0 ... 31).
TAU_INLINE uint32_t tau_bits_above(unsigned index) {
    return TAU_BITS_FROM_TOP ? 0x7fffffffu >> index : 0xfffffffeu << index;
}

// Whether WORD has a bit after INDEX % 32. ONE as for `tau_bits_moved`.
TAU_INLINE bool tau_bits_any_above(uint32_t word, uint32_t one, unsigned index) {
    return TAU_BITS_FROM_TOP ? (word & tau_bits_above(index & 31u)) != 0
                                : word >> (index & 31u) > one;
}

// Clears BIT in *WORD, which holds BITS. Returns whether none is left. RISC-V can store 0 at once,
// but then takes a jump more if a bit is left. Elsewhere a compiler that knew both would compare
// besides.
TAU_INLINE bool tau_bits_clear(uint32_t *word, uint32_t bits, uint32_t bit) {
#ifdef __riscv
    if (TAU_ON_LONGEST_PATH(bits == bit)) {
        *word = 0;
        return true;
    }
    *word = bits ^ bit;
    return false;
#else
    const uint32_t left = (uint32_t)tau_bits_hold(bits ^ bit);
    *word = left;
    return TAU_ON_LONGEST_PATH(left == 0);
#endif
}

// Index of the first set bit of WORD, which is not 0.
TAU_INLINE unsigned tau_bits_first(uint32_t word) {
    return TAU_BITS_FROM_TOP ? 31u - tau_bits_highest(word) : tau_bits_lowest(word);
}

// Index of the first set bit of WORD after INDEX % 32. There is one.
TAU_INLINE unsigned tau_bits_first_above(uint32_t word, unsigned index) {
    return tau_bits_first(word & (TAU_BITS_FROM_TOP ? tau_bits_above(index & 31u)
                                                    : tau_bits_left(0xfffffffeu, index)));
}

TAU_INLINE unsigned tau_bits_last(uint32_t word) {
    return TAU_BITS_FROM_TOP ? 31u - tau_bits_lowest(word) : tau_bits_highest(word);
}

#endif
