// A processor of our own: RV32IMC, with Zbb where the image was built for it.
//
// Unicorn (emulator.h) does not know Zbb, and a hook per access costs it more than the instruction.
// This processor decodes each instruction once, counts instructions and accesses exactly, and asks
// its caller before it accesses guarded memory. tests/replay/test_rv32.py compares it with unicorn,
// instruction by instruction, and its Zbb with QEMU.
//
// Code does not change while it runs. Misaligned accesses are refused, as the compiler makes none.
#ifndef TAU_RV32_H
#define TAU_RV32_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAU_RV32_REGIONS_MAX 4u
#define TAU_RV32_ARGUMENTS_MAX 8u
// The return address of a called function. No code is at it.
#define TAU_RV32_RETURN UINT32_C(0xfffffff0)

// Why the processor stopped.
enum tau_rv32_stop {
    TAU_RV32_RETURNED = 0,
    TAU_RV32_ILLEGAL,     // the instruction is none that this processor has
    TAU_RV32_OUTSIDE,     // no memory, or no code, is at `address`
    TAU_RV32_MISALIGNED,  // the access at `address`
    TAU_RV32_REFUSED,     // the guard did not allow the access at `address`
    TAU_RV32_TRAPPED,     // ebreak or ecall
    TAU_RV32_LIMIT,       // more instructions than allowed
};

// A region of the target's memory, stored at BYTES.
struct tau_rv32_region {
    uint32_t address;
    uint32_t size_bytes;
    uint8_t *bytes;
    bool is_guarded;
};

struct tau_rv32_instruction {
    uint8_t op;
    uint8_t rd;
    uint8_t rs1;
    uint8_t rs2;
    int32_t immediate;  // for jumps and auipc: the address
    uint32_t next;      // the address after it
};

struct tau_rv32 {
    uint32_t registers[32];
    struct tau_rv32_region regions[TAU_RV32_REGIONS_MAX];  // the first one has the code
    size_t regions_count;
    struct tau_rv32_instruction *decoded;  // a halfword of the code
    uint32_t code_bytes;
    bool has_zbb;
    // Addresses of the functions whose payload is moved here; 0: none. A call is charged
    // TAU_RV32_PAYLOAD_INSTRUCTIONS and its bytes are counted apart.
    uint32_t move_function;
    uint32_t copy_function;
    uint32_t fill_function;
    // Called before SIZE_BYTES at ADDRESS of a guarded region are accessed.
    bool (*guard)(void *context, uint32_t address, uint32_t size_bytes);
    void *context;
    // Since they were last set to 0.
    uint64_t instructions;
    uint64_t accesses;
    uint64_t payload_bytes;
    uint64_t instructions_max;  // per call
    uint32_t address;           // that the last stop is about
    uint32_t pc;                // and where it happened
};

#define TAU_RV32_PAYLOAD_INSTRUCTIONS 3u

// Prepares for the code that is the first CODE_BYTES of regions[0]. False: memory is short.
bool tau_rv32_start(struct tau_rv32 *cpu, uint32_t code_bytes);
void tau_rv32_release(struct tau_rv32 *cpu);

// Calls FUNCTION with up to eight ARGUMENTS and the stack below STACK; *RESULT is its result.
enum tau_rv32_stop tau_rv32_call(struct tau_rv32 *cpu, uint32_t function, const uint32_t *arguments,
                                 size_t arguments_count, uint32_t stack, uint32_t *result);

// The memory of SIZE_BYTES at ADDRESS; NULL: there is none. The guard is not asked.
uint8_t *tau_rv32_memory(const struct tau_rv32 *cpu, uint32_t address, uint32_t size_bytes);

#endif
