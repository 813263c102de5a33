// A merge sort from the bottom up: each pass reads two runs of one array and writes the other.
#include "repro/composable/programs/work/work.h"

static void merge(uint32_t *to, const uint32_t *from, uint32_t middle, uint32_t end) {
    uint32_t left = 0;
    uint32_t right = middle;
    for (uint32_t i = 0; i < end; i++) {
        const int takes_left = left < middle && (right >= end || from[left] <= from[right]);
        to[i] = takes_left ? from[left++] : from[right++];
    }
}

void tau_iterations_begin(void) {
    tau_work_fill();
}

void tau_iterations_run(void) {
    uint32_t *from = tau_work_input;
    uint32_t *to = tau_work_output;
    for (uint32_t run = 1; run < TAU_SIZE; run *= 2) {
        for (uint32_t at = 0; at < TAU_SIZE; at += 2 * run) {
            const uint32_t left = TAU_SIZE - at;
            merge(to + at, from + at, run < left ? run : left, 2 * run < left ? 2 * run : left);
        }
        uint32_t *const before = from;
        from = to;
        to = before;
    }
}
