# Start of the test's kernel on QEMU's machine virt, in machine mode. Assembly whose symbols have a
# size and no type is a function too: the trap handler, which skips the ecall that trapped. It stays
# in machine mode, so it needs no mret. It changes t0, which any function may change.
    .section .text.start, "ax"
    .globl _start
_start:
    la sp, stack_end
    la t0, trap_entry
    csrw mtvec, t0
    call kernel_main
#ifndef WAITS
    # Power off. QEMU ends within the store.
    li t0, 0x100000
    li t1, 0x5555
    sw t1, (t0)
#endif
# A function of its own, because QEMU translates it together with the store.
stopped:
    j stopped
    .size stopped, . - stopped

    .text
    .balign 4
    .globl trap_entry
trap_entry:
    csrr t0, mepc
    addi t0, t0, 4
    jr t0
    .size trap_entry, . - trap_entry

# falls_through runs into falls_into: one translated block with code of two functions.
    .balign 4
    .globl falls_through
    .type falls_through, @function
falls_through:
    addi a0, a0, 1
    addi a0, a0, 2
    .size falls_through, . - falls_through
    .globl falls_into
    .type falls_into, @function
falls_into:
    addi a0, a0, 3
    ret
    .size falls_into, . - falls_into

# Traps in the middle of a block.
    .globl traps
    .type traps, @function
traps:
    .option push
    .option norvc
    addi a0, a0, 1
    ecall
    addi a0, a0, 1
    ret
    .option pop
    .size traps, . - traps

    .bss
    .balign 16
    .space 4096
stack_end:
