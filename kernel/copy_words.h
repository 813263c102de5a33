// Clears and copies memory, eight words per turn of the loop: with one word per turn, the loop
// costs more than its store. The words are `volatile`, as the tile's other hardware reads and
// writes the same memory.
#ifndef TAU_KERNEL_COPY_WORDS_H
#define TAU_KERNEL_COPY_WORDS_H

#include <stdint.h>

// Clears COUNT words. Cost: constant for each eight words and for each that is left over.
static inline void tau_words_clear(volatile uint32_t *words, uint32_t count) {
    volatile uint32_t *const end = words + count;
    for (; end - words >= 8; words += 8) {
        words[0] = words[1] = words[2] = words[3] = 0;
        words[4] = words[5] = words[6] = words[7] = 0;
    }
    for (; words != end; words++) {
        *words = 0;
    }
}

// Copies COUNT words. Cost: as above.
static inline void tau_words_copy(volatile uint32_t *words, const volatile uint32_t *source,
                                  uint32_t count) {
    volatile uint32_t *const end = words + count;
    for (; end - words >= 8; words += 8, source += 8) {
        words[0] = source[0];
        words[1] = source[1];
        words[2] = source[2];
        words[3] = source[3];
        words[4] = source[4];
        words[5] = source[5];
        words[6] = source[6];
        words[7] = source[7];
    }
    for (; words != end; words++, source++) {
        *words = *source;
    }
}

#endif
