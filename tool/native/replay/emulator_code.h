// The target's memory with code in it, and the instructions and accesses of each block of code.
#ifndef TAU_EMULATOR_CODE_H
#define TAU_EMULATOR_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAU_EMULATOR_AREAS_MAX 9u

// The cost of a call, or of a block of code. Accesses are known on RV32 only.
struct tau_emulator_cost {
    uint64_t instructions;
    uint64_t accesses;
};

// Memory of the target.
struct tau_emulator_area {
    uint64_t address;
    uint64_t bytes_count;
    uint8_t *memory;
    struct tau_emulator_block *blocks;  // by half-words; each is decoded once
};

struct tau_emulator_code {
    struct tau_emulator_area areas[TAU_EMULATOR_AREAS_MAX];
    size_t areas_count;
    bool is_arm;
};

// Adds an area. False: memory is short.
bool tau_emulator_code_add(struct tau_emulator_code *code, uint64_t address, uint64_t bytes_count,
                           uint8_t *memory);
void tau_emulator_code_release(struct tau_emulator_code *code);

// The area of SIZE bytes at ADDRESS; NULL if they are not all in one.
const struct tau_emulator_area *tau_emulator_code_area(const struct tau_emulator_code *code,
                                                       uint64_t address, uint64_t size);
// The cost of the SIZE bytes of code at ADDRESS from the first to the last; nothing outside areas.
struct tau_emulator_cost tau_emulator_code_cost(const struct tau_emulator_code *code,
                                                uint64_t address, uint32_t size);

#endif
