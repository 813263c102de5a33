# The way into the kernel and out of it. mscratch is the context of whoever runs.
#
# An interrupt of the timer ends a user slot; everything else is a call or an error of the task.
# Registers are saved and restored word by word, so both ways take the same time for everyone.
#include "kernel/context.h"

    .macro save
    csrrw sp, mscratch, sp
    .irp register, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    sw x\register, 4 * \register(sp)
    .endr
    csrr t0, mscratch
    sw t0, 4 * TAU_CONTEXT_SP(sp)
    csrr t0, mepc
    sw t0, 4 * TAU_CONTEXT_PC(sp)
    csrr t0, mstatus
    sw t0, 4 * TAU_CONTEXT_STATUS(sp)
    mv a0, sp
    .option push
    .option norelax
    la gp, __global_pointer$
    .option pop
    la sp, tau_tile_stack_end
    .endm

    .section .text.trap, "ax"
    .globl tau_trap_vectors
    .balign 256
tau_trap_vectors:
    .option push
    .option norvc
    j exception
    .rept 6
    j tau_trap_unexpected
    .endr
    j timer
    .rept 24
    j tau_trap_unexpected
    .endr
    .option pop

timer:
    save
# The start of a tile comes in here, so that its first slot begins as all others do.
    .globl tau_trap_slot_end
tau_trap_slot_end:
    call tau_slot_end
    j tau_trap_return

exception:
    save
    csrr a1, mcause
    csrr a2, mtval
    call tau_trap_exception

# Goes on in the context A0.
    .globl tau_trap_return
tau_trap_return:
    csrw mscratch, a0
    mv sp, a0
    lw t0, 4 * TAU_CONTEXT_PC(sp)
    csrw mepc, t0
    lw t0, 4 * TAU_CONTEXT_STATUS(sp)
    csrw mstatus, t0
    .irp register, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    lw x\register, 4 * \register(sp)
    .endr
    lw sp, 4 * TAU_CONTEXT_SP(sp)
    mret

# Who has nothing to do sleeps until the slot ends.
    .globl tau_trap_idle
tau_trap_idle:
    wfi
    j tau_trap_idle
