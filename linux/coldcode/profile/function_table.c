#include "linux/coldcode/profile/function_table.h"

bool tau_function_table_is_ordered(const struct tau_function_table *table) {
    uint64_t end = 0;
    for (uint32_t number = 0; number < table->count; number++) {
        const struct tau_function *row = &table->rows[number];
        if (row->bytes == 0 || row->start < end || row->start > UINT64_MAX - row->bytes) {
            return false;
        }
        end = row->start + row->bytes;
    }
    return true;
}

uint32_t tau_function_table_find(const struct tau_function_table *table, uint64_t address) {
    uint32_t low = 0;
    uint32_t high = table->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const struct tau_function *row = &table->rows[middle];
        if (address < row->start) {
            high = middle;
        } else if (address - row->start >= row->bytes) {
            low = middle + 1;
        } else {
            return middle;
        }
    }
    return TAU_FUNCTION_NONE;
}
