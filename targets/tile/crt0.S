# Reset and traps of programs on the tile. Code starts 0x80 behind the vector table, where the core
# resets. A program may define tau_tile_trap(cause, address, pc) in C. It returns the address at
# which to continue; pc repeats the instruction. A program may set mtvec itself if its traps must be
# fast.
    .section .vectors, "ax"
    .globl tau_tile_vectors
tau_tile_vectors:
    .option push
    .option norvc
    .rept 32
    j trap
    .endr
    .option pop

    .globl _start
_start:
    # The linker may rewrite an address near gp as a distance from gp: so gp is first, and by itself not.
    .option push
    .option norelax
    la gp, __global_pointer$
    .option pop
    la sp, tau_tile_stack_end
    la t0, tau_tile_zero_begin
    la t1, tau_tile_zero_end
1:  bgeu t0, t1, 2f
    sw zero, 0(t0)
    addi t0, t0, 4
    j 1b
2:  la t0, tau_tile_vectors
    csrw mtvec, t0
    call main
    li t0, 0x40000000
    sw a0, 4(t0)
3:  j 3b

    .section .text.trap, "ax"
trap:
    addi sp, sp, -64
    sw ra, 0(sp)
    sw t0, 4(sp)
    sw t1, 8(sp)
    sw t2, 12(sp)
    sw a0, 16(sp)
    sw a1, 20(sp)
    sw a2, 24(sp)
    sw a3, 28(sp)
    sw a4, 32(sp)
    sw a5, 36(sp)
    sw a6, 40(sp)
    sw a7, 44(sp)
    sw t3, 48(sp)
    sw t4, 52(sp)
    sw t5, 56(sp)
    sw t6, 60(sp)
    csrr a0, mcause
    csrr a1, mtval
    csrr a2, mepc
    call tau_tile_trap
    csrw mepc, a0
    lw ra, 0(sp)
    lw t0, 4(sp)
    lw t1, 8(sp)
    lw t2, 12(sp)
    lw a0, 16(sp)
    lw a1, 20(sp)
    lw a2, 24(sp)
    lw a3, 28(sp)
    lw a4, 32(sp)
    lw a5, 36(sp)
    lw a6, 40(sp)
    lw a7, 44(sp)
    lw t3, 48(sp)
    lw t4, 52(sp)
    lw t5, 56(sp)
    lw t6, 60(sp)
    addi sp, sp, 64
    mret
