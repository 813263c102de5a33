# Cold code that no compiler makes. Each section starts on a page; their order is that of their
# names (firmware.ld).

# Constants in the text, which cold code and resident code read.
    .section .cold.c1, "ax", @progbits
    .balign 4096
    .globl cold_constants
cold_constants:
    .8byte 0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb, 0x2545f4914f6cdd1d
    .8byte 0xd6e8feb86659fd93, 0xa0761d6478bd642f, 0xe7037ed1a0b428db, 0x8ebc6af09c88c6e3

# straddle(): one instruction on two pages, whose operand lies on two others: four pages at once.
    .section .cold.c2, "ax", @progbits
    .balign 4096
    .zero 4094
    .globl straddle
straddle:
    .option push
    .option norvc
    ld a0, 0(a0)
    .option pop
    ret

    .section .cold.c4, "ax", @progbits
    .balign 4096
    .zero 4091
    .globl straddle_operand
straddle_operand:
    .8byte 0x0123456789abcdef

# longer_than_a_page(x): falls from one page into the next.
    .section .cold.c6, "ax", @progbits
    .balign 4096
    .globl longer_than_a_page
longer_than_a_page:
    .option push
    .option norvc
    .rept 1100
    addi a0, a0, 3
    .endr
    .option pop
    ret
