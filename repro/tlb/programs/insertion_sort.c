// Insertion sort [P4-21].
#include "paged_array.h"

static uint32_t work(const struct paged_array *array) {
    TAU_LOOP(numbers, 0);
    TAU_LOOP(pairs, 0);
    for (uint32_t i = 1; i < array->count; i++) {  // bound: the numbers
        TAU_ROUND(numbers);
        const int32_t inserted = *at(array, i);
        uint32_t place = i;
        while (place > 0 && *at(array, place - 1) > inserted) {  // bound: the numbers
            TAU_ROUND(pairs);
            *at(array, place) = *at(array, place - 1);
            place--;
        }
        *at(array, place) = inserted;
    }
    return checksum(array);
}
