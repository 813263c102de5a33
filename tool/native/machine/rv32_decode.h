// Decodes RV32IMC and Zbb to the operations that rv32.c executes. A compressed instruction becomes
// its full form. The operands of every operation are register rs1, and the sum of register rs2 and
// the immediate, one of which is zero.
#ifndef TAU_RV32_DECODE_H
#define TAU_RV32_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/native/machine/rv32.h"

// clang-format off
enum rv32_op {
    RV32_UNDECODED = 0,
    RV32_ILLEGAL, RV32_TRAP, RV32_NOTHING, RV32_CONSTANT, RV32_JUMP, RV32_JUMP_REGISTER,
    RV32_BEQ, RV32_BNE, RV32_BLT, RV32_BGE, RV32_BLTU, RV32_BGEU,
    RV32_LB, RV32_LH, RV32_LW, RV32_LBU, RV32_LHU, RV32_SB, RV32_SH, RV32_SW,
    RV32_ADD, RV32_SUB, RV32_SLL, RV32_SLT, RV32_SLTU, RV32_XOR, RV32_SRL, RV32_SRA, RV32_OR,
    RV32_AND,
    RV32_MUL, RV32_MULH, RV32_MULHSU, RV32_MULHU, RV32_DIV, RV32_DIVU, RV32_REM, RV32_REMU,
    RV32_ANDN, RV32_ORN, RV32_XNOR, RV32_CLZ, RV32_CTZ, RV32_CPOP, RV32_MAX, RV32_MAXU, RV32_MIN,
    RV32_MINU, RV32_SEXTB, RV32_SEXTH, RV32_ZEXTH, RV32_ROL, RV32_ROR, RV32_ORCB,
    RV32_REV8,
    RV32_PAYLOAD_MOVE, RV32_PAYLOAD_FILL,
};
// clang-format on

// Decodes the instruction at ADDRESS, whose bytes are in WORD (the upper half counts only if it is
// a long one).
struct tau_rv32_instruction rv32_decode(uint32_t word, uint32_t address, bool has_zbb);

#endif
