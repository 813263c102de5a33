// Sends numbers to pong, one an iteration.
#include "kernel/base/application.h"
#include "kernel/base/base.h"

enum { TOKENS = 4, NUMBERS = 40 };

static void ping(void) {
    struct tau_fifo out;
    tau_fifo_open(&out, 0, 4, TOKENS);
    for (uint32_t i = 0; i < NUMBERS; i++) {
        uint32_t *token = tau_fifo_write_begin(&out);
        tau_system_page_mark(0, i, 0);
        *token = i * i;
        tau_fifo_write_end(&out);
        tau_system_page_mark(0, i, 1);
    }
}

static void pong(void) {
    struct tau_fifo in;
    uint32_t sum = 0;
    tau_fifo_open(&in, 1, 4, TOKENS);
    for (uint32_t i = 0; i < NUMBERS; i++) {
        const uint32_t *token = tau_fifo_read_begin(&in);
        tau_system_page_mark(1, i, 0);
        sum += *token;
        tau_fifo_read_end(&in);
        tau_system_page_mark(1, i, 1);
    }
    tau_base_print("sum ");
    tau_system_page_print_hex(sum);
    tau_base_print("\n");
}

TAU_TASK(ping, 512);
TAU_TASK(pong, 512);
TAU_APPLICATION(2, TAU_TASK_OF(ping), TAU_TASK_OF(pong));
