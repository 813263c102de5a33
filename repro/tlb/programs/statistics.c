// Means, variances and covariance of the two halves of the numbers, in integers [P4-21].
#include "paged_array.h"

static int32_t mean(const struct paged_array *array, uint32_t first, uint32_t count) {
    int32_t sum = 0;
    TAU_LOOP(mean, 0);
    for (uint32_t i = 0; i < count; i++) {  // bound: the numbers
        TAU_ROUND(mean);
        sum += *at(array, first + i);
    }
    return sum / (int32_t)count;
}

static uint32_t work(const struct paged_array *array) {
    const uint32_t half = array->count / 2;
    const int32_t mean_x = mean(array, 0, half);
    const int32_t mean_y = mean(array, half, half);
    int64_t variance_x = 0;
    int64_t variance_y = 0;
    int64_t covariance = 0;
    TAU_LOOP(half, 0);
    for (uint32_t i = 0; i < half; i++) {  // bound: the numbers
        TAU_ROUND(half);
        const int64_t x = *at(array, i) - mean_x;
        const int64_t y = *at(array, half + i) - mean_y;
        variance_x += x * x;
        variance_y += y * y;
        covariance += x * y;
    }
    return (uint32_t)(variance_x >> 8) ^ (uint32_t)(variance_y >> 4) ^ (uint32_t)covariance;
}
