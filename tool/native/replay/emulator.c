// Runs the emulator with one block hook, which counts, moves payload and feeds the next operation.
// See emulator.h.
#include "tool/native/replay/emulator.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tool/native/machine/rv32.h"
#include "tool/native/machine/unicorn.h"
#include "tool/native/replay/content.h"

#define IMAGE_BYTES (UINT32_C(4) << 20)  // code, data and stack
#define STACK_GAP_BYTES 64u
#define STACK_BYTES (UINT32_C(64) << 10)  // painted, so that what was used shows
#define OUR_STOPS 1000u
#define UNTIL_NEVER UINT64_C(0xfffffffc)

// Words of the mailbox; the stubs know their offsets.
enum {
    MAIL_ARGUMENTS = 0,
    MAIL_FUNCTION = 4,
    MAIL_RESULT = 5,
    MAIL_TO = 6,
    MAIL_FROM = 7,
    MAIL_SIZE = 8
};
#define MAIL_CLASSES 64u  // word index of the array of classes

enum step {
    STEP_INIT,
    STEP_SHARED,
    STEP_CALL,          // the operation itself
    STEP_REALLOC_NEW,   // realloc of an allocator that has none: malloc …
    STEP_REALLOC_FREE,  // … then free
};

struct block {
    uint32_t size_bytes;
    uint32_t instructions;
    uint32_t accesses;
};

struct machine {
    const struct tau_unicorn *unicorn;
    const struct tau_emulator_image *image;
    struct tau_emulator_result *result;
    struct tau_replay *replay;
    uc_engine *engine;
    uint8_t *memory;  // of IMAGE_BYTES at image->address
    uint8_t *arena;
    uint32_t *mail;
    struct block *blocks;  // by (address - image->address) / 2
    struct tau_content_object *objects;
    struct tau_content content;
    uint64_t heap_bytes;
    struct tau_emulator_cost cost;  // of the call under way
    uint64_t instructions_left;
    uint32_t heap;    // the handle
    uint32_t shared;  // 0: not a budgeted heap
    enum step step;
    const struct tau_replay_op *ops;
    size_t ops_count;
    size_t next_op;
    struct tau_replay_op op;
    uint64_t event;        // of op
    uint8_t *old_pointer;  // of a realloc
    uint64_t old_bytes;
    bool is_started;
    bool is_stopped;
    bool goes_on;  // behind a request that was refused
};

// ---- counting ----

static struct block *block_at(struct machine *machine, uint64_t address, uint32_t size) {
    const uint64_t offset = address - machine->image->address;
    if (offset >= IMAGE_BYTES || size > IMAGE_BYTES - offset) {
        return NULL;
    }
    struct block *block = &machine->blocks[offset / 2];
    if (block->size_bytes != size) {
        const struct tau_emulator_cost cost = tau_emulator_cost_of(
            machine->memory + offset, size, machine->image->isa == TAU_EMULATOR_M4 ? 1 : 0);
        *block = (struct block){size, (uint32_t)cost.instructions, (uint32_t)cost.accesses};
    }
    return block;
}

static void count_call(struct machine *machine, enum tau_emulator_category category) {
    struct tau_emulator_calls *calls = &machine->result->calls[category];
    calls->count++;
    tau_emulator_tally_add(&calls->instructions, machine->cost.instructions, machine->event);
    if (machine->image->isa != TAU_EMULATOR_M4) {
        tau_emulator_tally_add(&calls->accesses, machine->cost.accesses, machine->event);
    }
}

// ---- the objects ----

static uint32_t target_address(const struct machine *machine, const uint8_t *pointer) {
    return TAU_EMULATOR_ARENA + (uint32_t)(pointer - machine->arena);
}

static void stop(struct machine *machine, enum tau_replay_fault fault) {
    machine->result->replay.fault = (uint64_t)fault;
    machine->result->replay.fault_event = machine->event;
    machine->result->replay.fault_size_bytes = machine->op.size_bytes;
    machine->mail[MAIL_FUNCTION] = (uint32_t)machine->image->stub_return;
    machine->is_stopped = true;
    if (machine->engine != NULL) {
        (void)machine->unicorn->emu_stop(machine->engine);
    }
}

