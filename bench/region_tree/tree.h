// What the measured forms of the region tree share. BENCH_LOG2 is k, of 2^k pages; numbers are 64
// bits wide where 32 do not hold them.
//
// As in the core, pages count backwards: place = ~page, so that find looks for a first bit.
#ifndef BENCH_TREE_H
#define BENCH_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/private/bits.h"

#define INLINE static inline __attribute__((always_inline))

#if BENCH_LOG2 > 30
typedef int64_t place_type;
typedef uint64_t page_type;
#else
typedef int32_t place_type;
typedef uint32_t page_type;
#endif

#ifndef BENCH_WORD_LOG2
#define BENCH_WORD_LOG2 5
#endif
enum { LOG2 = BENCH_LOG2, WORD_LOG2 = BENCH_WORD_LOG2, WORD_BITS = 1 << WORD_LOG2 };
enum { LEVELS = (LOG2 + WORD_LOG2 - 1) / WORD_LOG2, TOP = LEVELS - 1 };

#if BENCH_WORD_LOG2 == 6
typedef uint64_t word_type;

INLINE unsigned lowest(word_type word) {
#if defined(__riscv) && !defined(__riscv_zbb)
    static const uint8_t places[64] = {
        0,  1,  56, 2,  57, 49, 28, 3,  61, 58, 42, 50, 38, 29, 17, 4,  62, 47, 59, 36, 45, 43,
        51, 22, 53, 39, 33, 30, 24, 18, 12, 5,  63, 55, 48, 27, 60, 41, 37, 16, 46, 35, 44, 21,
        52, 32, 23, 11, 54, 26, 40, 15, 34, 20, 31, 10, 25, 14, 19, 9,  13, 8,  7,  6,
    };
    return places[((word & -word) * UINT64_C(0x03f79d71b4ca8b09)) >> 58];
#else
    return (unsigned)__builtin_ctzll(word);
#endif
}

INLINE unsigned highest(word_type word) {
#if defined(__riscv) && !defined(__riscv_zbb)
    return word >> 32 != 0 ? 32 + tau_bits_highest((uint32_t)(word >> 32))
                           : tau_bits_highest((uint32_t)word);
#else
    return 63u - (unsigned)__builtin_clzll(word);
#endif
}
#else
typedef uint32_t word_type;

INLINE unsigned lowest(word_type word) {
    return tau_bits_lowest(word);
}

INLINE unsigned highest(word_type word) {
    return tau_bits_highest(word);
}
#endif

INLINE word_type bit_of(place_type place) {
    return (word_type)1 << (unsigned)(place & (WORD_BITS - 1));
}

INLINE word_type bits_from(place_type place) {
    return (word_type)-1 << (unsigned)(place & (WORD_BITS - 1));
}

// Words (or nodes) of LEVEL in a tree of 2^LOG2 pages.
INLINE place_type count_of(int level) {
    const int shift = WORD_LOG2 * (level + 1);
    return LOG2 > shift ? (place_type)1 << (LOG2 > shift ? LOG2 - shift : 0) : 1;
}

// Those of LEVEL and above.
INLINE place_type count_from(int level) {
    place_type count = 0;
#pragma GCC unroll 8
    for (int above = LEVELS; above > level; above--) {
        count += count_of(above - 1);
    }
    return count;
}

// What every form offers.
struct bench_tree {
    word_type *words;
};
size_t bench_tree_size_bytes(void);
void bench_tree_init(struct bench_tree *tree, void *memory);
page_type bench_tree_find(const struct bench_tree *tree, page_type page);
page_type bench_tree_next(const struct bench_tree *tree, page_type page);  // all ones: none
void bench_tree_split(struct bench_tree *tree, page_type page);
void bench_tree_union(struct bench_tree *tree, page_type page);

#endif
