// A filter of 16 taps over the numbers, in place [P4-24].
#include "paged_array.h"

enum { TAPS = 16 };

static const int32_t taps[TAPS] = {-3,  -9,  -14, -6, 24, 77,  138, 181,
                                   181, 138, 77,  24, -6, -14, -9,  -3};

static uint32_t work(const struct paged_array *array) {
    int32_t history[TAPS] = {0};
    TAU_LOOP(numbers, 0);
    for (uint32_t i = 0; i < array->count; i++) {  // bound: the numbers
        TAU_ROUND(numbers);
        history[i % TAPS] = *at(array, i);
        int32_t sum = 0;
        TAU_LOOP(taps, TAPS);
        for (uint32_t tap = 0; tap < TAPS; tap++) {  // bound: TAPS
            TAU_ROUND(taps);
            sum += taps[tap] * history[(i - tap) % TAPS];
        }
        *at(array, i) = sum >> 10;
    }
    return checksum(array);
}
