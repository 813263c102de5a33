// Counts and sums the positive and the other numbers [P4-23].
#include "paged_array.h"

static uint32_t work(const struct paged_array *array) {
    uint32_t positive_count = 0;
    int32_t positive_sum = 0;
    int32_t other_sum = 0;
    TAU_LOOP(numbers, 0);
    for (uint32_t i = 0; i < array->count; i++) {  // bound: the numbers
        TAU_ROUND(numbers);
        const int32_t number = *at(array, i);
        if (number > 0) {
            positive_count++;
            positive_sum += number;
        } else {
            other_sum += number;
        }
    }
    return positive_count << 24 ^ (uint32_t)positive_sum ^ (uint32_t)other_sum << 8;
}
