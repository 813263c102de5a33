// SPDX-License-Identifier: GPL-2.0-only
// The fault path. docs/design/code_pager.md draws it.
//
// It runs before anything else of the page-fault handler, with interrupts off, in whatever context
// the cold code was called. It takes no lock and calls nothing that could be cold: the core and the
// unpacker have no section that a placement could name, and all else is inlined.
#include <asm/csr.h>
#include <asm/ptrace.h>

#include "cold_code.h"
#include "cold_pager.h"
#include "cold_unpack.h"

struct tau_cold_pager tau_cold_pager;

// These three are functions of their own, so that the longest path is known with each and without.

noinstr void tau_cold_read_packed(const struct tau_sv39_code_load *load) {
    const struct tau_cold_store *store = &tau_cold_pager.store;
    const u32 *offset = &store->offsets[load->page.number];
    u64 *page = tau_cold_pager.frames[load->frame.number].memory;
    const u8 *packed = store->bytes + offset[0];
    if (offset[1] - offset[0] < PAGE_SIZE) {
        // Activation has unpacked every page once and compared it.
        (void)tau_cold_unpack(packed, offset[1] - offset[0], (u8 *)page);
        return;
    }
    for (u32 word = 0; word < PAGE_SIZE / sizeof(u64); word++) {
        // Volatile, or compilers make this a call of memcpy.
        WRITE_ONCE(page[word], ((const u64 *)packed)[word]);
    }
}

noinstr void tau_cold_wait(u64 begin) {
    while (csr_read(CSR_TIME) - begin < tau_cold_pager.delay_ticks) {
        cpu_relax();
    }
}

noinstr void tau_cold_read_page(const struct tau_sv39_code_load *load) {
    const u64 begin = csr_read(CSR_TIME);
    if (tau_cold_pager.store.offsets) {
        tau_cold_read_packed(load);
    } else {
        tau_sv39_code_read(&tau_cold_pager.code, load);
    }
    if (tau_cold_pager.delay_ticks) {
        tau_cold_wait(begin);
    }
    tau_cold_pager.counts.page_ticks += csr_read(CSR_TIME) - begin;
}

static __always_inline void note_instructions(u64 beside, u64 reading) {
    struct tau_cold_counts *counts = &tau_cold_pager.counts;
    if (beside > counts->fault_instructions_max) {
        counts->fault_instructions_max = beside;
    }
    if (beside + reading > counts->load_instructions_max) {
        counts->load_instructions_max = beside + reading;
    }
}

static __always_inline u32 access_of(const struct pt_regs *regs) {
    if (regs->cause == EXC_INST_PAGE_FAULT) {
        return TAU_EXECUTE;
    }
    return regs->cause == EXC_LOAD_PAGE_FAULT ? TAU_READ : TAU_WRITE;
}

bool noinstr tau_cold_fault(struct pt_regs *regs) {
    struct tau_sv39_code *code = &tau_cold_pager.code;
    struct tau_sv39_code_load load;
    u64 reading = 0;
    // Its address is computed once.
    OPTIMIZER_HIDE_VAR(code);
    // Most faults are of programs: they cost three instructions here.
    if (user_mode(regs) || regs->badaddr < code->place.first) {
        return false;
    }
    const u64 begin = csr_read(CSR_INSTRET);
    if (tau_cold_pager.is_aging) {
        tau_sv39_code_visit(code);
    }
    if (tau_sv39_code_begin(code, regs->badaddr, access_of(regs), &load) != TAU_OK) {
        return false;
    }
    tau_cold_pager.counts.interrupts_off += !(regs->status & SR_PIE);
    if (load.is_needed) {
        const u64 read_begin = csr_read(CSR_INSTRET);
        tau_cold_read_page(&load);
        reading = csr_read(CSR_INSTRET) - read_begin;
    }
    tau_sv39_code_end(code, &load);
    note_instructions(csr_read(CSR_INSTRET) - begin - reading, reading);
    return true;
}
