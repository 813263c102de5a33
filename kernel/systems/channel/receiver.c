// Measures its slot: when it begins, and how long a walk over its pages takes. The marks have the
// cycles that tau_base_time would tell it.
#include "kernel/base/application.h"
#include "kernel/base/base.h"

enum { PAGE_WORDS = 256, PAGES = 3 };

static volatile uint32_t memory[PAGES * PAGE_WORDS];

void receiver(void) {
    for (uint32_t round = 0;; round = (round + 1) & 0x7FFFFF) {  // bound: the run
        tau_system_page_mark(0, round, 0);
        for (uint32_t i = 0; i < PAGES; i++) {  // bound: the pages
            memory[i * PAGE_WORDS]++;
        }
        tau_system_page_mark(0, round, 1);
        __asm__ volatile("li a7, %0\n ecall" ::"i"(TAU_COMPOSE_CALL_WAIT) : "a7", "memory");
    }
}

TAU_TASK(receiver, 512);
TAU_APPLICATION(1, TAU_TASK_OF(receiver));
