# One access each, never compressed: the label is its address, 4 behind it is the next instruction.
    .text
    .option norvc
    .macro access name, instruction:vararg
    .globl access_\name
access_\name:
    \instruction
    ret
    .endm
    access lw, lw a0, 0(a0)
    access lh, lh a0, 0(a0)
    access lhu, lhu a0, 0(a0)
    access lb, lb a0, 0(a0)
    access lbu, lbu a0, 0(a0)
    access sw, sw a1, 0(a0)
    access sh, sh a1, 0(a0)
    access sb, sb a1, 0(a0)

# uint32_t access_call(uint32_t address, uint32_t value): calls what is there with value in a0.
    .globl access_call
access_call:
    mv t0, a0
    mv a0, a1
    jr t0

# To be copied into the window: a0 + 0x123, then back; the first instruction is 32 bits wide.
    .globl code_begin
    .globl code_end
code_begin:
    addi a0, a0, 0x123
    ret
code_end:

# uint32_t user_run(uint32_t address, uint32_t value): calls `address` in user mode with a0 =
# value; comes back with what a0 is when the user's ecall reaches user_return.
    .globl user_run
user_run:
    addi sp, sp, -16
    sw ra, 0(sp)
    la t0, user_stack
    sw sp, 0(t0)
    csrw mepc, a0
    li t0, 0x1800
    csrc mstatus, t0
    mv a0, a1
    mret
    .globl user_return
user_return:
    la t0, user_stack
    lw sp, 0(t0)
    lw ra, 0(sp)
    addi sp, sp, 16
    ret
    .bss
    .balign 4
user_stack:
    .word 0

# To be copied into the window and run in user mode: reads, writes, and calls the machine.
    .text
    .globl user_code_begin
    .globl user_code_end
user_code_begin:
    lw t0, 0(a0)
    addi t0, t0, 1
    sw t0, 4(a0)
    mv a0, t0
    ecall
user_code_end:
