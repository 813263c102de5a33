// Runs the emulator with one block hook, which counts, moves payload and feeds the next operation.
// See emulator.h.
#include "tool/native/replay/emulator.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tool/native/machine/rv32.h"
#include "tool/native/replay/emulator_machine.h"

#define OUR_STOPS 1000u
#define UNTIL_NEVER UINT64_C(0xfffffffc)

// ---- counting ----

static const struct area *area_at(const struct machine *machine, uint64_t address, uint64_t size) {
    for (size_t index = 0; index < machine->areas_count; index++) {
        const struct area *area = &machine->areas[index];
        const uint64_t offset = address - area->address;
        if (address >= area->address && offset < area->bytes_count &&
            size <= area->bytes_count - offset) {
            return area;
        }
    }
    return NULL;
}

static const struct block *block_at(const struct machine *machine, uint64_t address,
                                    uint32_t size) {
    const struct area *area = area_at(machine, address, size);
    if (area == NULL || area->blocks == NULL) {
        return NULL;
    }
    const uint64_t offset = address - area->address;
    struct block *block = &area->blocks[offset / 2];
    if (block->size_bytes != size) {
        const struct tau_emulator_cost cost = tau_emulator_cost_of(
            area->memory + offset, size, machine->image->isa == TAU_EMULATOR_M4 ? 1 : 0);
        *block = (struct block){size, (uint32_t)cost.instructions, (uint32_t)cost.accesses};
    }
    return block;
}

// Whether ADDRESS is in a firmware's function that moves payload; *IS_ENTRY: at its start.
static bool moves_payload(const struct tau_emulator_image *image, uint64_t address,
                          bool *is_entry) {
    for (uint64_t index = 0; index < image->payload_count; index++) {
        const struct tau_emulator_range *range = &image->payload[index];
        if (address >= range->start && address < range->end) {
            *is_entry = address == range->start;
            return true;
        }
    }
    return false;
}

void tau_emulator_stop(struct machine *machine, enum tau_replay_fault fault) {
    machine->result->replay.fault = (uint64_t)fault;
    machine->result->replay.fault_event = machine->event;
    machine->result->replay.fault_size_bytes = machine->op.size_bytes;
    machine->mail[MAIL_FUNCTION] = (uint32_t)machine->image->stub_return;
    machine->is_stopped = true;
    if (machine->engine != NULL) {
        (void)machine->unicorn->emu_stop(machine->engine);
    }
}

// ---- the hook ----

// Memory of this process for SIZE bytes at a target address, NULL if they are not all in one area.
static uint8_t *memory_at(const struct machine *machine, uint32_t address, uint32_t size) {
    const uint64_t offset = (uint64_t)address - machine->arena_address;
    if (address >= machine->arena_address && offset + size <= machine->heap_bytes) {
        return machine->arena + offset;
    }
    const struct area *area = area_at(machine, address, size);
    return area != NULL ? area->memory + (address - area->address) : NULL;
}

static void at_copy(struct machine *machine, bool is_move) {
    const uint32_t size = machine->mail[MAIL_SIZE];
    uint8_t *to = memory_at(machine, machine->mail[MAIL_TO], size);
    if (to == NULL) {
        tau_emulator_stop(machine, TAU_REPLAY_OUTSIDE);
        return;
    }
    if (is_move) {
        const uint8_t *from = memory_at(machine, machine->mail[MAIL_FROM], size);
        if (from == NULL) {
            tau_emulator_stop(machine, TAU_REPLAY_OUTSIDE);
            return;
        }
        memmove(to, from, size);
    } else {
        memset(to, (int)machine->mail[MAIL_FROM], size);
    }
    machine->cost.instructions += TAU_EMULATOR_COPY_INSTRUCTIONS;
    machine->result->payload_bytes += size;
}

// Ends a call of a firmware that goes on too long, such as a hook that never returns.
static void end_endless(struct machine *machine) {
    if (machine->image->regions_count == 0 || machine->is_stopped ||
        machine->cost.instructions + machine->moving_blocks <= CALL_STEPS_MAX) {
        return;
    }
    machine->result->emulator_error = TAU_EMULATOR_ENDLESS;
    tau_emulator_stop(machine, TAU_REPLAY_COMPLETED);
}

static void count(struct machine *machine, uint64_t instructions, uint64_t accesses) {
    machine->cost.instructions += instructions;
    machine->cost.accesses += accesses;
    end_endless(machine);
    if (instructions >= machine->instructions_left) {
        machine->result->is_truncated = 1;
        tau_emulator_stop(machine, TAU_REPLAY_COMPLETED);
        return;
    }
    machine->instructions_left -= instructions;
}

