# An allocator whose instructions can be counted by hand, on RV32. Memory is never given back.
    .globl p_init, p_malloc, p_free, p_realloc, p_aligned_alloc
    .text
p_init:                         # heap: the next free address is its first word
    addi    a5, a0, 64
    sw      a5, 0(a0)
    ret
p_malloc:                       # 8 instructions if the size is even, 7 + 3 * 4 - 1 if it is odd
    lw      a5, 0(a0)           # 1
    addi    a4, a1, 15          # 2
    andi    a4, a4, -8          # 3
    add     a4, a5, a4          # 4
    sw      a4, 0(a0)           # 5
    andi    a4, a1, 1           # 6
    bnez    a4, odd             # 7
    mv      a0, a5              # 8
    j       done                # 9
odd:
    li      a3, 3               # 8
again:
    addi    a3, a3, -1          # three times
    bnez    a3, again           # three times
    mv      a0, a5
done:
    ret
p_free:                         # 1 instruction
    ret
p_realloc:                      # a new object, and as many bytes copied as are asked for
    addi    sp, sp, -16         # 1
    sw      ra, 12(sp)          # 2
    sw      a1, 8(sp)           # 3
    sw      a2, 4(sp)           # 4
    mv      a1, a2              # 5
    call    p_malloc            # 6, and malloc
    lw      a1, 8(sp)           # 7
    lw      a2, 4(sp)           # 8
    lw      ra, 12(sp)          # 9
    addi    sp, sp, 16          # 10
    tail    memmove             # 11, and 3
