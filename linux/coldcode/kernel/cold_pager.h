// SPDX-License-Identifier: GPL-2.0-only
// The state of the pager, which is all that the fault path reads, and the parts of activation.
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

// ---- The parts of activation: each returns NULL, or why the code stays in RAM

// The cold code; the linker script defines both.
extern char tau_cold_start[], tau_cold_end[];

// Opens the page file at a physical address. The store reads it where it is.
const char *tau_cold_flash_open(struct tau_cold_store *store, phys_addr_t address, u32 pages_count);
void tau_cold_flash_close(struct tau_cold_store *store);

// Copies the code as it is now, page by page packed or not.
const char *tau_cold_copy_open(struct tau_cold_store *store, bool is_packed, u32 pages_count);
void tau_cold_copy_close(struct tau_cold_store *store);

// Maps the code page by page, to the frames that it has. TABLES are those that hold it.
const char *tau_cold_map_split(u64 ***tables);

// Bytes of the tables that this takes.
unsigned long tau_cold_map_bytes(void);

// Shows the counts in debugfs. The names must stay.
void tau_cold_counters_show(const char *policy, const char *store);

#endif
