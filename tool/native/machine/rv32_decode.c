// The encodings of RV32IMC and Zbb. See rv32_decode.h; the manual's names are kept.
#include "tool/native/machine/rv32_decode.h"

static uint32_t bits(uint32_t word, unsigned lowest, unsigned count) {
    return (word >> lowest) & ((UINT32_C(1) << count) - 1);
}

static int32_t sign_extended(uint32_t value, unsigned width) {
    const uint32_t sign = UINT32_C(1) << (width - 1);
    return (int32_t)((value ^ sign) - sign);
}

// ---- long instructions ----

#define TWO_REGISTERS UINT32_C(0xfe00707f)  // or a register and a distance
#define ONE_REGISTER UINT32_C(0xfff0707f)

static enum rv32_op op_of_zbb(uint32_t word) {
    static const struct {
        uint32_t mask;
        uint32_t match;
        enum rv32_op op;
    } encodings[] = {
        {TWO_REGISTERS, 0x40007033, RV32_ANDN}, {TWO_REGISTERS, 0x40006033, RV32_ORN},
        {TWO_REGISTERS, 0x40004033, RV32_XNOR}, {TWO_REGISTERS, 0x0a004033, RV32_MIN},
        {TWO_REGISTERS, 0x0a005033, RV32_MINU}, {TWO_REGISTERS, 0x0a006033, RV32_MAX},
        {TWO_REGISTERS, 0x0a007033, RV32_MAXU}, {TWO_REGISTERS, 0x60001033, RV32_ROL},
        {TWO_REGISTERS, 0x60005033, RV32_ROR},  {TWO_REGISTERS, 0x60005013, RV32_ROR},
        {ONE_REGISTER, 0x08004033, RV32_ZEXTH}, {ONE_REGISTER, 0x60001013, RV32_CLZ},
        {ONE_REGISTER, 0x60101013, RV32_CTZ},   {ONE_REGISTER, 0x60201013, RV32_CPOP},
        {ONE_REGISTER, 0x60401013, RV32_SEXTB}, {ONE_REGISTER, 0x60501013, RV32_SEXTH},
        {ONE_REGISTER, 0x28705013, RV32_ORCB},  {ONE_REGISTER, 0x69805013, RV32_REV8},
    };
    for (size_t i = 0; i < sizeof encodings / sizeof encodings[0]; i++) {
        if ((word & encodings[i].mask) == encodings[i].match) {
            return encodings[i].op;
        }
    }
    return RV32_ILLEGAL;
}

static enum rv32_op op_of_immediate(uint32_t word, bool has_zbb) {
    static const enum rv32_op plain[8] = {RV32_ADD, RV32_SLL, RV32_SLT, RV32_SLTU,
                                          RV32_XOR, RV32_SRL, RV32_OR,  RV32_AND};
    const uint32_t funct3 = bits(word, 12, 3);
    const uint32_t funct7 = bits(word, 25, 7);
    const bool is_shift = funct3 == 1 || funct3 == 5;
    if (!is_shift || funct7 == 0x00) {
        return plain[funct3];
    }
    if (funct3 == 5 && funct7 == 0x20) {
        return RV32_SRA;
    }
    return has_zbb ? op_of_zbb(word) : RV32_ILLEGAL;
}

static enum rv32_op op_of_registers(uint32_t word, bool has_zbb) {
    static const enum rv32_op plain[8] = {RV32_ADD, RV32_SLL, RV32_SLT, RV32_SLTU,
                                          RV32_XOR, RV32_SRL, RV32_OR,  RV32_AND};
    static const enum rv32_op multiply[8] = {RV32_MUL, RV32_MULH, RV32_MULHSU, RV32_MULHU,
                                             RV32_DIV, RV32_DIVU, RV32_REM,    RV32_REMU};
    const uint32_t funct3 = bits(word, 12, 3);
    const uint32_t funct7 = bits(word, 25, 7);
    if (funct7 == 0x00) {
        return plain[funct3];
    }
    if (funct7 == 0x01) {
        return multiply[funct3];
    }
    if (funct7 == 0x20 && (funct3 == 0 || funct3 == 5)) {
        return funct3 == 0 ? RV32_SUB : RV32_SRA;
    }
    return has_zbb ? op_of_zbb(word) : RV32_ILLEGAL;
}

static int32_t jump_offset(uint32_t word) {
    return sign_extended(bits(word, 31, 1) << 20 | bits(word, 12, 8) << 12 |
                             bits(word, 20, 1) << 11 | bits(word, 21, 10) << 1,
                         21);
}

static int32_t branch_offset(uint32_t word) {
    return sign_extended(bits(word, 31, 1) << 12 | bits(word, 7, 1) << 11 | bits(word, 25, 6) << 5 |
                             bits(word, 8, 4) << 1,
                         13);
}

