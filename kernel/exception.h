// What a task asks of the kernel, and what it does wrong: everything that enters it but the timer.
#ifndef TAU_KERNEL_EXCEPTION_H
#define TAU_KERNEL_EXCEPTION_H

#include "kernel/context.h"

// Carries out a kernel call, serves a fault from the application's pool, or stops the task. Returns
// the context to go on in. Stops the tile if the kernel or the loader raised the exception, which
// is a bug of ours.
// Cost: without loops; part of the OS slot, since it may begin in a user slot's last cycle.
struct tau_context *tau_trap_exception(struct tau_context *context, uint32_t cause,
                                       uint32_t address);

_Noreturn void tau_trap_unexpected(void);

#endif
