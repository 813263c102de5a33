# Functions that do one thing in the cycle A0 (of the clock's low word): the last instruction of a
# page, so that what the core fetches ahead is in another page, which no TLB has yet.
#include "facts/gen/tau_compose_format.h"

    .option norelax
    .macro at_cycle name, instruction:vararg
    .balign 1024
    .globl \name
\name:
    li t1, TAU_COMPOSE_ADDRESS_SYSTEM
    li t2, 200
1:  lw t0, 0(t1)
    sub t0, a0, t0
    bge t0, t2, 1b
    addi t0, t0, -18  # from the clock's reading to the instruction, but for what is waited for here
    li t2, 64
2:  addi t0, t0, -4
    bge t0, t2, 2b
    slli t0, t0, 1
    la t1, 3f
    sub t1, t1, t0
    jr t1
    .org \name + 1024 - 4 - 2 * 64
    .option push
    .option rvc
    .rept 64
    c.nop
    .endr
    .option norvc
3:  \instruction
    ret
    .option pop
    .endm

    .section .text.slot_ends, "ax"
    at_cycle divide_at, divu a1, a1, a2
    at_cycle store_at, sw a2, 0(a1)
    at_cycle cross_at, sw a2, 0(a1)
    at_cycle call_at, ecall
    at_cycle sleep_at, wfi
