#include "kernel/systems/jpeg/idct.h"

#include <stdbool.h>

enum {
    CONSTANT_BITS = 13,  // fractional bits of a constant
    PASS_BITS = 2,       // fractional bits between the two passes
    SCALE_BITS = 3,      // both passes together scale by 8
};

#define FIXED(number) ((uint32_t)(int32_t)((number) * (1 << CONSTANT_BITS) + 0.5))

// Four samples are stored at once.
typedef uint32_t __attribute__((may_alias)) samples_word;

// One column or row. All sums are unsigned, so that coefficients out of range wrap around; see the
// header. No array and no loop: the compiler keeps named fields in registers.
struct line {
    uint32_t x0, x1, x2, x3, x4, x5, x6, x7;
};

// Transforms a line, and scales it by the square root of 8 and by 2^CONSTANT_BITS.
// With c(k) = sqrt(2) cos(k pi / 16), products are shared between a rotation's two results.
static inline struct line transform(struct line f) {
    const uint32_t half = (f.x2 + f.x6) * FIXED(0.541196100);  // c(6)
    const uint32_t low = half - f.x6 * FIXED(1.847759065);     // c(2) + c(6)
    const uint32_t high = half + f.x2 * FIXED(0.765366865);    // c(2) - c(6)
    const uint32_t sum = (f.x0 + f.x4) << CONSTANT_BITS;
    const uint32_t difference = (f.x0 - f.x4) << CONSTANT_BITS;
    const uint32_t even0 = sum + high;
    const uint32_t even1 = difference + low;
    const uint32_t even2 = difference - low;
    const uint32_t even3 = sum - high;

    const uint32_t all = (f.x1 + f.x3 + f.x5 + f.x7) * FIXED(1.175875602);  // c(3)
    const uint32_t z17 = (f.x1 + f.x7) * FIXED(0.899976223);                // c(3) - c(7)
    const uint32_t z35 = (f.x3 + f.x5) * FIXED(2.562915447);                // c(1) + c(3)
    const uint32_t z37 = all - (f.x3 + f.x7) * FIXED(1.961570560);          // c(3) + c(5)
    const uint32_t z15 = all - (f.x1 + f.x5) * FIXED(0.390180644);          // c(3) - c(5)
    const uint32_t odd0 = f.x1 * FIXED(1.501321110) - z17 + z15;  // c(1) + c(3) - c(5) - c(7)
    const uint32_t odd1 = f.x3 * FIXED(3.072711026) - z35 + z37;  // c(1) + c(3) + c(5) - c(7)
    const uint32_t odd2 = f.x5 * FIXED(2.053119869) - z35 + z15;  // c(1) + c(3) - c(5) + c(7)
    const uint32_t odd3 = f.x7 * FIXED(0.298631336) - z17 + z37;  // -c(1) + c(3) + c(5) - c(7)

    return (struct line){
        even0 + odd0, even1 + odd1, even2 + odd2, even3 + odd3,
        even3 - odd3, even2 - odd2, even1 - odd1, even0 - odd0,
    };
}

static inline uint32_t round_off(uint32_t value, uint32_t bits) {
    return (uint32_t)((int32_t)(value + (1u << (bits - 1))) >> bits);
}

static inline bool is_flat(struct line f) {
    return (f.x1 | f.x2 | f.x3 | f.x4 | f.x5 | f.x6 | f.x7) == 0;
}

static inline uint32_t coefficient_of(const int16_t *column, uint32_t row) {
    return (uint32_t)(int32_t)column[TAU_JPEG_SIDE * row];
}

static inline void store_column(uint32_t *work, struct line f) {
    work[TAU_JPEG_SIDE * 0] = f.x0;
    work[TAU_JPEG_SIDE * 1] = f.x1;
    work[TAU_JPEG_SIDE * 2] = f.x2;
    work[TAU_JPEG_SIDE * 3] = f.x3;
    work[TAU_JPEG_SIDE * 4] = f.x4;
    work[TAU_JPEG_SIDE * 5] = f.x5;
    work[TAU_JPEG_SIDE * 6] = f.x6;
    work[TAU_JPEG_SIDE * 7] = f.x7;
}

static inline uint32_t between_passes(uint32_t value) {
    return round_off(value, CONSTANT_BITS - PASS_BITS);
}

static inline void transform_column(const int16_t *column, uint32_t *work) {
    const struct line f = {
        coefficient_of(column, 0), coefficient_of(column, 1), coefficient_of(column, 2),
        coefficient_of(column, 3), coefficient_of(column, 4), coefficient_of(column, 5),
        coefficient_of(column, 6), coefficient_of(column, 7),
    };
    if (is_flat(f)) {
        const uint32_t flat = f.x0 << PASS_BITS;
        store_column(work, (struct line){flat, flat, flat, flat, flat, flat, flat, flat});
        return;
    }
    const struct line sums = transform(f);
    store_column(work, (struct line){
                           between_passes(sums.x0),
                           between_passes(sums.x1),
                           between_passes(sums.x2),
                           between_passes(sums.x3),
                           between_passes(sums.x4),
                           between_passes(sums.x5),
                           between_passes(sums.x6),
                           between_passes(sums.x7),
                       });
}

// A sample from a sum with FRACTION_BITS fractional bits.
static inline uint32_t sample_of(uint32_t sum, uint32_t fraction_bits) {
    const int32_t sample = (int32_t)round_off(sum, fraction_bits) + 128;
    if ((uint32_t)sample <= 255) {
        return (uint32_t)sample;
    }
    return sample < 0 ? 0 : 255;
}

static inline uint32_t four_samples(uint32_t sum0, uint32_t sum1, uint32_t sum2, uint32_t sum3) {
    const uint32_t bits = CONSTANT_BITS + PASS_BITS + SCALE_BITS;
    return sample_of(sum0, bits) | sample_of(sum1, bits) << 8 | sample_of(sum2, bits) << 16 |
           sample_of(sum3, bits) << 24;
}

static inline void transform_row(const uint32_t *work, samples_word *samples) {
    const struct line f = {
        work[0], work[1], work[2], work[3], work[4], work[5], work[6], work[7],
    };
    if (is_flat(f)) {
        samples[0] = samples[1] = sample_of(f.x0, PASS_BITS + SCALE_BITS) * 0x01010101u;
        return;
    }
    const struct line sums = transform(f);
    samples[0] = four_samples(sums.x0, sums.x1, sums.x2, sums.x3);
    samples[1] = four_samples(sums.x4, sums.x5, sums.x6, sums.x7);
}

static void transform_block(const int16_t block[TAU_JPEG_BLOCK], uint8_t samples[TAU_JPEG_BLOCK]) {
    uint32_t work[TAU_JPEG_BLOCK];
    samples_word *words = (samples_word *)(void *)samples;
    for (uint32_t i = 0; i < TAU_JPEG_SIDE; i++) {
        transform_column(block + i, work + i);
    }
    for (uint32_t i = 0; i < TAU_JPEG_SIDE; i++) {
        transform_row(work + TAU_JPEG_SIDE * i, words + 2 * i);
    }
}

void tau_jpeg_idct_mcu(const struct tau_jpeg_coefficients *coefficients,
                       struct tau_jpeg_samples *samples) {
    const struct tau_jpeg_place place = coefficients->place;
    const uint32_t blocks_count = tau_jpeg_shapes[place.layout].blocks_count;
    samples->place = place;
    for (uint32_t i = 0; i < blocks_count && place.status == 0; i++) {
        transform_block(coefficients->blocks[i], samples->blocks[i]);
    }
}
