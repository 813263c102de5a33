// SPDX-License-Identifier: GPL-2.0-only
// debugfs: coldcode/counters, a name and a value on each line, all of one moment.
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/seq_file.h>

#include "cold_pager.h"

static const char *policy_name;
static const char *store_name;

static int counters_show(struct seq_file *file, void *unused) {
    struct tau_cold_counts counts;
    struct tau_code_cache_counts cache;
    unsigned long flags;
    // Faults of this very code would change them from line to line.
    local_irq_save(flags);
    counts = tau_cold_pager.counts;
    cache = tau_cold_pager.code.cache.counts;
    local_irq_restore(flags);
    seq_printf(file, "policy %s\nstore %s\n", policy_name, store_name);
    seq_printf(file, "pages %lu\n", (tau_cold_end - tau_cold_start) / PAGE_SIZE);
    seq_printf(file, "pinned_pages %u\n", cache.pinned);
    seq_printf(file, "frames %u\n", tau_cold_pager.code.cache.frames_count);
    seq_printf(file, "faults %u\n", cache.faults);
    seq_printf(file, "loads %u\n", cache.loads);
    seq_printf(file, "evictions %u\n", cache.evictions);
    seq_printf(file, "faults_interrupts_off %u\n", counts.interrupts_off);
    seq_printf(file, "page_microseconds %llu\n",
               counts.page_ticks / (riscv_timebase / USEC_PER_SEC));
    seq_printf(file, "worst_fault_instructions %llu\n", counts.fault_instructions_max);
    seq_printf(file, "worst_load_instructions %llu\n", counts.load_instructions_max);
    seq_printf(file, "tables_bytes %lu\n", tau_cold_map_bytes());
    seq_printf(file, "store_bytes %lu\n", tau_cold_pager.store.ram_bytes);
    return 0;
}
DEFINE_SHOW_ATTRIBUTE(counters);

void tau_cold_counters_show(const char *policy, const char *store) {
    policy_name = policy;
    store_name = store;
    debugfs_create_file("counters", 0444, debugfs_create_dir("coldcode", NULL), NULL,
                        &counters_fops);
}
