// SPDX-License-Identifier: GPL-2.0-only
// The state of the pager. The fault path reads nothing else.
#ifndef TAU_COLD_PAGER_H
#define TAU_COLD_PAGER_H

#include <linux/mm.h>

#include "core/ports/sv39_code.h"

#define TAU_COLD_FRAMES_LEAST TAU_CODE_CACHE_FRAMES_LEAST(1, 0)

// Where pages are loaded from.
struct tau_cold_store {
    const u8 *bytes;
    const u32 *offsets;  // of each packed page, and behind the last; NULL if pages are not packed
    unsigned long ram_bytes;
};

// All modulo 2^64, but interrupts_off.
struct tau_cold_counts {
    u64 page_ticks;              // of reading pages, with the delay
    u64 fault_instructions_max;  // from the pager's first statement to its last, without reading
    u64 load_instructions_max;   // the same, with reading
    u32 interrupts_off;          // faults of code that runs with interrupts disabled
};

struct tau_cold_pager {
    struct tau_sv39_code code;  // all zero until it serves faults
    bool is_aging;              // the policy asks which pages were used
    u64 delay_ticks;
    struct tau_cold_store store;
    struct tau_cold_counts counts;
    struct tau_sv39_code_frame frames[TAU_CODE_CACHE_FRAMES_MAX];
};

extern struct tau_cold_pager tau_cold_pager;

// Reads the page of LOAD into its frame, from any store; a packed one. Waits as told since BEGIN.
void tau_cold_read_page(const struct tau_sv39_code_load *load);
void tau_cold_read_packed(const struct tau_sv39_code_load *load);
void tau_cold_wait(u64 begin);

#endif
