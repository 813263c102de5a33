// See choose.h.
#include "core/tests/kit/choose.h"

const uint8_t *fuzz_input;
size_t fuzz_input_left;
struct choices *choices_row;

size_t fuzz_choose(size_t limit) {
    if (choices_row != NULL) {
        struct choices *const row = choices_row;
        REQUIRE(row->used_count < CHOICES_MAX && limit <= UINT32_MAX);
        if (row->used_count == row->count) {
            row->taken[row->count++] = 0;
        }
        row->limit[row->used_count] = (uint32_t)limit;
        return row->taken[row->used_count++];
    }
    if (fuzz_input == NULL) {
        return test_random_below(limit);
    }
    size_t value = 0;
    for (size_t below = limit - 1; below > 0 && fuzz_input_left > 0; below >>= 8) {
        value = value << 8 | *fuzz_input++;
        fuzz_input_left--;
    }
    return value % limit;
}

bool choices_next(struct choices *row) {
    row->count = row->used_count;
    row->used_count = 0;
    while (row->count > 0 && row->taken[row->count - 1] + 1 == row->limit[row->count - 1]) {
        row->count--;
    }
    if (row->count > 0) {
        row->taken[row->count - 1]++;
    }
    return row->count > 0;
}