static struct tau_rv32_instruction decode_long(uint32_t word, uint32_t address, bool has_zbb) {
    static const enum rv32_op loads[8] = {RV32_LB,  RV32_LH,  RV32_LW,      RV32_ILLEGAL,
                                          RV32_LBU, RV32_LHU, RV32_ILLEGAL, RV32_ILLEGAL};
    static const enum rv32_op stores[8] = {RV32_SB,      RV32_SH,      RV32_SW,      RV32_ILLEGAL,
                                           RV32_ILLEGAL, RV32_ILLEGAL, RV32_ILLEGAL, RV32_ILLEGAL};
    static const enum rv32_op branches[8] = {RV32_BEQ, RV32_BNE, RV32_ILLEGAL, RV32_ILLEGAL,
                                             RV32_BLT, RV32_BGE, RV32_BLTU,    RV32_BGEU};
    const uint32_t funct3 = bits(word, 12, 3);
    struct tau_rv32_instruction found = {.op = RV32_ILLEGAL,
                                         .rd = (uint8_t)bits(word, 7, 5),
                                         .rs1 = (uint8_t)bits(word, 15, 5),
                                         .rs2 = (uint8_t)bits(word, 20, 5),
                                         .immediate = sign_extended(word >> 20, 12),
                                         .next = address + 4};
    switch (word & 0x7f) {
    case 0x37:  // lui
        found.op = RV32_CONSTANT;
        found.immediate = (int32_t)(word & 0xfffff000);
        break;
    case 0x17:  // auipc
        found.op = RV32_CONSTANT;
        found.immediate = (int32_t)(address + (word & 0xfffff000));
        break;
    case 0x6f:
        found.op = RV32_JUMP;
        found.immediate = (int32_t)(address + (uint32_t)jump_offset(word));
        break;
    case 0x67:
        found.op = funct3 == 0 ? RV32_JUMP_REGISTER : RV32_ILLEGAL;
        break;
    case 0x63:
        found.op = (uint8_t)branches[funct3];
        found.immediate = (int32_t)(address + (uint32_t)branch_offset(word));
        break;
    case 0x03:
        found.op = (uint8_t)loads[funct3];
        break;
    case 0x23:
        found.op = (uint8_t)stores[funct3];
        found.immediate = sign_extended(bits(word, 25, 7) << 5 | bits(word, 7, 5), 12);
        break;
    case 0x13:
        found.op = (uint8_t)op_of_immediate(word, has_zbb);
        found.rs2 = 0;
        if (funct3 == 1 || funct3 == 5) {
            found.immediate &= 31;
        }
        break;
    case 0x33:
        found.op = (uint8_t)op_of_registers(word, has_zbb);
        found.immediate = 0;
        break;
    case 0x0f:  // fence
        found.op = RV32_NOTHING;
        break;
    case 0x73:  // ecall, ebreak; the processor has no control registers
        found.op = funct3 == 0 ? RV32_TRAP : RV32_ILLEGAL;
        break;
    default:
        break;
    }
    return found;
}

// ---- short instructions ----

static void set(struct tau_rv32_instruction *found, enum rv32_op op, uint32_t rd, uint32_t rs1,
                uint32_t rs2, int32_t immediate) {
    found->op = (uint8_t)op;
    found->rd = (uint8_t)rd;
    found->rs1 = (uint8_t)rs1;
    found->rs2 = (uint8_t)rs2;
    found->immediate = immediate;
}

static void decode_quadrant_0(uint32_t half, struct tau_rv32_instruction *found) {
    const uint32_t rs1 = 8 + bits(half, 7, 3);
    const uint32_t other = 8 + bits(half, 2, 3);
    const uint32_t offset = bits(half, 5, 1) << 6 | bits(half, 10, 3) << 3 | bits(half, 6, 1) << 2;
    const uint32_t stack = bits(half, 7, 4) << 6 | bits(half, 11, 2) << 4 | bits(half, 5, 1) << 3 |
                           bits(half, 6, 1) << 2;
    switch (bits(half, 13, 3)) {
    case 0:  // c.addi4spn
        if (stack != 0) {
            set(found, RV32_ADD, other, 2, 0, (int32_t)stack);
        }
        break;
    case 2:  // c.lw
        set(found, RV32_LW, other, rs1, 0, (int32_t)offset);
        break;
    case 6:  // c.sw
        set(found, RV32_SW, 0, rs1, other, (int32_t)offset);
        break;
    default:
        break;
    }
}

static void decode_compressed_alu(uint32_t half, int32_t immediate,
                                  struct tau_rv32_instruction *found) {
    static const enum rv32_op registers[4] = {RV32_SUB, RV32_XOR, RV32_OR, RV32_AND};
    const uint32_t rd = 8 + bits(half, 7, 3);
    const bool is_wide = bits(half, 12, 1) != 0;  // a shift beyond 31, or an instruction of RV64
    switch (bits(half, 10, 2)) {
    case 0:
    case 1:
        if (!is_wide) {
            set(found, bits(half, 10, 1) != 0 ? RV32_SRA : RV32_SRL, rd, rd, 0, immediate & 31);
        }
        break;
    case 2:
        set(found, RV32_AND, rd, rd, 0, immediate);
        break;
    default:
        if (!is_wide) {
            set(found, registers[bits(half, 5, 2)], rd, rd, 8 + bits(half, 2, 3), 0);
        }
        break;
    }
}