static void at_stub(struct machine *machine, uint64_t address) {
    const struct tau_emulator_image *image = machine->image;
    if (address == image->stub_loop) {
        tau_emulator_feed(machine);
    } else if (address == image->stub_move_done) {
        at_copy(machine, true);
    } else if (address == image->stub_set_done) {
        at_copy(machine, false);
    }
}

// A firmware's first malloc may be about to make the heap: notes the size that it gives.
static void note_init(struct machine *machine, uint64_t address) {
    const struct tau_emulator_image *image = machine->image;
    if (machine->step != STEP_WARM_UP || address != image->init || image->init == 0 ||
        machine->result->init_bytes != 0) {
        return;
    }
    uint32_t size_bytes = 0;
    const int first = image->isa == TAU_EMULATOR_M4 ? UC_ARM_REG_R0 : UC_RISCV_REG_A0;
    (void)machine->unicorn->reg_read(machine->engine, first + (int)image->init_bytes_argument,
                                     &size_bytes);
    machine->result->init_bytes = size_bytes;
}

static void on_block(uc_engine *engine, uint64_t address, uint32_t size, void *context) {
    struct machine *machine = context;
    (void)engine;
    if (address >= machine->image->stub_start && address < machine->image->stub_end) {
        at_stub(machine, address);
    } else {
        note_init(machine, address);
        bool is_entry = false;
        if (moves_payload(machine->image, address, &is_entry)) {
            machine->moving_blocks++;
            count(machine, is_entry ? TAU_EMULATOR_COPY_INSTRUCTIONS : 0, 0);
            return;
        }
        const struct block *block = block_at(machine, address, size);
        if (block != NULL) {
            count(machine, block->instructions, block->accesses);
        }
    }
}

static void on_instruction(uc_engine *engine, uint64_t address, uint32_t size, void *context) {
    struct machine *machine = context;
    (void)engine;
    if (address < machine->image->stub_start || address >= machine->image->stub_end) {
        note_init(machine, address);
        const uint8_t *code = memory_at(machine, (uint32_t)address, size);
        const bool is_arm = machine->image->isa == TAU_EMULATOR_M4;
        count(machine, 1,
              code == NULL || is_arm ? 0 : tau_emulator_cost_of(code, size, 0).accesses);
    } else {
        at_stub(machine, address);
    }
}

// ---- starting ----

// The image, and a firmware's memory or the arena.
static bool areas_map(struct machine *machine) {
    const struct tau_unicorn *unicorn = machine->unicorn;
    for (size_t index = 0; index < machine->areas_count; index++) {
        const struct area *area = &machine->areas[index];
        if (unicorn->mem_map_ptr(machine->engine, area->address, area->bytes_count, UC_PROT_ALL,
                                 area->memory) != 0) {
            return false;
        }
    }
    const uint64_t page = 4096;
    const uint64_t arena_bytes = (machine->heap_bytes + page - 1) / page * page;
    return machine->image->regions_count != 0 ||
           unicorn->mem_map_ptr(machine->engine, TAU_EMULATOR_ARENA, arena_bytes,
                                UC_PROT_READ_WRITE, machine->arena) == 0;
}

static const char *machine_map(struct machine *machine) {
    const struct tau_unicorn *unicorn = machine->unicorn;
    const bool is_arm = machine->image->isa == TAU_EMULATOR_M4;
    if (unicorn->open(is_arm ? UC_ARCH_ARM : UC_ARCH_RISCV,
                      is_arm ? UC_MODE_THUMB_MCLASS : UC_MODE_RISCV32, &machine->engine) != 0) {
        return "unicorn cannot emulate this processor";
    }
    if (is_arm && unicorn->ctl(machine->engine, UC_CTL_SET_CPU_MODEL, UC_CPU_ARM_CORTEX_M4) != 0) {
        return "unicorn does not know the Cortex-M4";
    }
    const uint32_t stack = (uint32_t)machine->image->address + IMAGE_BYTES - STACK_GAP_BYTES;
    const uint32_t global_pointer = (uint32_t)machine->image->global_pointer;
    uc_hook hook = 0;
    void *block_hook = NULL;
    void (*const chosen)(uc_engine *, uint64_t, uint32_t, void *) =
        machine->areas[0].blocks != NULL ? on_block : on_instruction;
    memcpy(&block_hook, &chosen, sizeof block_hook);
    if (!areas_map(machine) ||
        unicorn->reg_write(machine->engine, is_arm ? UC_ARM_REG_SP : UC_RISCV_REG_SP, &stack) !=
            0 ||
        (!is_arm && unicorn->reg_write(machine->engine, UC_RISCV_REG_GP, &global_pointer) != 0) ||
        unicorn->hook_add(machine->engine, &hook,
                          machine->areas[0].blocks != NULL ? UC_HOOK_BLOCK : UC_HOOK_CODE,
                          block_hook, machine, 1, 0) != 0) {
        return "unicorn cannot set the machine up";
    }
    return NULL;
}

