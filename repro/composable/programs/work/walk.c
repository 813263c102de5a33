// A walk by columns over 12 rows of 4 KiB: each access is in another page of 4 KiB.
#include "repro/composable/programs/work/work.h"

enum { ROWS = 12, COLUMNS = 1024 };
static uint32_t matrix[ROWS][COLUMNS];

void tau_iterations_begin(void) {
    matrix[ROWS - 1][COLUMNS - 1] = TAU_SEED;
}

void tau_iterations_run(void) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < TAU_SIZE; i++) {
        for (uint32_t column = 0; column < COLUMNS; column++) {
            for (uint32_t row = 0; row < ROWS; row++) {
                sum += matrix[row][column];
            }
        }
    }
    tau_work_output[0] = sum;
}
