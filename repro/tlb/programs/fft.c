// A fast Fourier transform in place, of radix 2, in fixed point [P4-22]. The first half of the
// numbers are real parts, the second half imaginary ones; their count is a power of two.
#include "paged_array.h"

enum { QUARTER_LOG2 = 6, QUARTER = 1 << QUARTER_LOG2 };

// sin(i * pi / 2 / QUARTER) * 2^14, for the first quarter of a turn.
static int16_t sines[QUARTER + 1];

// By the rotation of a point on a circle: a step of pi / 2 / QUARTER, as cosine and sine.
static void make_sines(void) {
    const int32_t step_cosine = 1073418433;  // times 2^30
    const int32_t step_sine = 26350943;
    int32_t cosine = 1 << 30;
    int32_t sine = 0;
    TAU_LOOP(table, QUARTER + 1);
    for (uint32_t i = 0; i <= QUARTER; i++) {  // bound: the table
        TAU_ROUND(table);
        sines[i] = (int16_t)(((sine >> 15) + 1) >> 1);
        const int64_t next = (int64_t)cosine * step_cosine - (int64_t)sine * step_sine;
        sine = (int32_t)(((int64_t)sine * step_cosine + (int64_t)cosine * step_sine) >> 30);
        cosine = (int32_t)(next >> 30);
    }
}

// The sine of TURN / (4 * QUARTER) of a turn.
static int32_t sine_of(uint32_t turn) {
    const uint32_t quarter = turn >> QUARTER_LOG2 & 3;
    const uint32_t rest = turn & (QUARTER - 1);
    const int32_t value = sines[(quarter & 1) != 0 ? QUARTER - rest : rest];
    return (quarter & 2) != 0 ? -value : value;
}

static void swap(const struct paged_array *array, uint32_t one, uint32_t other) {
    const int32_t moved = *at(array, one);
    *at(array, one) = *at(array, other);
    *at(array, other) = moved;
}

static void reverse_bits(const struct paged_array *array, uint32_t points) {
    uint32_t reversed = 0;
    TAU_LOOP(points, 0);
    TAU_LOOP(carries, 0);
    for (uint32_t i = 0; i < points; i++) {  // bound: the points
        TAU_ROUND(points);
        if (i < reversed) {
            swap(array, i, reversed);
            swap(array, points + i, points + reversed);
        }
        uint32_t bit = points >> 1;
        while ((reversed & bit) != 0) {  // bound: the bits of POINTS
            TAU_ROUND(carries);
            reversed ^= bit;
            bit >>= 1;
        }
        reversed |= bit;
    }
}

static void butterfly(const struct paged_array *array, uint32_t points, uint32_t one,
                      uint32_t other, uint32_t turn) {
    const int32_t cosine = sine_of(turn + QUARTER);
    const int32_t sine = -sine_of(turn);
    const int32_t real = *at(array, other);
    const int32_t imaginary = *at(array, points + other);
    const int32_t turned_real = (cosine * (real >> 1) - sine * (imaginary >> 1)) >> 14;
    const int32_t turned_imaginary = (cosine * (imaginary >> 1) + sine * (real >> 1)) >> 14;
    const int32_t kept_real = *at(array, one) >> 1;
    const int32_t kept_imaginary = *at(array, points + one) >> 1;
    *at(array, one) = kept_real + turned_real;
    *at(array, points + one) = kept_imaginary + turned_imaginary;
    *at(array, other) = kept_real - turned_real;
    *at(array, points + other) = kept_imaginary - turned_imaginary;
}

static uint32_t work(const struct paged_array *array) {
    const uint32_t points = array->count / 2;
    if (sines[QUARTER] == 0) {
        make_sines();
    }
    reverse_bits(array, points);
    TAU_LOOP(stages, 0);
    TAU_LOOP(groups, 0);
    TAU_LOOP(butterflies, 0);
    for (uint32_t half = 1; half < points; half *= 2) {  // bound: the bits of POINTS
        TAU_ROUND(stages);
        for (uint32_t first = 0; first < points; first += 2 * half) {  // bound: the points
            TAU_ROUND(groups);
            for (uint32_t i = 0; i < half; i++) {  // bound: the points
                TAU_ROUND(butterflies);
                butterfly(array, points, first + i, first + i + half, i * (2 * QUARTER / half));
            }
        }
    }
    return checksum(array);
}
