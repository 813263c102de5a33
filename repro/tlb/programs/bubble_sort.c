// Bubble sort [P4-21], up to the turn in which nothing moves.
#include "paged_array.h"

static uint32_t work(const struct paged_array *array) {
    bool is_sorted = false;
    TAU_LOOP(ends, 0);
    TAU_LOOP(pairs, 0);
    for (uint32_t end = array->count; end > 1 && !is_sorted; end--) {  // bound: the numbers
        TAU_ROUND(ends);
        is_sorted = true;
        for (uint32_t i = 1; i < end; i++) {  // bound: the numbers
            TAU_ROUND(pairs);
            int32_t *const low = at(array, i - 1);
            int32_t *const high = at(array, i);
            if (*low > *high) {
                const int32_t moved = *low;
                *low = *high;
                *high = moved;
                is_sorted = false;
            }
        }
    }
    return checksum(array);
}
