// Sets of frames, one bit each. Loops over words are laid out, so that the longest path is a bound.
#ifndef TAU_CODE_CACHE_FLAGS_H
#define TAU_CODE_CACHE_FLAGS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/code_cache.h"
#include "core/private/bits.h"
#include "core/private/check.h"
#include "core/private/inline.h"

_Static_assert(TAU_CODE_CACHE_FRAMES_MAX % 32 == 0, "flags are whole words");
_Static_assert(TAU_CODE_CACHE_WORDS >= 1 && TAU_CODE_CACHE_WORDS <= 7,
               "loops are laid out seven times, and a byte says a frame");

TAU_SHARED bool code_cache_has(const struct tau_code_cache_flags *flags, unsigned frame) {
    TAU_ASSERT(frame < TAU_CODE_CACHE_FRAMES_MAX);
    return (flags->words[frame / 32] >> frame % 32 & 1u) != 0;
}

TAU_SHARED void code_cache_set(struct tau_code_cache_flags *flags, unsigned frame) {
    TAU_ASSERT(frame < TAU_CODE_CACHE_FRAMES_MAX);
    flags->words[frame / 32] |= UINT32_C(1) << frame % 32;
}

// Sets the flags of the frames from FIRST on that are in BITS; all are in one word.
TAU_SHARED void code_cache_set_some(struct tau_code_cache_flags *flags, unsigned first,
                                    uint32_t bits) {
    TAU_ASSERT(first < TAU_CODE_CACHE_FRAMES_MAX);
    TAU_ASSERT(bits << first % 32 >> first % 32 == bits);
    flags->words[first / 32] |= bits << first % 32;
}

TAU_SHARED void code_cache_clear(struct tau_code_cache_flags *flags, unsigned frame) {
    TAU_ASSERT(frame < TAU_CODE_CACHE_FRAMES_MAX);
    flags->words[frame / 32] &= ~(UINT32_C(1) << frame % 32);
}

// Takes the frames in UNWANTED out of LEFT, unless none would be left. Returns whether it did.
TAU_SHARED bool code_cache_narrow(struct tau_code_cache_flags *left,
                                  const struct tau_code_cache_flags *unwanted) {
    struct tau_code_cache_flags narrowed;
    uint32_t any = 0;
#pragma GCC unroll 7
    for (unsigned word = 0; word < TAU_CODE_CACHE_WORDS; word++) {
        narrowed.words[word] = left->words[word] & ~unwanted->words[word];
        any |= narrowed.words[word];
    }
    if (any == 0) {
        return false;
    }
#pragma GCC unroll 7
    for (unsigned word = 0; word < TAU_CODE_CACHE_WORDS; word++) {
        left->words[word] = narrowed.words[word];
    }
    return true;
}

// The lowest frame in FLAGS, which are not empty.
TAU_SHARED unsigned code_cache_lowest(const struct tau_code_cache_flags *flags) {
    unsigned first = 0;
    uint32_t chosen = flags->words[0];
#pragma GCC unroll 7
    for (unsigned word = 1; word < TAU_CODE_CACHE_WORDS; word++) {
        if (chosen != 0) {
            break;
        }
        chosen = flags->words[word];
        first = 32 * word;
    }
    TAU_ASSERT(chosen != 0);
    return first + tau_bits_lowest(chosen);
}

// Set bits of each pair, nibble, byte and half of a word, as fields of that width.
struct code_cache_sums {
    uint32_t pairs;
    uint32_t nibbles;
    uint32_t bytes;
    uint32_t halves;
};

TAU_SHARED struct code_cache_sums code_cache_sums_of(uint32_t word) {
    struct code_cache_sums sums;
    sums.pairs = word - (word >> 1 & 0x55555555u);
    sums.nibbles = (sums.pairs & 0x33333333u) + (sums.pairs >> 2 & 0x33333333u);
    sums.bytes = (sums.nibbles + (sums.nibbles >> 4)) & 0x0f0f0f0fu;
    sums.halves = (sums.bytes + (sums.bytes >> 8)) & 0x00ff00ffu;
    return sums;
}

TAU_SHARED uint32_t code_cache_count_word(uint32_t word) {
    const uint32_t halves = code_cache_sums_of(word).halves;
    return (halves + (halves >> 16)) & 0x3fu;
}

TAU_SHARED uint32_t code_cache_count(const struct tau_code_cache_flags *flags) {
    uint32_t count = 0;
#pragma GCC unroll 7
    for (unsigned word = 0; word < TAU_CODE_CACHE_WORDS; word++) {
        count += code_cache_count_word(flags->words[word]);
    }
    TAU_ASSERT(count <= TAU_CODE_CACHE_FRAMES_MAX);
    return count;
}

// The bit of WORD that has BELOW set bits below it: goes to the half, byte, … that holds it.
TAU_SHARED unsigned code_cache_select_word(uint32_t word, uint32_t below) {
    const struct code_cache_sums sums = code_cache_sums_of(word);
    const uint32_t by_width[] = {sums.halves, sums.bytes, sums.nibbles, sums.pairs, word};
    unsigned bit = 0;
    TAU_ASSERT(below < code_cache_count_word(word));
#pragma GCC unroll 5
    for (unsigned step = 0; step < 5; step++) {
        const unsigned width = 16u >> step;
        const uint32_t lower = by_width[step] >> bit & ((UINT32_C(1) << width) - 1);
        if (below >= lower) {
            below -= lower;
            bit += width;
        }
    }
    TAU_ASSERT(below == 0 && (word >> bit & 1u) != 0);
    return bit;
}

// The frame in FLAGS that has BELOW others in it below itself.
TAU_SHARED unsigned code_cache_select(const struct tau_code_cache_flags *flags, uint32_t below) {
    unsigned first = 0;
    uint32_t chosen = flags->words[0];
    TAU_ASSERT(below < code_cache_count(flags));
#pragma GCC unroll 7
    for (unsigned word = 1; word < TAU_CODE_CACHE_WORDS; word++) {
        const uint32_t count = code_cache_count_word(chosen);
        if (below < count) {
            break;
        }
        below -= count;
        chosen = flags->words[word];
        first = 32 * word;
    }
    return first + code_cache_select_word(chosen, below);
}

#endif