static const char *machine_run(struct machine *machine) {
    const bool is_arm = machine->image->isa == TAU_EMULATOR_M4;
    const char *cause = machine_map(machine);
    if (cause != NULL) {
        return cause;
    }
    const uint64_t start = machine->image->stub_start | (is_arm ? 1 : 0);
    const int error = machine->unicorn->emu_start(machine->engine, start, UNTIL_NEVER, 0, 0);
    if (error != 0) {
        machine->result->emulator_error = (uint64_t)error;
    } else if (!machine->is_stopped) {
        machine->result->emulator_error = TAU_EMULATOR_HALTED;
    }
    if (machine->result->emulator_error != 0) {
        uint32_t address = 0;
        (void)machine->unicorn->reg_read(machine->engine, is_arm ? UC_ARM_REG_PC : UC_RISCV_REG_PC,
                                         &address);
        machine->result->fault_address = address;
        machine->result->replay.fault_event = machine->event;
    }
    return NULL;
}

// Runs the code on our own processor: calls are made from here, the stub is not needed.
static const char *machine_run_ours(struct machine *machine) {
    const struct tau_emulator_image *image = machine->image;
    struct tau_rv32 cpu = {
        .regions = {{(uint32_t)image->address, IMAGE_BYTES, machine->memory, false},
                    {TAU_EMULATOR_ARENA, (uint32_t)machine->heap_bytes, machine->arena, false}},
        .regions_count = 2,
        .has_zbb = image->isa == TAU_EMULATOR_RV32_ZBB,
        .move_function = (uint32_t)image->move_function,
        .copy_function = (uint32_t)image->copy_function,
        .fill_function = (uint32_t)image->fill_function,
    };
    const uint32_t stack = (uint32_t)image->address + IMAGE_BYTES - STACK_GAP_BYTES;
    if (!tau_rv32_start(&cpu, (uint32_t)image->bytes_count)) {
        return "memory is short";
    }
    for (tau_emulator_feed(machine); !machine->is_stopped; tau_emulator_feed(machine)) {
        cpu.instructions = 0;
        cpu.accesses = 0;
        cpu.instructions_max = machine->instructions_left;
        const enum tau_rv32_stop stopped =
            tau_rv32_call(&cpu, machine->mail[MAIL_FUNCTION], machine->mail + MAIL_ARGUMENTS, 4,
                          stack, &machine->mail[MAIL_RESULT]);
        if (stopped == TAU_RV32_LIMIT) {
            machine->result->is_truncated = 1;
            break;
        }
        if (stopped != TAU_RV32_RETURNED) {
            machine->result->emulator_error = OUR_STOPS + (uint64_t)stopped;
            machine->result->fault_address = cpu.pc;
            machine->result->replay.fault_event = machine->event;
            break;
        }
        count(machine, cpu.instructions, cpu.accesses);
    }
    machine->result->payload_bytes += cpu.payload_bytes;
    tau_rv32_release(&cpu);
    return NULL;
}

// The areas with code, each with room for the counts of its blocks. False: memory is short.
static bool areas_start(struct machine *machine, bool is_stepped) {
    const struct tau_emulator_image *image = machine->image;
    machine->areas[0] = (struct area){image->address, IMAGE_BYTES, machine->memory, NULL};
    machine->areas_count = 1;
    for (uint64_t index = 0; index < image->regions_count; index++) {
        const struct tau_emulator_region *region = &image->regions[index];
        machine->areas[machine->areas_count++] =
            (struct area){region->address, region->bytes_count, region->memory, NULL};
    }
    for (size_t index = 0; !is_stepped && index < machine->areas_count; index++) {
        struct area *area = &machine->areas[index];
        area->blocks = calloc(area->bytes_count / 2, sizeof(struct block));
        if (area->blocks == NULL) {
            return false;
        }
    }
    return true;
}

