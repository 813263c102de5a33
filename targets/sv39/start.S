# Start of the test on QEMU's machine virt. Machine mode opens everything to supervisor mode. It
# makes a root table that maps the first 4 GiB of physical memory into the upper half of every
# space, and continues there in supervisor mode. Every later trap ends user_run, see
# core/tests/ports/qemu_sv39.c.
    .equ UPPER, 0xffffffc000000000

    .section .text.start, "ax"
    .globl _start
_start:
    csrr t0, mhartid
    bnez t0, sleep
    la sp, stack_end
    la t0, trap_in_machine_mode
    csrw mtvec, t0
    li t0, -1
    csrw pmpaddr0, t0
    li t0, 0x1f
    csrw pmpcfg0, t0
    li t0, 0xb1ff  # every exception that user or supervisor mode can cause
    csrw medeleg, t0
    csrw mideleg, zero
    csrw mie, zero
    csrwi mcounteren, 7
    call boot_tables
    csrw satp, a0
    sfence.vma
    li t2, UPPER
    add sp, sp, t2
    la t0, trap
    add t0, t0, t2
    csrw stvec, t0
    la t0, supervisor_main
    add t0, t0, t2
    csrw mepc, t0
    li t0, 3 << 11
    csrc mstatus, t0
    li t0, 1 << 11  # back to supervisor mode
    csrs mstatus, t0
    mret

sleep:
    wfi
    j sleep

# No trap is expected here: reports failure to the test device.
    .balign 4
trap_in_machine_mode:
    li t0, 0x100000
    li t1, (99 << 16) | 0x3333
    sw t1, (t0)
    j sleep

    .text
# user_run(context in a0): continues in user mode at context->pc with a0 and a1. Returns at the next
# trap of any kind, with a0 and a1 stored. Context: pc, a0, a1, then ra, sp, gp, tp, s0 … s11.
    .globl user_run
user_run:
    sd ra, 24(a0)
    sd sp, 32(a0)
    sd gp, 40(a0)
    sd tp, 48(a0)
    sd s0, 56(a0)
    sd s1, 64(a0)
    sd s2, 72(a0)
    sd s3, 80(a0)
    sd s4, 88(a0)
    sd s5, 96(a0)
    sd s6, 104(a0)
    sd s7, 112(a0)
    sd s8, 120(a0)
    sd s9, 128(a0)
    sd s10, 136(a0)
    sd s11, 144(a0)
    csrw sscratch, a0
    ld t0, 0(a0)
    csrw sepc, t0
    li t0, 1 << 8  # SPP: to user mode
    csrc sstatus, t0
    ld a1, 16(a0)
    ld a0, 8(a0)
    sret

    .balign 4
trap:
    csrrw t0, sscratch, t0
    sd a0, 8(t0)
    sd a1, 16(t0)
    ld ra, 24(t0)
    ld sp, 32(t0)
    ld gp, 40(t0)
    ld tp, 48(t0)
    ld s0, 56(t0)
    ld s1, 64(t0)
    ld s2, 72(t0)
    ld s3, 80(t0)
    ld s4, 88(t0)
    ld s5, 96(t0)
    ld s6, 104(t0)
    ld s7, 112(t0)
    ld s8, 120(t0)
    ld s9, 128(t0)
    ld s10, 136(t0)
    ld s11, 144(t0)
    ret

# The code of user mode, copied into a page of each space, SCRIPT_STORE_BYTES apart.
    .globl user_code
    .option push
    .option norvc
    .balign 8
user_code:
    ld a0, (a0)
    ecall
    sd a1, (a0)
    ecall
    .option pop

    .bss
    .balign 16
    .space 16384
stack_end:
