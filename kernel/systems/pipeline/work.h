// What the tasks of the synthetic pipeline compute: divisions and stores over several pages, how
// many depends on the token.
#ifndef TAU_PIPELINE_WORK_H
#define TAU_PIPELINE_WORK_H

#include <stdint.h>

enum {
    TAU_PIPELINE_TOKEN_WORDS = 16,
    TAU_PIPELINE_SCRATCH_WORDS = 1024,  // four pages of 1 KiB
    TAU_PIPELINE_STRIDE_WORDS = 67,     // a little more than a quarter of a page
};

struct tau_pipeline_token {
    uint32_t words[TAU_PIPELINE_TOKEN_WORDS];
};

// A task's own memory, zero at the start.
struct tau_pipeline_work {
    uint32_t place;
    uint32_t scratch[TAU_PIPELINE_SCRATCH_WORDS];
};

// Makes token NUMBER.
void tau_pipeline_work_make(struct tau_pipeline_token *token, uint32_t number);

// Changes each word of TOKEN by what the task's memory holds, and the memory by the words.
// Cost: for each word 1 to 48 divisions, and as many stores.
void tau_pipeline_work_do(struct tau_pipeline_work *work, struct tau_pipeline_token *token);

#endif
