# The stub of an image on RV32. It calls the function named in the mailbox in an endless loop
# (tool/native/replay/emulator.h). Its instructions are not counted. s0 survives the calls; t0 is
# free at the start of a function.
    .section .tau_stub, "ax"
    .globl tau_stub_start, tau_stub_end, tau_stub_loop, tau_stub_return
    .globl tau_stub_move_done, tau_stub_set_done, tau_stub_mailbox
    .globl memmove, memcpy, memset
tau_stub_start:
    la      s0, tau_stub_mailbox
    j       tau_stub_loop
tau_stub_loop:
    lw      a0, 0(s0)
    lw      a1, 4(s0)
    lw      a2, 8(s0)
    lw      a3, 12(s0)
    lw      t0, 16(s0)
    jalr    t0
    sw      a0, 20(s0)
    j       tau_stub_loop
memmove:
memcpy:
    la      t0, tau_stub_mailbox
    sw      a0, 24(t0)
    sw      a1, 28(t0)
    sw      a2, 32(t0)
    j       tau_stub_move_done
tau_stub_move_done:
    ret
memset:
    la      t0, tau_stub_mailbox
    sw      a0, 24(t0)
    sw      a1, 28(t0)
    sw      a2, 32(t0)
    j       tau_stub_set_done
tau_stub_set_done:
    ret
tau_stub_return:
    ret
tau_stub_end:

    .bss
    .balign 8
tau_stub_mailbox:
    .space  1024
