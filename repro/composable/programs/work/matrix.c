// A product of two square matrices: one is read by rows, one by columns.
#include "repro/composable/programs/work/work.h"

static int32_t product[TAU_SIZE][TAU_SIZE];

void tau_iterations_begin(void) {
    tau_work_fill();
}

void tau_iterations_run(void) {
    const int32_t(*left)[TAU_SIZE] = (const int32_t(*)[TAU_SIZE])tau_work_input;
    const int32_t(*right)[TAU_SIZE] = left + TAU_SIZE;
    for (uint32_t row = 0; row < TAU_SIZE; row++) {
        for (uint32_t column = 0; column < TAU_SIZE; column++) {
            int32_t sum = 0;
            for (uint32_t i = 0; i < TAU_SIZE; i++) {
                sum += left[row][i] * right[i][column];
            }
            product[row][column] = sum;
        }
    }
    tau_work_output[0] = (uint32_t)product[TAU_SEED % TAU_SIZE][0];
}
