// Two tasks on two tiles that would show a word of another life: each token, and each word that the
// DMA channel moves, carries the epoch in which its life began.
#include "kernel/base/application.h"
#include "kernel/base/base.h"

enum { TOKEN_WORDS = 2, TOKENS = 16, WORDS = 4000, FILLED = 120, STEP_WORDS = 12 };
enum { PRODUCE, CONSUME, MOVED };
enum { BEGINS = 0x7FFFFF };  // in place of an iteration

// The epoch in which the first slot of a life is.
static uint32_t begin(uint32_t task) {
    const uint32_t epoch = ((uint32_t)tau_base_time() - START_CYCLE) / EPOCH_CYCLES;
    tau_system_page_mark(task, BEGINS, 0);
    return epoch + 1;  // never 0, which is a clear word
}

void produce(void) {
    struct tau_fifo out;
    struct tau_fifo moved;
    const uint32_t life = begin(PRODUCE);
    tau_fifo_open(&out, 0, 4 * TOKEN_WORDS, TOKENS);
    tau_fifo_open(&moved, 2, 4, WORDS);
    for (uint32_t i = WORDS - FILLED; i < WORDS; i++) {  // the last ones to be moved
        moved.own[TAU_FIFO_RING_OFFSET_BYTES / 4 + i] = life;
    }
    for (uint32_t i = 0;;) {
        if (!tau_dma_is_busy(0)) {
            tau_dma_start(0, TAU_FIFO_RING_OFFSET_BYTES, TAU_FIFO_RING_OFFSET_BYTES, WORDS);
        }
        if (tau_fifo_can_write(&out)) {
            uint32_t *token = tau_fifo_write_begin(&out);
            token[0] = life;
            token[1] = i++;
            tau_fifo_write_end(&out);
        }
    }
}

// A mark for each token, as the end of an iteration if something is wrong, and one that tells if
// moved words were seen.
void consume(void) {
    struct tau_fifo in;
    struct tau_fifo moved;
    const uint32_t life = begin(CONSUME);
    tau_fifo_open(&in, 1, 4 * TOKEN_WORDS, TOKENS);
    tau_fifo_open(&moved, 3, 4, WORDS);
    for (uint32_t i = 0, place = 0;; i++) {
        const uint32_t *token = tau_fifo_read_begin(&in);
        uint32_t is_moved = 0;
        uint32_t is_wrong = token[0] != life || token[1] != i;
        for (uint32_t j = 0; j < STEP_WORDS; j++) {
            const uint32_t word = moved.own[TAU_FIFO_RING_OFFSET_BYTES / 4 + WORDS - 1 - place];
            is_wrong |= word != 0 && word != life;
            is_moved |= word == life;
            place = place + 1 < FILLED ? place + 1 : 0;
        }
        tau_system_page_mark(CONSUME, i, is_wrong);
        tau_system_page_mark(MOVED, i, is_moved);
        tau_fifo_read_end(&in);
    }
}

TAU_TASK(produce, 256);
TAU_TASK(consume, 256);
TAU_APPLICATION(2, TAU_TASK_OF(produce), TAU_TASK_OF(consume));
