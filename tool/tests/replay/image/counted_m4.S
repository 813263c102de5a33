@ An allocator whose instructions can be counted by hand, on Cortex-M4. Memory is never given back.
    .syntax unified
    .thumb
    .globl p_init, p_malloc, p_free, p_realloc
    .text
    .thumb_func
p_init:                         @ heap: the next free address is its first word
    add     r3, r0, #64
    str     r3, [r0]
    bx      lr
    .thumb_func
p_malloc:                       @ 12 instructions, whether the condition holds or not
    ldr     r3, [r0]            @ 1
    add     r2, r1, #15         @ 2
    bic     r2, r2, #7          @ 3
    add     r2, r3, r2          @ 4
    str     r2, [r0]            @ 5
    tst     r1, #1              @ 6
    ite     eq                  @ 7
    moveq   r2, #1              @ 8
    movne   r2, #2              @ 9
    mov     r0, r3              @ 10
    nop                         @ 11
    bx      lr                  @ 12
    .thumb_func
p_free:                         @ 3 if the pointer is a multiple of 16, 5 if not: a conditional return
    tst     r1, #15             @ 1
    it      eq                  @ 2
    bxeq    lr                  @ 3
    nop                         @ 4
    bx      lr                  @ 5
    .thumb_func
p_realloc:                      @ a new object, and as many bytes copied as are asked for
    push    {r1, r2, r4, lr}    @ 1
    mov     r1, r2              @ 2
    bl      p_malloc            @ 3, and malloc
    pop     {r1, r2, r4, lr}    @ 4
    b.w     memmove             @ 5, and 3