// OP's request was refused. A realloc leaves its object as it was.
static enum tau_replay_fault note_refusal(struct machine *machine) {
    struct tau_content_object *object = &machine->objects[machine->op.slot];
    struct tau_emulator_result *result = machine->result;
    if (!machine->goes_on) {
        return TAU_REPLAY_NO_MEMORY;
    }
    result->first_refusal = result->refusals == 0 ? machine->event : result->first_refusal;
    result->refusals++;
    if (machine->op.op != TAU_TRACE_REALLOC) {
        return TAU_REPLAY_COMPLETED;
    }
    object->pointer = machine->old_pointer;
    object->size_bytes = machine->old_bytes;
    return (enum tau_replay_fault)tau_content_add(&machine->content, object, machine->op.slot,
                                                  false);
}

// Notes where OP's object is now. Returns the fault it shows.
static enum tau_replay_fault take_object(struct machine *machine, uint32_t address) {
    const struct tau_replay_op *op = &machine->op;
    struct tau_content_object *object = &machine->objects[op->slot];
    object->size_bytes = op->size_bytes;
    object->pointer = NULL;
    if (address == 0) {
        return note_refusal(machine);
    }
    const uint64_t offset = (uint64_t)address - TAU_EMULATOR_ARENA;
    if (address < TAU_EMULATOR_ARENA || offset > machine->heap_bytes) {
        return TAU_REPLAY_OUTSIDE;
    }
    object->pointer = machine->arena + offset;
    if (op->op != TAU_TRACE_REALLOC) {
        const uint64_t asked = UINT64_C(1) << op->align_log2;
        const bool is_kept =
            asked > machine->image->alignment && machine->image->aligned_alloc != 0;
        object->alignment = is_kept ? asked : machine->image->alignment;
    }
    const bool is_cleared =
        op->op == TAU_TRACE_CALLOC && op->align_log2 == 0 && machine->image->calloc != 0;
    struct tau_replay_result *result = &machine->result->replay;
    result->placement_hash = tau_content_hash(result->placement_hash, machine->event, offset);
    return (enum tau_replay_fault)tau_content_add(&machine->content, object, op->slot, is_cleared);
}

// ---- feeding operations ----

static void call(struct machine *machine, uint64_t function, uint32_t second, uint32_t third) {
    machine->mail[MAIL_ARGUMENTS] = machine->heap;
    machine->mail[MAIL_ARGUMENTS + 1] = second;
    machine->mail[MAIL_ARGUMENTS + 2] = third;
    machine->mail[MAIL_FUNCTION] = (uint32_t)function;
    machine->cost = (struct tau_emulator_cost){0};
}

static bool next_op(struct machine *machine) {
    if (machine->next_op == machine->ops_count) {
        machine->next_op = 0;
        if (!tau_replay_next(machine->replay, &machine->ops, &machine->ops_count)) {
            stop(machine, TAU_REPLAY_TRACE_FAILED);
            return false;
        }
        if (machine->ops_count == 0) {
            stop(machine, TAU_REPLAY_COMPLETED);
            return false;
        }
    }
    machine->op = machine->ops[machine->next_op++];
    machine->event += machine->is_started ? 1 : 0;
    machine->is_started = true;
    return true;
}

static void feed_new_object(struct machine *machine) {
    const struct tau_emulator_image *image = machine->image;
    const struct tau_replay_op *op = &machine->op;
    const uint32_t size = op->size_bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)op->size_bytes;
    machine->step = STEP_CALL;
    if (op->align_log2 != 0 && image->aligned_alloc != 0) {
        call(machine, image->aligned_alloc, UINT32_C(1) << (op->align_log2 & 31), size);
    } else if (op->op == TAU_TRACE_CALLOC && image->calloc != 0) {
        call(machine, image->calloc, 1, size);
    } else {
        call(machine, image->malloc, size, 0);
    }
}

// Fills the mailbox with the next operation that calls something.
static void feed(struct machine *machine) {
    while (next_op(machine)) {
        struct tau_replay_op *op = &machine->op;
        struct tau_content_object *object = &machine->objects[op->slot];
        if (tau_replay_passes_over(op) || (op->op == TAU_TRACE_FREE && object->pointer == NULL)) {
            continue;
        }
        if (op->op == TAU_TRACE_REALLOC && object->pointer == NULL) {
            op->op = TAU_TRACE_MALLOC;  // the object was refused
        }
        if (op->op != TAU_TRACE_FREE && op->op != TAU_TRACE_REALLOC) {
            feed_new_object(machine);
            return;
        }
        if (!tau_content_remove(&machine->content, object, op->slot)) {
            stop(machine, TAU_REPLAY_OVERWRITTEN);
            return;
        }
        machine->old_pointer = object->pointer;
        machine->old_bytes = object->size_bytes;
        const uint32_t address = target_address(machine, object->pointer);
        if (op->op == TAU_TRACE_FREE) {
            machine->step = STEP_CALL;
            call(machine, machine->image->free, address, 0);
        } else if (machine->image->realloc != 0) {
            machine->step = STEP_CALL;
            call(machine, machine->image->realloc, address, (uint32_t)op->size_bytes);
        } else {
            machine->step = STEP_REALLOC_NEW;
            call(machine, machine->image->malloc, (uint32_t)op->size_bytes, 0);
        }
        return;
    }
}

