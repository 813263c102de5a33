# The way into the kernel of tasks and out of it. mscratch is tau_tasks_entry except while a task's
# registers are saved, so that an exception of the kernel stores nothing where a task's sp points.
#
# The unit is told of the kernel before its first access to the window, and of the task behind its
# last: so each entry of the TLBs has the owner whose page it is.
#include "facts/gen/tau_tile_format.h"
#include "kernel/context.h"
#include "kernel/tasks/entry.h"

#define UNIT_OWNER (TAU_TILE_ADDRESS_UNIT + 4 * TAU_TILE_TLB_OWNER)

    .macro save
    csrrw sp, mscratch, sp
    sw t0, TAU_TASKS_ENTRY_T0(sp)
    li t0, UNIT_OWNER
    sw zero, 0(t0)
    lw t0, TAU_TASKS_ENTRY_T0(sp)
    lw sp, TAU_TASKS_ENTRY_CONTEXT(sp)
    .irp register, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    sw x\register, 4 * \register(sp)
    .endr
    csrr t0, mscratch
    sw t0, 4 * TAU_CONTEXT_SP(sp)
    la t1, tau_tasks_entry
    csrw mscratch, t1
    csrr t0, mepc
    sw t0, 4 * TAU_CONTEXT_PC(sp)
    mv a0, sp
    .option push
    .option norelax
    la gp, __global_pointer$
    .option pop
    la sp, tau_tasks_stack_end
    .endm

    .section .text.trap, "ax"
    .globl tau_tasks_vectors
    .balign 256
tau_tasks_vectors:
    .option push
    .option norvc
    j exception
    .rept 6
    j tau_tasks_unexpected
    .endr
    j timer
    .rept 24
    j tau_tasks_unexpected
    .endr
    .option pop

timer:
    save
    call tau_tasks_timer
    j return

exception:
    save
    csrr a1, mcause
    csrr a2, mtval
    call tau_tasks_exception
    j return

# The boot ends here: A0 becomes the first context, on the kernel's own stack from now on.
    .globl tau_tasks_start
tau_tasks_start:
    la sp, tau_tasks_stack_end
    la t1, tau_tasks_entry
    csrw mscratch, t1
    call tau_tasks_first

# Goes on in the context A0.
return:
    la t1, tau_tasks_entry
    sw a0, TAU_TASKS_ENTRY_CONTEXT(t1)
    mv sp, a0
    lw t0, 4 * TAU_CONTEXT_PC(sp)
    csrw mepc, t0
    .irp register, 1, 3, 4, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    lw x\register, 4 * \register(sp)
    .endr
    lw t0, 4 * 5(sp)
    sw t0, TAU_TASKS_ENTRY_T0(t1)
    lw t0, 4 * 6(sp)
    sw t0, TAU_TASKS_ENTRY_T1(t1)
    lw sp, 4 * TAU_CONTEXT_SP(sp)
    lw t0, TAU_TASKS_ENTRY_OWNER(t1)
    li t1, UNIT_OWNER
    sw t0, 0(t1)
    csrr t1, mscratch
    lw t0, TAU_TASKS_ENTRY_T0(t1)
    lw t1, TAU_TASKS_ENTRY_T1(t1)
    mret
