// A filter of 32 taps: its coefficients are constants, its samples and results are arrays.
#include "repro/composable/programs/work/work.h"

enum { TAPS = 32 };
static const int16_t taps[TAPS] = {-3,  -7,  -9,  -4,  12,  38,  67,  84,  73,  21,  -71,
                                   -182, -272, -290, -185, 74,  74,  -185, -290, -272, -182, -71,
                                   21,  73,  84,  67,  38,  12,  -4,  -9,  -7,  -3};

void tau_iterations_begin(void) {
    tau_work_fill();
}

void tau_iterations_run(void) {
    for (uint32_t i = 0; i < TAU_SIZE; i++) {
        int32_t sum = 0;
        for (uint32_t tap = 0; tap < TAPS; tap++) {
            sum += taps[tap] * (int16_t)tau_work_input[i + tap];
        }
        tau_work_output[i] = (uint32_t)(sum >> 12);
    }
}
