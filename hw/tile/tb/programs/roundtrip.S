# uint32_t roundtrip_load(uint32_t address): cycles of a load, by the core's counter. The load lies across two
# words, which are fetched again after a fault: a cycle more than one word takes.
    .section .text.roundtrip, "ax"
    .option norvc
    .balign 4
    .half 1  # c.nop
    .globl roundtrip_load
roundtrip_load:
    csrr t0, mcycle
    lw t1, 0(a0)
    csrr t1, mcycle
    sub a0, t1, t0
    ret

# The smallest handler: it only returns, so that the access is repeated at once; for mtvec. From its first
# retired instruction to mret's, both counted, the core spends 3 cycles in it: 1 for nop, 2 for mret.
    .section .handler, "ax"
    .balign 256
    .globl roundtrip_handler
roundtrip_handler:
    nop
    mret
