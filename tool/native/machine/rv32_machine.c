// The memory around the processor, and calls from outside. See rv32_machine.h.
#include "tool/native/machine/rv32_machine.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define STACK_GAP_BYTES 64u

static uint8_t *mapped(uint64_t size_bytes) {
    void *memory = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

struct tau_rv32_machine *tau_rv32_machine_open(const struct tau_rv32_image *image,
                                               uint64_t memory_bytes) {
    struct tau_rv32_machine *machine = calloc(1, sizeof *machine);
    if (machine == NULL || image->bytes_count > TAU_RV32_IMAGE_BYTES / 2 ||
        memory_bytes > TAU_RV32_MEMORY_BYTES_MAX) {
        free(machine);
        return NULL;
    }
    struct tau_rv32 *cpu = &machine->cpu;
    machine->memory_bytes = memory_bytes;
    machine->image = mapped(TAU_RV32_IMAGE_BYTES);
    machine->memory = memory_bytes == 0 ? NULL : mapped(memory_bytes);
    if (machine->image == NULL || (memory_bytes != 0 && machine->memory == NULL) ||
        !tau_rv32_start(cpu, (uint32_t)image->bytes_count)) {
        tau_rv32_machine_close(machine);
        return NULL;
    }
    memcpy(machine->image, image->bytes, image->bytes_count);
    machine->stack = (uint32_t)image->address + TAU_RV32_IMAGE_BYTES - STACK_GAP_BYTES;
    cpu->regions[0] = (struct tau_rv32_region){(uint32_t)image->address, TAU_RV32_IMAGE_BYTES,
                                               machine->image, false};
    cpu->regions[1] =
        (struct tau_rv32_region){TAU_RV32_MEMORY, (uint32_t)memory_bytes, machine->memory, false};
    cpu->regions_count = memory_bytes == 0 ? 1 : 2;
    cpu->has_zbb = image->has_zbb != 0;
    cpu->move_function = (uint32_t)image->move_function;
    cpu->copy_function = (uint32_t)image->copy_function;
    cpu->fill_function = (uint32_t)image->fill_function;
    return machine;
}

void tau_rv32_machine_close(struct tau_rv32_machine *machine) {
    if (machine == NULL) {
        return;
    }
    if (machine->image != NULL) {
        (void)munmap(machine->image, TAU_RV32_IMAGE_BYTES);
    }
    if (machine->memory != NULL) {
        (void)munmap(machine->memory, machine->memory_bytes);
    }
    tau_rv32_release(&machine->cpu);
    free(machine);
}

uint8_t *tau_rv32_machine_memory(const struct tau_rv32_machine *machine, uint64_t address,
                                 uint64_t size_bytes) {
    if (address > UINT32_MAX || size_bytes > UINT32_MAX) {
        return NULL;
    }
    return tau_rv32_memory(&machine->cpu, (uint32_t)address, (uint32_t)size_bytes);
}

uint64_t tau_rv32_machine_call(struct tau_rv32_machine *machine, uint64_t function,
                               const uint32_t *arguments, uint64_t columns, uint64_t rows,
                               uint64_t instructions_max, struct tau_rv32_done *done) {
    struct tau_rv32 *cpu = &machine->cpu;
    const size_t count = columns < TAU_RV32_ARGUMENTS_MAX ? columns : TAU_RV32_ARGUMENTS_MAX;
    cpu->instructions_max = instructions_max;
    for (uint64_t row = 0; row < rows; row++) {
        cpu->instructions = 0;
        cpu->accesses = 0;
        cpu->payload_bytes = 0;
        uint32_t result = 0;
        const enum tau_rv32_stop stop = tau_rv32_call(
            cpu, (uint32_t)function, arguments + row * columns, count, machine->stack, &result);
        done[row] = (struct tau_rv32_done){
            cpu->instructions, cpu->accesses, cpu->payload_bytes, result,
            (uint32_t)stop,    cpu->pc,       cpu->address,
        };
        if (stop != TAU_RV32_RETURNED) {
            return row + 1;
        }
    }
    return rows;
}
