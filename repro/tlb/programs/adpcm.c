// Codes the numbers as IMA ADPCM, four bits each, and decodes them into their places [P4-22,
// P4-24]. Tables and steps: Interactive Multimedia Association, Recommended Practices for Enhancing
// Digital Audio Compatibility in Multimedia Systems, revision 3.00, 1992.
#include "paged_array.h"

enum { STEPS = 89, SAMPLE_MAX = 32767 };

static const int16_t steps[STEPS] = {
    7,     8,     9,     10,    11,    12,    13,    14,    16,    17,    19,   21,    23,
    25,    28,    31,    34,    37,    41,    45,    50,    55,    60,    66,   73,    80,
    88,    97,    107,   118,   130,   143,   157,   173,   190,   209,   230,  253,   279,
    307,   337,   371,   408,   449,   494,   544,   598,   658,   724,   796,  876,   963,
    1060,  1166,  1282,  1411,  1552,  1707,  1878,  2066,  2272,  2499,  2749, 3024,  3327,
    3660,  4026,  4428,  4871,  5358,  5894,  6484,  7132,  7845,  8630,  9493, 10442, 11487,
    12635, 13899, 15289, 16818, 18500, 20350, 22385, 24623, 27086, 29794, 32767};
static const int8_t step_changes[8] = {-1, -1, -1, -1, 2, 4, 6, 8};

struct predictor {
    int32_t sample;
    int32_t step;  // index of steps
};

static int32_t limited(int32_t value, int32_t least, int32_t most) {
    return value < least ? least : value > most ? most : value;
}

// What the decoder makes of a code, and the encoder too, so that both stay alike.
static void decode(struct predictor *predictor, uint32_t code) {
    const int32_t step = steps[predictor->step];
    int32_t change = step >> 3;
    change += (code & 4) != 0 ? step : 0;
    change += (code & 2) != 0 ? step >> 1 : 0;
    change += (code & 1) != 0 ? step >> 2 : 0;
    const int32_t sample = predictor->sample + ((code & 8) != 0 ? -change : change);
    predictor->sample = limited(sample, -SAMPLE_MAX - 1, SAMPLE_MAX);
    predictor->step = limited(predictor->step + step_changes[code & 7], 0, STEPS - 1);
}

static uint32_t encode(const struct predictor *predictor, int32_t sample) {
    int32_t step = steps[predictor->step];
    int32_t difference = sample - predictor->sample;
    uint32_t code = 0;
    if (difference < 0) {
        code = 8;
        difference = -difference;
    }
    TAU_LOOP(bits, 3);
    for (uint32_t bit = 4; bit > 0; bit >>= 1) {  // bound: three bits
        TAU_ROUND(bits);
        if (difference >= step) {
            code |= bit;
            difference -= step;
        }
        step >>= 1;
    }
    return code;
}

static uint32_t work(const struct paged_array *array) {
    struct predictor predictor = {0, 0};
    TAU_LOOP(numbers, 0);
    for (uint32_t i = 0; i < array->count; i++) {  // bound: the numbers
        TAU_ROUND(numbers);
        int32_t *const number = at(array, i);
        decode(&predictor, encode(&predictor, *number));
        *number = predictor.sample;
    }
    return checksum(array);
}
