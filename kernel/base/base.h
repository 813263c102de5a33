// Base code: what every application needs, linked once at one virtual address and called like a
// function [P2-9]. It has no data: its state lies in the caller's pages.
#ifndef TAU_BASE_H
#define TAU_BASE_H

#include <stdint.h>

#include "kernel/base/dma.h"
#include "kernel/base/fifo.h"
#include "kernel/base/system_page.h"

// Cycles since reset. Reads the clock at most twice in its upper half's change. Cost: 3 loads.
uint64_t tau_base_time(void);

// Prints TEXT on the application's console.
void tau_base_print(const char *text);

#endif
