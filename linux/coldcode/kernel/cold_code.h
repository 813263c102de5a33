// SPDX-License-Identifier: GPL-2.0-only
// What the kernel's own files call.
#ifndef TAU_COLD_CODE_H
#define TAU_COLD_CODE_H

#include <linux/types.h>

struct pt_regs;

#ifdef CONFIG_COLD_CODE
// Serves a page fault at cold code. False: it is another fault, and nothing has changed.
bool tau_cold_fault(struct pt_regs *regs);

// Takes the cold code out of RAM, or says on the console why it stays. The kernel has booted.
void tau_cold_activate(void);
#else
static __always_inline bool tau_cold_fault(struct pt_regs *regs) {
    return false;
}

static inline void tau_cold_activate(void) {
}
#endif

#endif
