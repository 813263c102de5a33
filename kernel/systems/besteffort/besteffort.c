// A best-effort application: it touches one page of its pool after the other, more than the pool
// has frames [P2-6]. It prints the time of each first touch; the last one stops it.
#include "kernel/base/application.h"
#include "kernel/base/base.h"

#ifndef TAU_BESTEFFORT_POOL
#define TAU_BESTEFFORT_POOL 0x80800000u
#endif

enum { PAGE_BYTES = 1024, PAUSE_TURNS = 13 };

static void pause(uint32_t turns) {
    for (volatile uint32_t i = 0; i < turns; i++) {
    }
}

void besteffort(void) {
    for (uint32_t page = 0;; page++) {
        volatile uint32_t *word = (volatile uint32_t *)(TAU_BESTEFFORT_POOL + PAGE_BYTES * page);
        pause(PAUSE_TURNS * page);
        const uint32_t before = (uint32_t)tau_base_time();
        const uint32_t content = *word;
        const uint32_t after = (uint32_t)tau_base_time();
        *word = 0xFFFFFFFF;
        tau_base_print(content != 0 ? "dirty " : "touch ");
        tau_system_page_print_hex(after - before);
        tau_base_print("\n");
    }
}

TAU_TASK(besteffort, 512);
TAU_APPLICATION(1, TAU_TASK_OF(besteffort));
