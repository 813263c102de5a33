// Executes decoded instructions and counts them. See rv32.h.
#include "tool/native/machine/rv32.h"

#include <stdlib.h>
#include <string.h>

#include "tool/native/machine/rv32_decode.h"

#define LINK 1u
#define STACK_POINTER 2u
#define ARGUMENT_0 10u

bool tau_rv32_start(struct tau_rv32 *cpu, uint32_t code_bytes) {
    cpu->code_bytes = code_bytes & ~UINT32_C(1);
    cpu->decoded = calloc(cpu->code_bytes / 2 + 1, sizeof *cpu->decoded);
    return cpu->decoded != NULL;
}

void tau_rv32_release(struct tau_rv32 *cpu) {
    free(cpu->decoded);
    cpu->decoded = NULL;
}

// ---- memory ----

static const struct tau_rv32_region *region_of(const struct tau_rv32 *cpu, uint32_t address,
                                               uint32_t size_bytes) {
    for (size_t i = 0; i < cpu->regions_count; i++) {
        const struct tau_rv32_region *region = &cpu->regions[i];
        const uint32_t offset = address - region->address;
        if (offset < region->size_bytes && size_bytes <= region->size_bytes - offset) {
            return region;
        }
    }
    return NULL;
}

uint8_t *tau_rv32_memory(const struct tau_rv32 *cpu, uint32_t address, uint32_t size_bytes) {
    const struct tau_rv32_region *region = region_of(cpu, address, size_bytes);
    return region == NULL ? NULL : region->bytes + (address - region->address);
}

// The bytes of an access of the target; NULL: *STOP has the reason.
static uint8_t *access_memory(struct tau_rv32 *cpu, uint32_t address, uint32_t size_bytes,
                              enum tau_rv32_stop *stop) {
    const struct tau_rv32_region *region = region_of(cpu, address, size_bytes);
    cpu->address = address;
    if (region == NULL) {
        *stop = TAU_RV32_OUTSIDE;
        return NULL;
    }
    if (region->is_guarded && !cpu->guard(cpu->context, address, size_bytes)) {
        *stop = TAU_RV32_REFUSED;
        return NULL;
    }
    return region->bytes + (address - region->address);
}

static enum tau_rv32_stop load(struct tau_rv32 *cpu, const struct tau_rv32_instruction *now) {
    static const uint8_t sizes[] = {1, 2, 4, 1, 2};
    const uint32_t size_bytes = sizes[now->op - RV32_LB];
    const uint32_t address = cpu->registers[now->rs1] + (uint32_t)now->immediate;
    enum tau_rv32_stop stop = TAU_RV32_MISALIGNED;
    cpu->address = address;
    const uint8_t *bytes =
        (address & (size_bytes - 1)) != 0 ? NULL : access_memory(cpu, address, size_bytes, &stop);
    if (bytes == NULL) {
        return stop;
    }
    cpu->accesses++;
    uint32_t value = bytes[0];
    if (size_bytes == 4) {
        memcpy(&value, bytes, sizeof value);
    } else if (size_bytes == 2) {
        uint16_t half = 0;
        memcpy(&half, bytes, sizeof half);
        value = now->op == RV32_LH ? (uint32_t)(int16_t)half : half;
    } else if (now->op == RV32_LB) {
        value = (uint32_t)(int8_t)bytes[0];
    }
    cpu->registers[now->rd] = value;
    return TAU_RV32_RETURNED;
}

static enum tau_rv32_stop store(struct tau_rv32 *cpu, const struct tau_rv32_instruction *now) {
    const uint32_t size_bytes = UINT32_C(1) << (now->op - RV32_SB);
    const uint32_t address = cpu->registers[now->rs1] + (uint32_t)now->immediate;
    enum tau_rv32_stop stop = TAU_RV32_MISALIGNED;
    cpu->address = address;
    uint8_t *bytes =
        (address & (size_bytes - 1)) != 0 ? NULL : access_memory(cpu, address, size_bytes, &stop);
    if (bytes == NULL) {
        return stop;
    }
    cpu->accesses++;
    memcpy(bytes, &cpu->registers[now->rs2], size_bytes);  // both machines are little-endian
    return TAU_RV32_RETURNED;
}

