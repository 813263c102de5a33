// Areas of code and the costs of their blocks. See emulator_code.h.
#include "tool/native/replay/emulator_code.h"

#include <stdlib.h>
#include <string.h>

#include "tool/native/machine/rv32_decode.h"

struct tau_emulator_block {
    uint32_t size_bytes;
    uint32_t instructions;
    uint32_t accesses;
};

bool tau_emulator_code_add(struct tau_emulator_code *code, uint64_t address, uint64_t bytes_count,
                           uint8_t *memory) {
    struct tau_emulator_area *area = &code->areas[code->areas_count++];
    *area = (struct tau_emulator_area){address, bytes_count, memory, NULL};
    area->blocks = calloc(bytes_count / 2 + 1, sizeof *area->blocks);
    return area->blocks != NULL;
}

void tau_emulator_code_release(struct tau_emulator_code *code) {
    for (size_t index = 0; index < code->areas_count; index++) {
        free(code->areas[index].blocks);
    }
    code->areas_count = 0;
}

const struct tau_emulator_area *tau_emulator_code_area(const struct tau_emulator_code *code,
                                                       uint64_t address, uint64_t size) {
    for (size_t index = 0; index < code->areas_count; index++) {
        const struct tau_emulator_area *area = &code->areas[index];
        const uint64_t offset = address - area->address;
        if (address >= area->address && offset < area->bytes_count &&
            size <= area->bytes_count - offset) {
            return area;
        }
    }
    return NULL;
}

static struct tau_emulator_cost cost_of(const uint8_t *code, uint32_t size, bool is_arm) {
    struct tau_emulator_cost cost = {0};
    for (uint32_t at = 0; at < size; cost.instructions++) {
        uint32_t word = 0;
        memcpy(&word, code + at, size - at < sizeof word ? size - at : sizeof word);
        const uint32_t half = word & 0xffff;
        if (is_arm) {
            at += (half >> 11) >= 0x1d ? 4 : 2;
            continue;
        }
        const struct tau_rv32_instruction found = rv32_decode(word, 0, true);
        cost.accesses += found.op >= RV32_LB && found.op <= RV32_SW ? 1 : 0;
        at += (half & 3) == 3 ? 4 : 2;
    }
    return cost;
}

struct tau_emulator_cost tau_emulator_code_cost(const struct tau_emulator_code *code,
                                                uint64_t address, uint32_t size) {
    const struct tau_emulator_area *area = tau_emulator_code_area(code, address, size);
    if (area == NULL) {
        return (struct tau_emulator_cost){0};
    }
    const uint64_t offset = address - area->address;
    struct tau_emulator_block *block = &area->blocks[offset / 2];
    if (block->size_bytes != size) {
        const struct tau_emulator_cost cost = cost_of(area->memory + offset, size, code->is_arm);
        *block =
            (struct tau_emulator_block){size, (uint32_t)cost.instructions, (uint32_t)cost.accesses};
    }
    return (struct tau_emulator_cost){block->instructions, block->accesses};
}