static void count_finer(struct machine *machine, uint32_t address) {
    const bool is_hit = address < machine->shared;
    switch (machine->op.op) {
    case TAU_TRACE_MALLOC:
        if (machine->shared != 0 && address != 0) {
            count_call(machine, is_hit ? TAU_EMULATOR_MALLOC_HIT : TAU_EMULATOR_MALLOC_MISS);
        }
        break;
    case TAU_TRACE_FREE:
        if (machine->shared != 0) {
            count_call(machine, is_hit ? TAU_EMULATOR_FREE_HIT : TAU_EMULATOR_FREE_MISS);
        }
        break;
    case TAU_TRACE_REALLOC:
        count_call(machine, address == target_address(machine, machine->old_pointer)
                                ? TAU_EMULATOR_REALLOC_IN_PLACE
                                : TAU_EMULATOR_REALLOC_MOVED);
        break;
    default:
        break;
    }
}

// The call of an operation has returned RESULT.
static enum tau_replay_fault finish_call(struct machine *machine, uint32_t result) {
    static const enum tau_emulator_category category_of_op[] = {
        [TAU_TRACE_MALLOC] = TAU_EMULATOR_MALLOC,
        [TAU_TRACE_CALLOC] = TAU_EMULATOR_CALLOC,
        [TAU_TRACE_REALLOC] = TAU_EMULATOR_REALLOC,
        [TAU_TRACE_ALIGNED_ALLOC] = TAU_EMULATOR_ALIGNED_ALLOC,
        [TAU_TRACE_FREE] = TAU_EMULATOR_FREE,
    };
    const struct tau_replay_op *op = &machine->op;
    count_call(machine, category_of_op[op->op]);
    if (op->op == TAU_TRACE_FREE) {
        count_finer(machine, target_address(machine, machine->old_pointer));
        machine->objects[op->slot].pointer = NULL;
        return TAU_REPLAY_COMPLETED;
    }
    count_finer(machine, result);
    if (op->op == TAU_TRACE_REALLOC && result >= TAU_EMULATOR_ARENA &&
        !tau_content_survives(&machine->content, machine->arena + (result - TAU_EMULATOR_ARENA),
                              machine->old_bytes, op->size_bytes, op->slot)) {
        return TAU_REPLAY_OVERWRITTEN;
    }
    return take_object(machine, result);
}

// The first half of a realloc that is made of malloc and free: the payload moves here.
static enum tau_replay_fault finish_realloc_new(struct machine *machine, uint32_t result) {
    count_call(machine, TAU_EMULATOR_MALLOC);
    const uint64_t kept =
        machine->old_bytes < machine->op.size_bytes ? machine->old_bytes : machine->op.size_bytes;
    const uint64_t offset = (uint64_t)result - TAU_EMULATOR_ARENA;
    if (result != 0 && result >= TAU_EMULATOR_ARENA && offset + kept <= machine->heap_bytes) {
        memmove(machine->arena + offset, machine->old_pointer, kept);
        machine->result->payload_bytes += kept;
    }
    const enum tau_replay_fault fault = take_object(machine, result);
    if (fault == TAU_REPLAY_COMPLETED) {
        machine->step = STEP_REALLOC_FREE;
        call(machine, machine->image->free, target_address(machine, machine->old_pointer), 0);
    }
    return fault;
}

// At the head of the stub's loop: takes the result of the call that ended, sends the next.
static void at_loop(struct machine *machine) {
    const uint32_t result = machine->mail[MAIL_RESULT];
    enum tau_replay_fault fault = TAU_REPLAY_COMPLETED;
    if (machine->step == STEP_INIT) {
        if (machine->mail[MAIL_FUNCTION] != machine->image->init) {
            call(machine, machine->image->init, (uint32_t)machine->heap_bytes,
                 machine->mail[MAIL_ARGUMENTS + 2]);
            return;
        }
        machine->heap = result;
        machine->result->init_instructions = machine->cost.instructions;
        fault = result == 0 ? TAU_REPLAY_INIT_FAILED : TAU_REPLAY_COMPLETED;
        if (fault == TAU_REPLAY_COMPLETED && machine->image->shared != 0) {
            machine->step = STEP_SHARED;
            call(machine, machine->image->shared, 0, 0);
            return;
        }
    } else if (machine->step == STEP_SHARED) {
        machine->shared = result;
    } else if (machine->step == STEP_REALLOC_NEW) {
        fault = finish_realloc_new(machine, result);
        if (fault == TAU_REPLAY_COMPLETED) {
            return;
        }
    } else if (machine->step == STEP_REALLOC_FREE) {
        count_call(machine, TAU_EMULATOR_FREE);
    } else {
        fault = finish_call(machine, result);
    }
    if (fault != TAU_REPLAY_COMPLETED) {
        stop(machine, fault);
        return;
    }
    feed(machine);
}

// ---- the hook ----

// Memory of this process for SIZE bytes at a target address, NULL if they are not all in one area.
static uint8_t *memory_at(const struct machine *machine, uint32_t address, uint32_t size) {
    if (address >= TAU_EMULATOR_ARENA) {
        const uint64_t offset = (uint64_t)address - TAU_EMULATOR_ARENA;
        return offset + size <= machine->heap_bytes ? machine->arena + offset : NULL;
    }
    const uint64_t offset = (uint64_t)address - machine->image->address;
    return offset < IMAGE_BYTES && offset + size <= IMAGE_BYTES ? machine->memory + offset : NULL;
}

static void at_copy(struct machine *machine, bool is_move) {
    const uint32_t size = machine->mail[MAIL_SIZE];
    uint8_t *to = memory_at(machine, machine->mail[MAIL_TO], size);
    if (to == NULL) {
        stop(machine, TAU_REPLAY_OUTSIDE);
        return;
    }
    if (is_move) {
        const uint8_t *from = memory_at(machine, machine->mail[MAIL_FROM], size);
        if (from == NULL) {
            stop(machine, TAU_REPLAY_OUTSIDE);
            return;
        }
        memmove(to, from, size);
    } else {
        memset(to, (int)machine->mail[MAIL_FROM], size);
    }
    machine->cost.instructions += TAU_EMULATOR_COPY_INSTRUCTIONS;
    machine->result->payload_bytes += size;
}

static void count(struct machine *machine, uint64_t instructions, uint64_t accesses) {
    machine->cost.instructions += instructions;
    machine->cost.accesses += accesses;
    if (instructions >= machine->instructions_left) {
        machine->result->is_truncated = 1;
        stop(machine, TAU_REPLAY_COMPLETED);
        return;
    }
    machine->instructions_left -= instructions;
}

static void at_stub(struct machine *machine, uint64_t address) {
    const struct tau_emulator_image *image = machine->image;
    if (address == image->stub_loop) {
        at_loop(machine);
    } else if (address == image->stub_move_done) {
        at_copy(machine, true);
    } else if (address == image->stub_set_done) {
        at_copy(machine, false);
    }
}

static void on_block(uc_engine *engine, uint64_t address, uint32_t size, void *context) {
    struct machine *machine = context;
    (void)engine;
    if (address >= machine->image->stub_start && address < machine->image->stub_end) {
        at_stub(machine, address);
    } else {
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
        const uint8_t *code = memory_at(machine, (uint32_t)address, size);
        const bool is_arm = machine->image->isa == TAU_EMULATOR_M4;
        count(machine, 1,
              code == NULL || is_arm ? 0 : tau_emulator_cost_of(code, size, 0).accesses);
    } else {
        at_stub(machine, address);
    }
}

// ---- starting ----

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
    const uint64_t page = 4096;
    const uint64_t arena_bytes = (machine->heap_bytes + page - 1) / page * page;
    const uint32_t stack = (uint32_t)machine->image->address + IMAGE_BYTES - STACK_GAP_BYTES;
    uc_hook hook = 0;
    void *block_hook = NULL;
    void (*const chosen)(uc_engine *, uint64_t, uint32_t, void *) =
        machine->blocks != NULL ? on_block : on_instruction;
    memcpy(&block_hook, &chosen, sizeof block_hook);
    if (unicorn->mem_map_ptr(machine->engine, machine->image->address, IMAGE_BYTES, UC_PROT_ALL,
                             machine->memory) != 0 ||
        unicorn->mem_map_ptr(machine->engine, TAU_EMULATOR_ARENA, arena_bytes, UC_PROT_READ_WRITE,
                             machine->arena) != 0 ||
        unicorn->reg_write(machine->engine, is_arm ? UC_ARM_REG_SP : UC_RISCV_REG_SP, &stack) !=
            0 ||
        unicorn->hook_add(machine->engine, &hook,
                          machine->blocks != NULL ? UC_HOOK_BLOCK : UC_HOOK_CODE, block_hook,
                          machine, 1, 0) != 0) {
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
    (void)tau_replay_rewind(machine->replay);
    const uint64_t start = machine->image->stub_start | (is_arm ? 1 : 0);
    const int error = machine->unicorn->emu_start(machine->engine, start, UNTIL_NEVER, 0, 0);
    if (error != 0) {
        machine->result->emulator_error = (uint64_t)error;
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
    (void)tau_replay_rewind(machine->replay);
    for (at_loop(machine); !machine->is_stopped; at_loop(machine)) {
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

static const char *machine_prepare(struct machine *machine, const uint32_t *classes,
                                   uint64_t classes_count, bool is_stepped) {
    const struct tau_emulator_image *image = machine->image;
    if (image->bytes_count > IMAGE_BYTES / 2 || classes_count > TAU_EMULATOR_CLASSES_MAX) {
        return "the image or the plan is too large";
    }
    machine->memory =
        mmap(NULL, IMAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    machine->blocks = is_stepped ? NULL : calloc(IMAGE_BYTES / 2, sizeof(struct block));
    machine->objects =
        calloc(tau_replay_facts(machine->replay)->slots_count + 1, sizeof *machine->objects);
    machine->arena = tau_replay_arena(machine->replay, machine->heap_bytes);
    if (machine->memory == MAP_FAILED || (machine->blocks == NULL && !is_stepped) ||
        machine->objects == NULL || machine->arena == NULL ||
        !tau_content_start(&machine->content, machine->arena, machine->heap_bytes)) {
        return "memory is short";
    }
    // An earlier run must not affect this one.
    (void)madvise(machine->arena, machine->heap_bytes, MADV_DONTNEED);
    tau_emulator_stack_paint(machine->memory + IMAGE_BYTES - STACK_BYTES, STACK_BYTES);
    memcpy(machine->memory, image->bytes, image->bytes_count);
    machine->mail = (uint32_t *)(void *)(machine->memory + (image->mailbox - image->address));
    memcpy(machine->mail + MAIL_CLASSES, classes, classes_count * 2 * sizeof(uint32_t));
    const uint32_t mailbox = (uint32_t)image->mailbox;
    machine->heap = TAU_EMULATOR_ARENA;
    machine->mail[MAIL_ARGUMENTS + 2] =
        classes_count == 0 ? 0 : mailbox + MAIL_CLASSES * (uint32_t)sizeof(uint32_t);
    machine->mail[MAIL_ARGUMENTS + 3] = (uint32_t)classes_count;
    return NULL;
}

const char *tau_emulator_run(const char *unicorn_library, const struct tau_emulator_image *image,
                             struct tau_replay *replay, uint64_t heap_bytes,
                             const uint32_t *classes, uint64_t classes_count,
                             uint64_t instructions_max, uint32_t way, uint32_t goes_on,
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
        .heap_bytes = heap_bytes,
        .instructions_left = instructions_max,
        .goes_on = goes_on != 0,
    };
    const bool is_ours = way == TAU_EMULATOR_OURS || image->isa == TAU_EMULATOR_RV32_ZBB;
    const char *cause =
        machine_prepare(&machine, classes, classes_count, way == TAU_EMULATOR_BY_INSTRUCTIONS);
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
    free(machine.blocks);
    free(machine.objects);
    tau_content_release(&machine.content);
    result->replay.footprint_bytes = heap_bytes;
    return cause;  // the library stays loaded: unloading it is not supported
}

void tau_emulator_free(struct tau_emulator_result *result) {
    for (size_t i = 0; i < TAU_EMULATOR_CATEGORIES; i++) {
        free(result->calls[i].instructions.histogram);
        free(result->calls[i].accesses.histogram);
        result->calls[i] = (struct tau_emulator_calls){0};
    }
}
