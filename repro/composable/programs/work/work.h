// What the measured programs share: two arrays, each in a file of its own, so that the link order
// moves them and what lies beside them. TAU_SEED and TAU_SIZE are a program's input.
#ifndef TAU_WORK_H
#define TAU_WORK_H

#include <stdint.h>

#include "repro/composable/programs/iterations.h"

enum { TAU_WORK_WORDS = 8192 };
extern uint32_t tau_work_input[TAU_WORK_WORDS];
extern uint32_t tau_work_output[TAU_WORK_WORDS];

static inline uint32_t tau_work_random(uint32_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static inline void tau_work_fill(void) {
    uint32_t state = TAU_SEED;
    for (uint32_t i = 0; i < TAU_WORK_WORDS; i++) {
        tau_work_input[i] = tau_work_random(&state);
    }
}

#endif
