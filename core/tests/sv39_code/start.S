# Start of the firmware on QEMU's machine virt. Machine mode opens everything to supervisor mode and
# continues there with translation on. All that is here is resident.
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
    li t0, 0xb1ff  # every exception that supervisor mode can cause
    csrw medeleg, t0
    li t0, 1 << 5  # and its timer
    csrw mideleg, t0
    csrw mie, zero
    csrwi mcounteren, 7
    li t0, -1
    csrw 0x14d, t0  # stimecmp: no tick yet
    li t0, 1 << 63
    csrs 0x30a, t0  # menvcfg.STCE: supervisor mode has a timer of its own
    la t0, trap_entry
    csrw stvec, t0
    call boot_tables
    csrw satp, a0
    sfence.vma
    la t0, supervisor_main
    csrw mepc, t0
    li t0, 3 << 11
    csrc mstatus, t0
    li t0, 1 << 11  # to supervisor mode
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

# A page that is loaded needs only the registers that C does not keep. Anything else saves sepc and
# sstatus too, because its handler may be cold and trap itself.
    .text
    .balign 4
    .globl trap_entry
    .type trap_entry, @function
trap_entry:
    addi sp, sp, -144
    sd ra, 0(sp)
    sd t0, 8(sp)
    sd t1, 16(sp)
    sd t2, 24(sp)
    sd t3, 32(sp)
    sd t4, 40(sp)
    sd t5, 48(sp)
    sd t6, 56(sp)
    sd a0, 64(sp)
    sd a1, 72(sp)
    sd a2, 80(sp)
    sd a3, 88(sp)
    sd a4, 96(sp)
    sd a5, 104(sp)
    sd a6, 112(sp)
    sd a7, 120(sp)
    csrr a0, scause
    csrr a1, stval
    call load_cold_page
    beqz a0, other
restore:
    ld ra, 0(sp)
    ld t0, 8(sp)
    ld t1, 16(sp)
    ld t2, 24(sp)
    ld t3, 32(sp)
    ld t4, 40(sp)
    ld t5, 48(sp)
    ld t6, 56(sp)
    ld a0, 64(sp)
    ld a1, 72(sp)
    ld a2, 80(sp)
    ld a3, 88(sp)
    ld a4, 96(sp)
    ld a5, 104(sp)
    ld a6, 112(sp)
    ld a7, 120(sp)
    addi sp, sp, 144
    sret
other:
    csrr t0, sepc
    sd t0, 128(sp)
    csrr t0, sstatus
    sd t0, 136(sp)
    csrr a0, scause
    csrr a1, stval
    call trap_other
    ld t0, 128(sp)
    csrw sepc, t0
    ld t0, 136(sp)
    csrw sstatus, t0
    j restore
    .size trap_entry, . - trap_entry

    .bss
    .balign 16
    .space 32768
stack_end:
