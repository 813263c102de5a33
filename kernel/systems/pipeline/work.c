#include "kernel/systems/pipeline/work.h"

// A step of the linear congruential generator of Numerical Recipes.
static uint32_t next_number(uint32_t number) {
    return number * 1664525u + 1013904223u;
}

void tau_pipeline_work_make(struct tau_pipeline_token *token, uint32_t number) {
    uint32_t word = number;
    for (uint32_t i = 0; i < TAU_PIPELINE_TOKEN_WORDS; i++) {
        word = next_number(word);
        token->words[i] = word;
    }
}

void tau_pipeline_work_do(struct tau_pipeline_work *work, struct tau_pipeline_token *token) {
    for (uint32_t i = 0; i < TAU_PIPELINE_TOKEN_WORDS; i++) {
        uint32_t a = token->words[i];
        uint32_t b = next_number(a) | 1;
        while (b != 0) {  // bound: 48 turns of Euclid's algorithm with numbers below 2^32
            const uint32_t rest = a % b;
            work->place = (work->place + TAU_PIPELINE_STRIDE_WORDS) % TAU_PIPELINE_SCRATCH_WORDS;
            work->scratch[work->place] += rest;
            a = b;
            b = rest;
        }
        const uint32_t changed = token->words[i] % TAU_PIPELINE_SCRATCH_WORDS;
        token->words[i] = next_number(token->words[i] + a + work->scratch[changed]);
    }
}
