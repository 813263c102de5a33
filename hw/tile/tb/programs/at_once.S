# Code that runs wherever it is copied to: a1 times a load and a store of the word at a0 and a load of
# the word a2 bytes behind it.
    .text
    .option norvc
    .globl at_once_begin
    .globl at_once_copy
    .globl at_once_end
    .balign 4
at_once_begin:
    add a2, a0, a2
1:  lw t0, 0(a0)
    addi t0, t0, 1
    sw t0, 0(a0)
    lw t1, 0(a2)
    addi a1, a1, -1
    bnez a1, 1b
    ret
# The same, a1 times a load of the word at a0 and a store of it a2 bytes behind.
at_once_copy:
    add a2, a0, a2
1:  lw t0, 0(a0)
    sw t0, 0(a2)
    addi a1, a1, -1
    bnez a1, 1b
    ret
at_once_end:

# uint32_t at_once_run(uint32_t data, uint32_t count, uint32_t offset, uint32_t code): cycles of it.
    .globl at_once_run
at_once_run:
    mv t5, ra
    csrr t6, mcycle
    jalr a3
    csrr a0, mcycle
    sub a0, a0, t6
    jr t5
