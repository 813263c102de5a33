@ The stub of an image on Cortex-M4: calls what the mailbox says, over and over (tool/native/replay/emulator.h).
@ Nothing here is counted. r4 survives the calls; r3 and r12 are free at the start of a function.
    .syntax unified
    .thumb
    .section .tau_stub, "ax"
    .globl tau_stub_start, tau_stub_end, tau_stub_loop, tau_stub_return
    .globl tau_stub_move_done, tau_stub_set_done, tau_stub_mailbox
    .globl memmove, memcpy, memset, __aeabi_memcpy, __aeabi_memmove
    .thumb_func
tau_stub_start:
    movw    r4, #:lower16:tau_stub_mailbox
    movt    r4, #:upper16:tau_stub_mailbox
    b       tau_stub_loop
    .thumb_func
tau_stub_loop:
    ldr     r0, [r4, #0]
    ldr     r1, [r4, #4]
    ldr     r2, [r4, #8]
    ldr     r3, [r4, #12]
    ldr     r5, [r4, #16]
    blx     r5
    str     r0, [r4, #20]
    b       tau_stub_loop
    .thumb_func
memmove:
    .thumb_func
memcpy:
    .thumb_func
__aeabi_memcpy:
    .thumb_func
__aeabi_memmove:
    movw    r12, #:lower16:tau_stub_mailbox
    movt    r12, #:upper16:tau_stub_mailbox
    str     r0, [r12, #24]
    str     r1, [r12, #28]
    str     r2, [r12, #32]
    b       tau_stub_move_done
    .thumb_func
tau_stub_move_done:
    bx      lr
    .thumb_func
memset:
    movw    r12, #:lower16:tau_stub_mailbox
    movt    r12, #:upper16:tau_stub_mailbox
    str     r0, [r12, #24]
    str     r1, [r12, #28]
    str     r2, [r12, #32]
    b       tau_stub_set_done
    .thumb_func
tau_stub_set_done:
    bx      lr
    .thumb_func
tau_stub_return:
    bx      lr
    .thumb_func
tau_stub_end:
    nop

    .bss
    .balign 8
tau_stub_mailbox:
    .space  1024
