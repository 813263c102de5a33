// The functions of a kernel, found by address.
#ifndef TAU_FUNCTION_TABLE_H
#define TAU_FUNCTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAU_FUNCTION_NONE UINT32_MAX

// A row of the chunk of functions, as it is in the file.
struct tau_function {
    uint64_t start;
    uint32_t bytes;
    uint32_t name_bytes;
};

// `rows` are ordered by start and do not overlap.
struct tau_function_table {
    const struct tau_function *rows;
    uint32_t count;
};

// Whether the rows are ordered and do not overlap, so that `tau_function_table_find` is defined.
bool tau_function_table_is_ordered(const struct tau_function_table *table);

// The number of the function that holds ADDRESS, TAU_FUNCTION_NONE if there is none.
uint32_t tau_function_table_find(const struct tau_function_table *table, uint64_t address);

#endif