// memmove, memcpy and memset, whose bytes are moved here.
static enum tau_rv32_stop move_payload(struct tau_rv32 *cpu, bool is_fill) {
    const uint32_t *arguments = cpu->registers + ARGUMENT_0;
    const uint32_t size_bytes = arguments[2];
    enum tau_rv32_stop stop = TAU_RV32_RETURNED;
    cpu->instructions += TAU_RV32_PAYLOAD_INSTRUCTIONS - 1;
    if (size_bytes == 0) {
        return stop;
    }
    uint8_t *to = access_memory(cpu, arguments[0], size_bytes, &stop);
    if (to == NULL) {
        return stop;
    }
    if (is_fill) {
        memset(to, (int)arguments[1], size_bytes);
    } else {
        const uint8_t *from = access_memory(cpu, arguments[1], size_bytes, &stop);
        if (from == NULL) {
            return stop;
        }
        memmove(to, from, size_bytes);
    }
    cpu->payload_bytes += size_bytes;
    return stop;
}

// ---- arithmetic ----

static uint32_t multiplied(enum rv32_op op, uint32_t a, uint32_t b) {
    const int64_t signed_a = (int32_t)a;
    const int64_t signed_b = (int32_t)b;
    const bool overflows = a == UINT32_C(0x80000000) && b == UINT32_MAX;
    switch (op) {
    case RV32_MUL:
        return a * b;
    case RV32_MULH:
        return (uint32_t)((uint64_t)(signed_a * signed_b) >> 32);
    case RV32_MULHSU:
        return (uint32_t)((uint64_t)(signed_a * (int64_t)(uint64_t)b) >> 32);
    case RV32_MULHU:
        return (uint32_t)(((uint64_t)a * b) >> 32);
    case RV32_DIV:
        return b == 0 ? UINT32_MAX : overflows ? a : (uint32_t)(signed_a / signed_b);
    case RV32_DIVU:
        return b == 0 ? UINT32_MAX : a / b;
    case RV32_REM:
        return b == 0 ? a : overflows ? 0 : (uint32_t)(signed_a % signed_b);
    default:
        return b == 0 ? a : a % b;
    }
}

static uint32_t or_combined(uint32_t a) {
    uint32_t result = 0;
    for (unsigned shift = 0; shift < 32; shift += 8) {
        result |= ((a >> shift) & 0xff) != 0 ? UINT32_C(0xff) << shift : 0;
    }
    return result;
}

static uint32_t rotated_right(uint32_t a, uint32_t distance) {
    return a >> (distance & 31) | a << (-distance & 31);
}

static uint32_t of_zbb(enum rv32_op op, uint32_t a, uint32_t b) {
    switch (op) {
    case RV32_ANDN:
        return a & ~b;
    case RV32_ORN:
        return a | ~b;
    case RV32_XNOR:
        return ~(a ^ b);
    case RV32_CLZ:
        return a == 0 ? 32 : (uint32_t)__builtin_clz(a);
    case RV32_CTZ:
        return a == 0 ? 32 : (uint32_t)__builtin_ctz(a);
    case RV32_CPOP:
        return (uint32_t)__builtin_popcount(a);
    case RV32_MAX:
        return (int32_t)a > (int32_t)b ? a : b;
    case RV32_MAXU:
        return a > b ? a : b;
    case RV32_MIN:
        return (int32_t)a < (int32_t)b ? a : b;
    case RV32_MINU:
        return a < b ? a : b;
    case RV32_SEXTB:
        return (uint32_t)(int8_t)a;
    case RV32_SEXTH:
        return (uint32_t)(int16_t)a;
    case RV32_ZEXTH:
        return (uint16_t)a;
    case RV32_ROL:
        return rotated_right(a, -b);
    case RV32_ROR:
        return rotated_right(a, b);
    case RV32_ORCB:
        return or_combined(a);
    default:
        return __builtin_bswap32(a);
    }
}

static inline uint32_t computed(enum rv32_op op, uint32_t a, uint32_t b) {
    switch (op) {
    case RV32_ADD:
        return a + b;
    case RV32_SUB:
        return a - b;
    case RV32_SLL:
        return a << (b & 31);
    case RV32_SLT:
        return (int32_t)a < (int32_t)b ? 1 : 0;
    case RV32_SLTU:
        return a < b ? 1 : 0;
    case RV32_XOR:
        return a ^ b;
    case RV32_SRL:
        return a >> (b & 31);
    case RV32_SRA:
        return (uint32_t)((int32_t)a >> (b & 31));
    case RV32_OR:
        return a | b;
    case RV32_AND:
        return a & b;
    default:
        return op <= RV32_REMU ? multiplied(op, a, b) : of_zbb(op, a, b);
    }
}

static inline bool is_taken(enum rv32_op op, uint32_t a, uint32_t b) {
    switch (op) {
    case RV32_BEQ:
        return a == b;
    case RV32_BNE:
        return a != b;
    case RV32_BLT:
        return (int32_t)a < (int32_t)b;
    case RV32_BGE:
        return (int32_t)a >= (int32_t)b;
    case RV32_BLTU:
        return a < b;
    default:
        return a >= b;
    }
}

// ---- running ----

static struct tau_rv32_instruction decode_at(const struct tau_rv32 *cpu, uint32_t address) {
    const uint32_t offset = address - cpu->regions[0].address;
    uint32_t word = 0;
    const uint32_t left = cpu->code_bytes - offset;
    memcpy(&word, cpu->regions[0].bytes + offset, left < sizeof word ? left : sizeof word);
    struct tau_rv32_instruction found = rv32_decode(word, address, cpu->has_zbb);
    if (address == cpu->move_function || address == cpu->copy_function) {
        found.op = RV32_PAYLOAD_MOVE;
    } else if (address == cpu->fill_function) {
        found.op = RV32_PAYLOAD_FILL;
    }
    return found;
}

// The instructions that neither compute, jump nor touch memory. PAYLOAD ends as a return would.
static enum tau_rv32_stop special(struct tau_rv32 *cpu, const struct tau_rv32_instruction *now,
                                  uint32_t *pc) {
    switch (now->op) {
    case RV32_NOTHING:
        return TAU_RV32_RETURNED;
    case RV32_CONSTANT:
        cpu->registers[now->rd] = (uint32_t)now->immediate;
        return TAU_RV32_RETURNED;
    case RV32_PAYLOAD_MOVE:
    case RV32_PAYLOAD_FILL:
        *pc = cpu->registers[LINK];
        return move_payload(cpu, now->op == RV32_PAYLOAD_FILL);
    default:
        return now->op == RV32_TRAP ? TAU_RV32_TRAPPED : TAU_RV32_ILLEGAL;
    }
}

static enum tau_rv32_stop execute(struct tau_rv32 *cpu, const struct tau_rv32_instruction *now,
                                  uint32_t *pc) {
    uint32_t *registers = cpu->registers;
    const enum rv32_op op = (enum rv32_op)now->op;
    *pc = now->next;
    if (op >= RV32_ADD && op <= RV32_REV8) {
        registers[now->rd] =
            computed(op, registers[now->rs1], registers[now->rs2] + (uint32_t)now->immediate);
    } else if (op >= RV32_LB && op <= RV32_LHU) {
        return load(cpu, now);
    } else if (op >= RV32_SB && op <= RV32_SW) {
        return store(cpu, now);
    } else if (op >= RV32_BEQ && op <= RV32_BGEU) {
        if (is_taken(op, registers[now->rs1], registers[now->rs2])) {
            *pc = (uint32_t)now->immediate;
        }
    } else if (op == RV32_JUMP) {
        *pc = (uint32_t)now->immediate;
        registers[now->rd] = now->next;
    } else if (op == RV32_JUMP_REGISTER) {
        *pc = (registers[now->rs1] + (uint32_t)now->immediate) & ~UINT32_C(1);
        registers[now->rd] = now->next;
    } else {
        return special(cpu, now, pc);
    }
    return TAU_RV32_RETURNED;
}

static enum tau_rv32_stop run(struct tau_rv32 *cpu, uint32_t start) {
    const uint32_t base = cpu->regions[0].address;
    const uint64_t end = cpu->instructions + cpu->instructions_max;
    uint32_t pc = start;
    while (pc != TAU_RV32_RETURN) {
        const uint32_t offset = pc - base;
        cpu->pc = pc;
        if (offset >= cpu->code_bytes || cpu->instructions >= end) {
            cpu->address = pc;
            return offset >= cpu->code_bytes ? TAU_RV32_OUTSIDE : TAU_RV32_LIMIT;
        }
        struct tau_rv32_instruction *now = &cpu->decoded[offset / 2];
        if (now->op == RV32_UNDECODED) {
            *now = decode_at(cpu, pc);
        }
        cpu->instructions++;
        const enum tau_rv32_stop stop = execute(cpu, now, &pc);
        if (stop != TAU_RV32_RETURNED) {
            return stop;
        }
        cpu->registers[0] = 0;
    }
    return TAU_RV32_RETURNED;
}

enum tau_rv32_stop tau_rv32_call(struct tau_rv32 *cpu, uint32_t function, const uint32_t *arguments,
                                 size_t arguments_count, uint32_t stack, uint32_t *result) {
    memset(cpu->registers, 0, sizeof cpu->registers);
    memcpy(cpu->registers + ARGUMENT_0, arguments, arguments_count * sizeof *arguments);
    cpu->registers[LINK] = TAU_RV32_RETURN;
    cpu->registers[STACK_POINTER] = stack;
    const enum tau_rv32_stop stop = run(cpu, function);
    *result = cpu->registers[ARGUMENT_0];
    return stop;
}