// The memory of an image's heap. A firmware's is found later. False: memory is short.
static bool arena_start(struct machine *machine) {
    if (machine->image->regions_count != 0) {
        machine->step = STEP_WARM_UP;
        return true;
    }
    machine->arena_address = TAU_EMULATOR_ARENA;
    machine->arena = tau_replay_arena(machine->replay, machine->heap_bytes);
    if (machine->arena == NULL ||
        !tau_content_start(&machine->content, machine->arena, machine->heap_bytes)) {
        return false;
    }
    // An earlier run must not affect this one.
    (void)madvise(machine->arena, machine->heap_bytes, MADV_DONTNEED);
    return true;
}

static const char *machine_prepare(struct machine *machine,
                                   const struct tau_emulator_settings *settings) {
    const struct tau_emulator_image *image = machine->image;
    const uint64_t classes_count = settings->classes_count;
    if (image->bytes_count > IMAGE_BYTES / 2 || classes_count > TAU_EMULATOR_CLASSES_MAX ||
        image->regions_count > TAU_EMULATOR_REGIONS_MAX) {
        return "the image or the plan is too large";
    }
    machine->memory =
        mmap(NULL, IMAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    machine->objects =
        calloc(tau_replay_facts(machine->replay)->slots_count + 1, sizeof *machine->objects);
    if (machine->memory == MAP_FAILED || machine->objects == NULL ||
        !areas_start(machine, settings->way == TAU_EMULATOR_BY_INSTRUCTIONS) ||
        !arena_start(machine)) {
        return "memory is short";
    }
    tau_emulator_stack_paint(machine->memory + IMAGE_BYTES - STACK_BYTES, STACK_BYTES);
    memcpy(machine->memory, image->bytes, image->bytes_count);
    machine->mail = (uint32_t *)(void *)(machine->memory + (image->mailbox - image->address));
    memcpy(machine->mail + MAIL_CLASSES, settings->classes, classes_count * 2 * sizeof(uint32_t));
    const uint32_t mailbox = (uint32_t)image->mailbox;
    machine->heap = TAU_EMULATOR_ARENA;
    machine->mail[MAIL_ARGUMENTS + 2] =
        classes_count == 0 ? 0 : mailbox + MAIL_CLASSES * (uint32_t)sizeof(uint32_t);
    machine->mail[MAIL_ARGUMENTS + 3] = (uint32_t)classes_count;
    return NULL;
}

const char *tau_emulator_run(const char *unicorn_library, const struct tau_emulator_image *image,
                             struct tau_replay *replay,
                             const struct tau_emulator_settings *settings,
                             struct tau_emulator_result *result) {
    memset(result, 0, sizeof *result);
    struct tau_unicorn unicorn = {0};
    if (!tau_unicorn_load(&unicorn, unicorn_library)) {
        return "the library of the package unicorn cannot be loaded";
    }
    struct machine machine = {
        .unicorn = &unicorn,
        .image = image,
        .result = result,
        .replay = replay,
        .walk = tau_replay_walk(replay),
        .heap_bytes = settings->heap_bytes,
        .instructions_left = settings->instructions_max,
        .goes_on = settings->goes_on != 0,
    };
    const bool is_ours = settings->way == TAU_EMULATOR_OURS || image->isa == TAU_EMULATOR_RV32_ZBB;
    const char *cause = machine_prepare(&machine, settings);
    if (cause == NULL) {
        cause = is_ours ? machine_run_ours(&machine) : machine_run(&machine);
    }
    if (machine.engine != NULL) {
        (void)unicorn.close(machine.engine);
    }
    if (cause == NULL) {
        result->stack_bytes = tau_emulator_stack_used(machine.memory + IMAGE_BYTES - STACK_BYTES,
                                                      STACK_BYTES - STACK_GAP_BYTES);
    }
    if (machine.memory != NULL && machine.memory != MAP_FAILED) {
        (void)munmap(machine.memory, IMAGE_BYTES);
    }
    for (size_t index = 0; index < machine.areas_count; index++) {
        free(machine.areas[index].blocks);
    }
    free(machine.objects);
    tau_content_release(&machine.content);
    result->replay.placement_hash = machine.content.placement_hash;
    result->replay.footprint_bytes = settings->heap_bytes;
    return cause;  // the library stays loaded: unloading it is not supported
}

void tau_emulator_free(struct tau_emulator_result *result) {
    for (size_t i = 0; i < TAU_EMULATOR_CATEGORIES; i++) {
        free(result->calls[i].instructions.histogram);
        free(result->calls[i].accesses.histogram);
        result->calls[i] = (struct tau_emulator_calls){0};
    }
}