static uint32_t compressed_jump(uint32_t half, uint32_t address) {
    const uint32_t offset = bits(half, 12, 1) << 11 | bits(half, 8, 1) << 10 |
                            bits(half, 9, 2) << 8 | bits(half, 6, 1) << 7 | bits(half, 7, 1) << 6 |
                            bits(half, 2, 1) << 5 | bits(half, 11, 1) << 4 | bits(half, 3, 3) << 1;
    return address + (uint32_t)sign_extended(offset, 12);
}

static uint32_t compressed_branch(uint32_t half, uint32_t address) {
    const uint32_t offset = bits(half, 12, 1) << 8 | bits(half, 5, 2) << 6 | bits(half, 2, 1) << 5 |
                            bits(half, 10, 2) << 3 | bits(half, 3, 2) << 1;
    return address + (uint32_t)sign_extended(offset, 9);
}

static void decode_quadrant_1(uint32_t half, uint32_t address, struct tau_rv32_instruction *found) {
    const uint32_t rd = bits(half, 7, 5);
    const int32_t immediate = sign_extended(bits(half, 12, 1) << 5 | bits(half, 2, 5), 6);
    const uint32_t stack = bits(half, 12, 1) << 9 | bits(half, 3, 2) << 7 | bits(half, 5, 1) << 6 |
                           bits(half, 2, 1) << 5 | bits(half, 6, 1) << 4;
    switch (bits(half, 13, 3)) {
    case 0:  // c.addi
        set(found, RV32_ADD, rd, rd, 0, immediate);
        break;
    case 1:  // c.jal
        set(found, RV32_JUMP, 1, 0, 0, (int32_t)compressed_jump(half, address));
        break;
    case 2:  // c.li
        set(found, RV32_ADD, rd, 0, 0, immediate);
        break;
    case 3:  // c.addi16sp, c.lui
        if (rd == 2 && stack != 0) {
            set(found, RV32_ADD, 2, 2, 0, sign_extended(stack, 10));
        } else if (rd != 2 && immediate != 0) {
            set(found, RV32_CONSTANT, rd, 0, 0, (int32_t)((uint32_t)immediate << 12));
        }
        break;
    case 4:
        decode_compressed_alu(half, immediate, found);
        break;
    case 5:  // c.j
        set(found, RV32_JUMP, 0, 0, 0, (int32_t)compressed_jump(half, address));
        break;
    default:  // c.beqz, c.bnez
        set(found, bits(half, 13, 1) != 0 ? RV32_BNE : RV32_BEQ, 0, 8 + bits(half, 7, 3), 0,
            (int32_t)compressed_branch(half, address));
        break;
    }
}

static void decode_quadrant_2(uint32_t half, struct tau_rv32_instruction *found) {
    const uint32_t rd = bits(half, 7, 5);
    const uint32_t rs2 = bits(half, 2, 5);
    const bool is_second = bits(half, 12, 1) != 0;
    const uint32_t load = bits(half, 2, 2) << 6 | bits(half, 12, 1) << 5 | bits(half, 4, 3) << 2;
    const uint32_t store = bits(half, 7, 2) << 6 | bits(half, 9, 4) << 2;
    switch (bits(half, 13, 3)) {
    case 0:  // c.slli
        if (!is_second) {
            set(found, RV32_SLL, rd, rd, 0, (int32_t)rs2);
        }
        break;
    case 2:  // c.lwsp
        if (rd != 0) {
            set(found, RV32_LW, rd, 2, 0, (int32_t)load);
        }
        break;
    case 4:
        if (rs2 != 0) {  // c.add, c.mv
            set(found, RV32_ADD, rd, is_second ? rd : 0, rs2, 0);
        } else if (rd != 0) {  // c.jalr, c.jr
            set(found, RV32_JUMP_REGISTER, is_second ? 1 : 0, rd, 0, 0);
        } else if (is_second) {  // c.ebreak
            found->op = RV32_TRAP;
        }
        break;
    case 6:  // c.swsp
        set(found, RV32_SW, 0, 2, rs2, (int32_t)store);
        break;
    default:
        break;
    }
}

struct tau_rv32_instruction rv32_decode(uint32_t word, uint32_t address, bool has_zbb) {
    if ((word & 3) == 3) {
        return decode_long(word, address, has_zbb);
    }
    const uint32_t half = word & 0xffff;
    struct tau_rv32_instruction found = {.op = RV32_ILLEGAL, .next = address + 2};
    switch (half & 3) {
    case 0:
        decode_quadrant_0(half, &found);
        break;
    case 1:
        decode_quadrant_1(half, address, &found);
        break;
    default:
        decode_quadrant_2(half, &found);
        break;
    }
    return found;
}
