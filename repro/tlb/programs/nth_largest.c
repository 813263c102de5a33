// The largest quarter's smallest number, by Hoare's selection [P4-21].
#include "paged_array.h"

// Moves numbers of [low, high] until none in front of the returned place is smaller than one
// behind it.
static uint32_t parted(const struct paged_array *array, uint32_t low, uint32_t high) {
    const int32_t pivot = *at(array, low + (high - low) / 2);
    uint32_t first = low;
    uint32_t last = high;
    for (;;) {  // bound: the numbers, since both ends move in each turn
        while (*at(array, first) > pivot) {  // bound: the numbers, since one is the pivot
            first++;
        }
        while (*at(array, last) < pivot) {  // bound: as above
            last--;
        }
        if (first >= last) {
            return last;
        }
        const int32_t moved = *at(array, first);
        *at(array, first++) = *at(array, last);
        *at(array, last--) = moved;
    }
}

static uint32_t work(const struct paged_array *array) {
    const uint32_t wanted = array->count / 4;
    uint32_t low = 0;
    uint32_t high = array->count - 1;
    while (low < high) {  // bound: the numbers, since the part becomes smaller
        const uint32_t end = parted(array, low, high);
        if (wanted <= end) {
            high = end;
        } else {
            low = end + 1;
        }
    }
    return (uint32_t)*at(array, wanted);
}
