// An image on the processor of rv32.h: code, data and stack in one region, and separate memory. Any
// function of the image can be called and is counted.
#ifndef TAU_RV32_MACHINE_H
#define TAU_RV32_MACHINE_H

#include <stdint.h>

#include "tool/native/machine/rv32.h"
#include "tool/native/trace/trace.h"

#define TAU_RV32_IMAGE_BYTES (UINT32_C(4) << 20)  // code, data and stack
#define TAU_RV32_MEMORY UINT32_C(0x40000000)      // where separate memory starts
#define TAU_RV32_MEMORY_BYTES_MAX UINT32_C(0xa0000000)

struct tau_rv32_image {
    const uint8_t *bytes;
    uint64_t bytes_count;
    uint64_t address;
    uint64_t move_function;
    uint64_t copy_function;
    uint64_t fill_function;
    uint64_t has_zbb;
};

struct tau_rv32_machine {
    struct tau_rv32 cpu;
    uint8_t *image;  // TAU_RV32_IMAGE_BYTES
    uint8_t *memory;
    uint64_t memory_bytes;
    uint32_t stack;
};

struct tau_rv32_done {
    uint64_t instructions;
    uint64_t accesses;
    uint64_t payload_bytes;
    uint32_t result;
    uint32_t stop;  // enum tau_rv32_stop
    uint32_t pc;    // where it stopped, and the address that this is about
    uint32_t address;
};

// A machine with MEMORY_BYTES of zeroed memory at TAU_RV32_MEMORY. NULL: this machine is short of
// memory, or the image is too large.
TAU_TRACE_EXPORT struct tau_rv32_machine *tau_rv32_machine_open(const struct tau_rv32_image *image,
                                                                uint64_t memory_bytes);
TAU_TRACE_EXPORT void tau_rv32_machine_close(struct tau_rv32_machine *machine);

// The memory of SIZE_BYTES at the target's ADDRESS; NULL if there is none.
TAU_TRACE_EXPORT uint8_t *tau_rv32_machine_memory(const struct tau_rv32_machine *machine,
                                                  uint64_t address, uint64_t size_bytes);

// Calls FUNCTION once for each of ROWS rows of COLUMNS arguments, until one does not return.
// Returns how many calls were made; DONE has as many entries. A call stops after INSTRUCTIONS_MAX.
TAU_TRACE_EXPORT uint64_t tau_rv32_machine_call(struct tau_rv32_machine *machine, uint64_t function,
                                                const uint32_t *arguments, uint64_t columns,
                                                uint64_t rows, uint64_t instructions_max,
                                                struct tau_rv32_done *done);

#endif
