// A neighbor that keeps its DMA channel busy, also when others run: transfers of its whole page,
// and some that begin or end outside. It begins them at other times in each of its slots.
#include "kernel/base/application.h"
#include "kernel/base/base.h"

enum { PAGE_BYTES = 16384, DELAY_TURNS_MAX = 97 };

void hog(void) {
    for (uint32_t turn = 0;; turn++) {
        for (volatile uint32_t i = 0; i < turn * 31 % DELAY_TURNS_MAX; i++) {
        }
        switch (turn % 8) {
        case 3:
            tau_dma_start(0, PAGE_BYTES - 8, 0, 0xFFFFFFFF);
            break;
        case 5:
            tau_dma_start(0, 0, 0xFFFFFFFC, 2);
            break;
        case 7:
            tau_dma_start(0, 2, 0, 2);
            break;
        default:
            tau_dma_start(0, 0, 0, PAGE_BYTES / 4);
        }
        while (tau_dma_is_busy(0)) {  // bound: the words of a page
        }
    }
}

// The other end, which gives the FIFO its page on the other tile.
void sink(void) {
    tau_base_print("sink\n");
}

TAU_TASK(hog, 512);
TAU_TASK(sink, 512);
TAU_APPLICATION(2, TAU_TASK_OF(hog), TAU_TASK_OF(sink));
