// SPDX-License-Identifier: GPL-2.0-only
// The kernel maps its code by entries of 2 MiB. These become tables of 4 KiB pages.
#include <asm/tlbflush.h>
#include <linux/slab.h>

#include "cold_pager.h"

static unsigned long tables_count(void) {
    const unsigned long first = (unsigned long)tau_cold_start & PMD_MASK;
    return DIV_ROUND_UP((unsigned long)tau_cold_end - first, PMD_SIZE);
}

unsigned long tau_cold_map_bytes(void) {
    return tables_count() * PAGE_SIZE;
}

static pmd_t *entry_of(unsigned long address) {
    pgd_t *pgd = pgd_offset_k(address);
    return pmd_offset(pud_offset(p4d_offset(pgd, address), address), address);
}

// Both translations are the same, so that the code below may run by either.
static void split(pmd_t *pmd, pte_t *table) {
    const u64 large = pmd_val(pmdp_get(pmd));
    if (!pmd_leaf(__pmd(large))) {
        memcpy(table, (void *)pmd_page_vaddr(__pmd(large)), PAGE_SIZE);
    } else {
        for (u64 page = 0; page < PTRS_PER_PTE; page++) {
            set_pte(table + page, __pte(large + (page << _PAGE_PFN_SHIFT)));
        }
    }
    set_pmd(pmd, pfn_pmd(PFN_DOWN(__pa(table)), PAGE_TABLE));
}

const char *tau_cold_map_split(u64 ***tables) {
    const unsigned long first = (unsigned long)tau_cold_start & PMD_MASK;
    pte_t *entries = alloc_pages_exact(tau_cold_map_bytes(), GFP_KERNEL | __GFP_ZERO);
    u64 **found = kmalloc_array(tables_count(), sizeof(*found), GFP_KERNEL);
    if (!entries || !found) {
        if (entries) {
            free_pages_exact(entries, tau_cold_map_bytes());
        }
        kfree(found);
        return "no memory for page tables";
    }
    for (unsigned long index = 0; index < tables_count(); index++) {
        pte_t *table = entries + index * PTRS_PER_PTE;
        split(entry_of(first + index * PMD_SIZE), table);
        found[index] = (u64 *)table;
    }
    local_flush_tlb_all();
    *tables = found;
    return NULL;
}
