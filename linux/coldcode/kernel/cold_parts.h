// SPDX-License-Identifier: GPL-2.0-only
// The parts of activation. Each returns NULL, or why the code stays in RAM.
#ifndef TAU_COLD_PARTS_H
#define TAU_COLD_PARTS_H

#include <linux/types.h>

#include "cold_pager.h"

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
