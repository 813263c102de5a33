// Tokens by DMA: `produce` makes each in its own page, and computes while the channel moves it to
// the other tile, where `consume` checks it. Only the counters of the FIFO are stores of the core.
#include "kernel/base/application.h"
#include "kernel/base/base.h"

enum { TOKEN_WORDS = 96, TOKENS = 8, PAGE_BYTES = 4096, WORK_TURNS = 6 };

_Static_assert(TAU_FIFO_PAGE_BYTES(4 * TOKEN_WORDS, TOKENS) <= PAGE_BYTES, "the ring is a page");

static uint32_t word_of(uint32_t iteration, uint32_t place) {
    return iteration * 0x01000193 ^ place << 20;
}

static void work(void) {
    volatile uint32_t value = 0xFFFFFFFF;
    for (uint32_t i = 0; i < WORK_TURNS; i++) {
        value = value / 3 + 0x40000000;
    }
}

void produce(void) {
    struct tau_fifo out;
    tau_fifo_open(&out, 0, 4 * TOKEN_WORDS, TOKENS);
    for (uint32_t iteration = 0;; iteration++) {
        const uint32_t offset_bytes =
            (uint32_t)((uintptr_t)tau_fifo_write_begin(&out) - (uintptr_t)out.other);
        volatile uint32_t *token = out.own + offset_bytes / 4;
        tau_system_page_mark(0, iteration, 0);
        for (uint32_t i = 0; i < TOKEN_WORDS; i++) {
            token[i] = word_of(iteration, i);
        }
        tau_dma_start(0, offset_bytes, offset_bytes, TOKEN_WORDS);
        work();
        while (tau_dma_is_busy(0)) {  // bound: a word every eighth cycle
        }
        tau_system_page_mark(0, iteration, 1);
        tau_fifo_write_end(&out);  // on the link after the token's last word
    }
}

void consume(void) {
    struct tau_fifo in;
    tau_fifo_open(&in, 1, 4 * TOKEN_WORDS, TOKENS);
    for (uint32_t iteration = 0;; iteration++) {
        const uint32_t *token = tau_fifo_read_begin(&in);
        uint32_t wrong = 0;
        tau_system_page_mark(1, iteration, 0);
        for (uint32_t i = 0; i < TOKEN_WORDS; i++) {
            wrong += token[i] != word_of(iteration, i);
        }
        tau_system_page_mark(1, iteration, 1);
        tau_base_print(wrong != 0 ? "wrong\n" : "right\n");
        tau_fifo_read_end(&in);
    }
}

TAU_TASK(produce, 512);
TAU_TASK(consume, 512);
TAU_APPLICATION(2, TAU_TASK_OF(produce), TAU_TASK_OF(consume));
