#include "kernel/systems/pipeline/tasks.h"

#include "kernel/base/fifo.h"
#include "kernel/systems/checksum.h"

enum { FIFO_TOKENS = 15, FIFO_PAGE_BYTES = 1024 };

_Static_assert(TAU_FIFO_PAGE_BYTES(sizeof(struct tau_pipeline_token), FIFO_TOKENS) <=
                   FIFO_PAGE_BYTES,
               "the ring lies in one page");

// Every task has its own, on pages of its own when these have 1 KiB.
static struct tau_pipeline_work works[TAU_PIPELINE_TASKS_COUNT];

static void open_end(struct tau_fifo *end, uint32_t index) {
    tau_fifo_open(end, index, sizeof(struct tau_pipeline_token), FIFO_TOKENS);
}

static void receive(struct tau_fifo *in, struct tau_pipeline_token *token) {
    const struct tau_pipeline_token *place = tau_fifo_read_begin(in);
    for (uint32_t i = 0; i < TAU_PIPELINE_TOKEN_WORDS; i++) {
        token->words[i] = place->words[i];
    }
    tau_fifo_read_end(in);
}

static void send(struct tau_fifo *out, const struct tau_pipeline_token *token) {
    struct tau_pipeline_token *place = tau_fifo_write_begin(out);
    for (uint32_t i = 0; i < TAU_PIPELINE_TOKEN_WORDS; i++) {
        place->words[i] = token->words[i];
    }
    tau_fifo_write_end(out);
}

// Works on a token as iteration ITERATION of task TASK, from 0 on.
static void work(uint32_t task, uint32_t iteration, struct tau_pipeline_token *token) {
    tau_system_page_mark(task, iteration, 0);
    tau_pipeline_work_do(&works[task], token);
    tau_system_page_mark(task, iteration, 1);
}

// A task between two FIFOs.
static void pass_on(uint32_t task) {
    struct tau_fifo in;
    struct tau_fifo out;
    struct tau_pipeline_token token;
    open_end(&in, 2 * (task - 1) + 1);
    open_end(&out, 2 * task);
    for (uint32_t iteration = 0; iteration < TAU_PIPELINE_TOKENS; iteration++) {
        receive(&in, &token);
        work(task, iteration, &token);
        send(&out, &token);
    }
}

void tau_pipeline_task1(void) {
    struct tau_fifo out;
    struct tau_pipeline_token token;
    open_end(&out, 0);
    for (uint32_t iteration = 0; iteration < TAU_PIPELINE_TOKENS; iteration++) {
        tau_pipeline_work_make(&token, iteration);
        work(0, iteration, &token);
        send(&out, &token);
    }
}

void tau_pipeline_task2(void) {
    pass_on(1);
}

void tau_pipeline_task3(void) {
    pass_on(2);
}

void tau_pipeline_task4(void) {
    pass_on(3);
}

void tau_pipeline_task5(void) {
    struct tau_fifo in;
    struct tau_pipeline_token token;
    struct tau_checksum checksum = {0};
    open_end(&in, 7);
    for (uint32_t iteration = 0; iteration < TAU_PIPELINE_TOKENS; iteration++) {
        receive(&in, &token);
        work(4, iteration, &token);
        tau_checksum_add(&checksum, token.words, TAU_PIPELINE_TOKEN_WORDS);
    }
    tau_checksum_print(&checksum, "pipeline", "done");
}
