// In place of kernel/base/system_page.h, included ahead of every file: marks and console of the
// tasks go to the test program.
#ifndef TAU_SYSTEM_PAGE_H
#define TAU_SYSTEM_PAGE_H

#include <sched.h>
#include <stdint.h>

// More threads than processors: who waits lets the others run.
#define TAU_FIFO_PAUSE() sched_yield()

void tau_system_page_mark(uint32_t task, uint32_t iteration, uint32_t is_end);
void tau_system_page_print(const char *text);
void tau_system_page_print_hex(uint32_t value);

#endif
