// An emulated allocator as a system of replay.h: each call runs on the emulated processor, where a
// block hook counts and moves payload. See emulator.h.
#include "tool/native/replay/emulator.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "tool/native/machine/rv32.h"
#include "tool/native/machine/unicorn.h"
#include "tool/native/replay/emulator_code.h"

#define OUR_STOPS 1000u
#define UNTIL_NEVER UINT64_C(0xfffffffc)
#define IMAGE_BYTES (UINT32_C(4) << 20)  // code, data and stack
#define STACK_GAP_BYTES 64u
#define STACK_BYTES (UINT32_C(64) << 10)  // painted, so that its used part shows
// Instructions of a call, and blocks of code that move its payload, until it counts as
// endless.
#define CALL_STEPS_MAX UINT64_C(100000000)

#define GUEST_STACK_BYTES ((size_t)1 << 20)  // on which unicorn runs

// Words of the mailbox; the stubs know their offsets. The image's memmove and memset leave their
// arguments in it.
enum {
    MAIL_ARGUMENTS = 0,
    MAIL_FUNCTION = 4,
    MAIL_RESULT = 5,
    MAIL_TO = 6,
    MAIL_FROM = 7,
    MAIL_SIZE = 8,
    MAIL_CLASSES = 64
};

struct machine {
    struct tau_replay_system system;  // what replay.c calls
    struct tau_unicorn unicorn;
    struct tau_rv32 cpu;  // instead, if is_ours
    bool is_ours;
    const struct tau_emulator_image *image;
    const struct tau_emulator_settings *settings;
    struct tau_emulator_result *result;
    uc_engine *engine;
    // Entering unicorn takes longer than most calls. So it runs once, on a stack of its own, and
    // the hook at the head of the stub's loop gives control back until the next call.
    ucontext_t host, guest;
    uint8_t *guest_stack;
    bool has_call;                  // is in the mailbox, and not yet taken
    bool is_running;                // a call
    bool is_entered;                // the guest is in use
    uint8_t *memory;                // IMAGE_BYTES at image->address
    struct tau_emulator_code code;  // that memory first, then a firmware's
    uint8_t *arena;
    uint64_t arena_address;
    uint64_t arena_bytes;
    uint32_t *mail;
    struct tau_emulator_cost cost;  // cost of the call under way
    uint64_t moving_blocks;         // of the call under way; moving them costs nothing
    uint64_t instructions_left;
    uint32_t heap;    // the handle
    uint32_t shared;  // 0: not a budgeted heap
    bool is_warming;  // a firmware makes its heap at the first malloc
};

static bool is_arm(const struct machine *machine) {
    return machine->code.is_arm;
}

// ---- counting ----

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

// Ends the run with FAULT.
static void stop(struct machine *machine, enum tau_replay_fault fault) {
    machine->system.is_stopped = true;
    machine->system.stop_fault = fault;
    if (machine->engine != NULL) {
        (void)machine->unicorn.emu_stop(machine->engine);
    }
}

static void count(struct machine *machine, uint64_t instructions, uint64_t accesses) {
    machine->cost.instructions += instructions;
    machine->cost.accesses += accesses;
    if (!machine->system.is_stopped &&
        machine->cost.instructions + machine->moving_blocks > CALL_STEPS_MAX) {
        machine->result->emulator_error = TAU_EMULATOR_ENDLESS;
        stop(machine, TAU_REPLAY_COMPLETED);
    }
    if (instructions >= machine->instructions_left) {
        machine->result->is_truncated = 1;
        stop(machine, TAU_REPLAY_COMPLETED);
        return;
    }
    machine->instructions_left -= instructions;
}

// ---- the hook ----

// Memory of this process for SIZE bytes at a target address, NULL if they are not all in one area.
static uint8_t *memory_at(const struct machine *machine, uint32_t address, uint32_t size) {
    const uint64_t offset = (uint64_t)address - machine->arena_address;
    if (address >= machine->arena_address && offset + size <= machine->arena_bytes) {
        return machine->arena + offset;
    }
    const struct tau_emulator_area *area = tau_emulator_code_area(&machine->code, address, size);
    return area != NULL ? area->memory + (address - area->address) : NULL;
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

// The call before has ended: gives control back until the next one is in the mailbox.
static void at_loop(struct machine *machine) {
    if (!machine->has_call) {
        (void)swapcontext(&machine->guest, &machine->host);
    }
    if (!machine->has_call) {
        (void)machine->unicorn.emu_stop(machine->engine);
    }
    machine->has_call = false;
}

static void at_stub(struct machine *machine, uint64_t address) {
    if (address == machine->image->stub_loop) {
        at_loop(machine);
    } else if (address == machine->image->stub_move_done) {
        at_copy(machine, true);
    } else if (address == machine->image->stub_set_done) {
        at_copy(machine, false);
    }
}

// A firmware's first malloc may be about to make the heap: notes the size that it gives.
static void note_init(struct machine *machine, uint64_t address) {
    const struct tau_emulator_image *image = machine->image;
    if (!machine->is_warming || address != image->init || image->init == 0 ||
        machine->result->init_bytes != 0) {
        return;
    }
    uint32_t size_bytes = 0;
    const int first = is_arm(machine) ? UC_ARM_REG_R0 : UC_RISCV_REG_A0;
    (void)machine->unicorn.reg_read(machine->engine, first + (int)image->init_bytes_argument,
                                    &size_bytes);
    machine->result->init_bytes = size_bytes;
}

static void on_code(uc_engine *engine, uint64_t address, uint32_t size, void *context) {
    struct machine *machine = context;
    const struct tau_emulator_image *image = machine->image;
    bool is_entry = false;
    (void)engine;
    if (address >= image->stub_start && address < image->stub_end) {
        at_stub(machine, address);
        return;
    }
    note_init(machine, address);
    if (moves_payload(image, address, &is_entry)) {
        machine->moving_blocks++;
        count(machine, is_entry ? TAU_EMULATOR_COPY_INSTRUCTIONS : 0, 0);
    } else {
        const struct tau_emulator_cost cost = tau_emulator_code_cost(&machine->code, address, size);
        count(machine, cost.instructions, cost.accesses);
    }
}

// ---- calls ----

static uint32_t stack_of(const struct machine *machine) {
    return (uint32_t)machine->image->address + IMAGE_BYTES - STACK_GAP_BYTES;
}

static uint32_t call_ours(struct machine *machine, uint32_t function, const uint32_t *arguments) {
    struct tau_rv32 *cpu = &machine->cpu;
    uint32_t result = 0;
    cpu->instructions = 0;
    cpu->accesses = 0;
    cpu->instructions_max = machine->instructions_left;
    const enum tau_rv32_stop stopped =
        tau_rv32_call(cpu, function, arguments, 4, stack_of(machine), &result);
    if (stopped == TAU_RV32_LIMIT) {
        machine->result->is_truncated = 1;
        stop(machine, TAU_REPLAY_COMPLETED);
    } else if (stopped != TAU_RV32_RETURNED) {
        machine->result->emulator_error = OUR_STOPS + (uint64_t)stopped;
        machine->result->fault_address = cpu->pc;
        stop(machine, TAU_REPLAY_COMPLETED);
    } else {
        count(machine, cpu->instructions, cpu->accesses);
    }
    return result;
}

// What runs on the guest's stack: the stub's loop, until it is stopped or fails.
static void guest_run(unsigned low, unsigned high) {
    struct machine *machine = (struct machine *)(low | (uintptr_t)high << 32);
    const bool arm = is_arm(machine);
    const uint64_t start = machine->image->stub_start | (arm ? 1 : 0);
    const int error = machine->unicorn.emu_start(machine->engine, start, UNTIL_NEVER, 0, 0);
    uint32_t pc = 0;
    (void)machine->unicorn.reg_read(machine->engine, arm ? UC_ARM_REG_PC : UC_RISCV_REG_PC, &pc);
    if (error != 0) {
        machine->result->emulator_error = (uint64_t)error;
    } else if (!machine->system.is_stopped && machine->is_running) {
        machine->result->emulator_error = TAU_EMULATOR_HALTED;
    }
    if (machine->result->emulator_error != 0) {
        machine->result->fault_address = pc;
        machine->system.is_stopped = true;
    }
}

static uint32_t call_unicorn(struct machine *machine, uint32_t function,
                             const uint32_t *arguments) {
    memcpy(machine->mail + MAIL_ARGUMENTS, arguments, 4 * sizeof *arguments);
    machine->mail[MAIL_FUNCTION] = function;
    machine->has_call = true;
    machine->is_running = true;
    machine->is_entered = true;
    (void)swapcontext(&machine->host, &machine->guest);
    machine->is_running = false;
    return machine->mail[MAIL_RESULT];
}

// Lets the stub's loop end, so that the engine can be closed.
static void unicorn_end(struct machine *machine) {
    if (machine->is_entered && !machine->system.is_stopped) {
        (void)swapcontext(&machine->host, &machine->guest);
    }
    if (machine->engine != NULL) {
        (void)machine->unicorn.close(machine->engine);
    }
    free(machine->guest_stack);
}

// A firmware's functions take no heap.
static uint32_t call(struct machine *machine, uint64_t function, uint32_t second, uint32_t third) {
    const uint32_t given[] = {machine->heap, second, third,
                              (uint32_t)machine->settings->classes_count, 0};
    const uint32_t *arguments = given + (machine->image->regions_count != 0 ? 1 : 0);
    machine->cost = (struct tau_emulator_cost){0};
    machine->moving_blocks = 0;
    return machine->is_ours ? call_ours(machine, (uint32_t)function, arguments)
                            : call_unicorn(machine, (uint32_t)function, arguments);
}

static void note(struct machine *machine, enum tau_emulator_category category) {
    struct tau_emulator_calls *calls = &machine->result->calls[category];
    if (machine->system.is_stopped) {
        return;
    }
    calls->count++;
    tau_emulator_tally_add(&calls->instructions, machine->cost.instructions, machine->system.event);
    if (!is_arm(machine)) {
        tau_emulator_tally_add(&calls->accesses, machine->cost.accesses, machine->system.event);
    }
}

// ---- the system ----

static void *pointer_of(const struct machine *machine, uint32_t address) {
    const uint64_t offset = (uint64_t)address - machine->arena_address;
    return address == 0 ? NULL : (void *)((uintptr_t)machine->arena + offset);
}

static uint32_t address_of(const struct machine *machine, const void *pointer) {
    return (uint32_t)machine->arena_address +
           (uint32_t)((uintptr_t)pointer - (uintptr_t)machine->arena);
}

// The size of a request in a target's register. No target has room for more than fits.
static uint32_t clamped(size_t size_bytes) {
    return size_bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)size_bytes;
}

// Calls the function that serves a new object, and counts the call for its event's operation.
static void *allocate(struct machine *machine, uint64_t function, uint32_t second, uint32_t third) {
    static const enum tau_emulator_category category_of_op[] = {
        [TAU_TRACE_MALLOC] = TAU_EMULATOR_MALLOC,
        [TAU_TRACE_CALLOC] = TAU_EMULATOR_CALLOC,
        [TAU_TRACE_REALLOC] = TAU_EMULATOR_MALLOC,  // for an allocator without realloc
        [TAU_TRACE_ALIGNED_ALLOC] = TAU_EMULATOR_ALIGNED_ALLOC,
    };
    const uint8_t op = machine->system.op->op;
    const uint32_t address = call(machine, function, second, third);
    note(machine, category_of_op[op]);
    if (op == TAU_TRACE_MALLOC && machine->shared != 0 && address != 0) {
        note(machine,
             address < machine->shared ? TAU_EMULATOR_MALLOC_HIT : TAU_EMULATOR_MALLOC_MISS);
    }
    return pointer_of(machine, address);
}

static void *system_malloc(void *heap, size_t size_bytes) {
    struct machine *machine = heap;
    return allocate(machine, machine->image->malloc, clamped(size_bytes), 0);
}

static void *system_calloc(void *heap, size_t count, size_t size_bytes) {
    struct machine *machine = heap;
    return allocate(machine, machine->image->calloc, (uint32_t)count, clamped(size_bytes));
}

static void *system_aligned_alloc(void *heap, size_t alignment, size_t size_bytes) {
    struct machine *machine = heap;
    const uint32_t asked = UINT32_C(1) << ((uint32_t)__builtin_ctzll(alignment) & 31);
    return allocate(machine, machine->image->aligned_alloc, asked, clamped(size_bytes));
}

static void *system_realloc(void *heap, void *pointer, size_t size_bytes) {
    struct machine *machine = heap;
    const uint32_t old = address_of(machine, pointer);
    const uint32_t address = call(machine, machine->image->realloc, old, clamped(size_bytes));
    note(machine, TAU_EMULATOR_REALLOC);
    note(machine, address == old ? TAU_EMULATOR_REALLOC_IN_PLACE : TAU_EMULATOR_REALLOC_MOVED);
    return pointer_of(machine, address);
}

static int system_free(void *heap, void *pointer) {
    struct machine *machine = heap;
    const uint32_t address = address_of(machine, pointer);
    (void)call(machine, machine->image->free, address, 0);
    note(machine, TAU_EMULATOR_FREE);
    if (machine->system.op->op == TAU_TRACE_FREE && machine->shared != 0) {
        note(machine, address < machine->shared ? TAU_EMULATOR_FREE_HIT : TAU_EMULATOR_FREE_MISS);
    }
    return 0;
}

// A firmware starts its heap at the first malloc, so that no counted call does. Its heap lies in
// the area that this object is in.
static bool warm_up(struct machine *machine) {
    machine->is_warming = true;
    const uint32_t address = call(machine, machine->image->malloc, 1, 0);
    machine->is_warming = false;
    for (size_t index = 1; index < machine->code.areas_count && address != 0; index++) {
        const struct tau_emulator_area *area = &machine->code.areas[index];
        if (address >= area->address && address - area->address < area->bytes_count) {
            machine->arena = area->memory;
            machine->arena_address = area->address;
            machine->arena_bytes = area->bytes_count;
        }
    }
    if (address != 0 && !machine->system.is_stopped) {
        (void)call(machine, machine->image->free, address, 0);
    }
    machine->system.arena = machine->arena;
    machine->system.arena_bytes = machine->arena_bytes;
    return address != 0;
}

static void *system_init(struct tau_replay_system *system, void *arena, size_t size_bytes) {
    struct machine *machine = (struct machine *)(void *)system;
    const struct tau_emulator_image *image = machine->image;
    if (image->regions_count != 0) {
        return warm_up(machine) ? machine : NULL;
    }
    const uint32_t classes = (uint32_t)image->mailbox + MAIL_CLASSES * (uint32_t)sizeof(uint32_t);
    (void)arena;
    machine->heap = call(machine, image->init, (uint32_t)size_bytes,
                         machine->settings->classes_count == 0 ? 0 : classes);
    if (machine->heap != 0 && image->shared != 0) {
        machine->shared = call(machine, image->shared, 0, 0);
    }
    return machine->heap == 0 ? NULL : machine;
}

// ---- starting ----

// The image, and a firmware's memory or the arena.
static bool areas_map(struct machine *machine) {
    const struct tau_unicorn *unicorn = &machine->unicorn;
    for (size_t index = 0; index < machine->code.areas_count; index++) {
        const struct tau_emulator_area *area = &machine->code.areas[index];
        if (unicorn->mem_map_ptr(machine->engine, area->address, area->bytes_count, UC_PROT_ALL,
                                 area->memory) != 0) {
            return false;
        }
    }
    const uint64_t page = 4096;
    const uint64_t arena_bytes = (machine->arena_bytes + page - 1) / page * page;
    return machine->image->regions_count != 0 ||
           unicorn->mem_map_ptr(machine->engine, TAU_EMULATOR_ARENA, arena_bytes,
                                UC_PROT_READ_WRITE, machine->arena) == 0;
}

static const char *unicorn_start(struct machine *machine) {
    const struct tau_unicorn *unicorn = &machine->unicorn;
    const bool arm = is_arm(machine);
    if (unicorn->open(arm ? UC_ARCH_ARM : UC_ARCH_RISCV,
                      arm ? UC_MODE_THUMB_MCLASS : UC_MODE_RISCV32, &machine->engine) != 0) {
        return "unicorn cannot emulate this processor";
    }
    if (arm && unicorn->ctl(machine->engine, UC_CTL_SET_CPU_MODEL, UC_CPU_ARM_CORTEX_M4) != 0) {
        return "unicorn does not know the Cortex-M4";
    }
    const uint32_t stack = stack_of(machine);
    const uint32_t global_pointer = (uint32_t)machine->image->global_pointer;
    const bool is_stepped = machine->settings->way == TAU_EMULATOR_BY_INSTRUCTIONS;
    uc_hook hook = 0;
    void *function = NULL;
    void (*const chosen)(uc_engine *, uint64_t, uint32_t, void *) = on_code;
    memcpy(&function, &chosen, sizeof function);
    if (!areas_map(machine) ||
        unicorn->reg_write(machine->engine, arm ? UC_ARM_REG_SP : UC_RISCV_REG_SP, &stack) != 0 ||
        (!arm && unicorn->reg_write(machine->engine, UC_RISCV_REG_GP, &global_pointer) != 0) ||
        unicorn->hook_add(machine->engine, &hook, is_stepped ? UC_HOOK_CODE : UC_HOOK_BLOCK,
                          function, machine, 1, 0) != 0) {
        return "unicorn cannot set the machine up";
    }
    machine->guest_stack = malloc(GUEST_STACK_BYTES);
    if (machine->guest_stack == NULL || getcontext(&machine->guest) != 0) {
        return "memory is short";
    }
    machine->guest.uc_stack.ss_sp = machine->guest_stack;
    machine->guest.uc_stack.ss_size = GUEST_STACK_BYTES;
    machine->guest.uc_link = &machine->host;
    makecontext(&machine->guest, (void (*)(void))guest_run, 2, (unsigned)(uintptr_t)machine,
                (unsigned)((uintptr_t)machine >> 32));
    return NULL;
}

static const char *ours_start(struct machine *machine) {
    const struct tau_emulator_image *image = machine->image;
    machine->cpu = (struct tau_rv32){
        .regions = {{(uint32_t)image->address, IMAGE_BYTES, machine->memory, false},
                    {TAU_EMULATOR_ARENA, (uint32_t)machine->arena_bytes, machine->arena, false}},
        .regions_count = 2,
        .has_zbb = image->isa == TAU_EMULATOR_RV32_ZBB,
        .move_function = (uint32_t)image->move_function,
        .copy_function = (uint32_t)image->copy_function,
        .fill_function = (uint32_t)image->fill_function,
    };
    return tau_rv32_start(&machine->cpu, (uint32_t)image->bytes_count) ? NULL : "memory is short";
}

// The areas with code. False: memory is short.
static bool areas_start(struct machine *machine) {
    const struct tau_emulator_image *image = machine->image;
    bool is_ready =
        tau_emulator_code_add(&machine->code, image->address, IMAGE_BYTES, machine->memory);
    for (uint64_t index = 0; is_ready && index < image->regions_count; index++) {
        const struct tau_emulator_region *region = &image->regions[index];
        is_ready = tau_emulator_code_add(&machine->code, region->address, region->bytes_count,
                                         region->memory);
    }
    return is_ready;
}

// The memory of an image's heap. A firmware's is found later. False: memory is short.
static bool arena_start(struct machine *machine, struct tau_replay *replay) {
    if (machine->image->regions_count != 0) {
        return true;
    }
    machine->heap = TAU_EMULATOR_ARENA;
    machine->arena_address = TAU_EMULATOR_ARENA;
    machine->arena_bytes = machine->settings->heap_bytes;
    machine->arena = tau_replay_arena(replay, machine->arena_bytes);
    if (machine->arena == NULL) {
        return false;
    }
    // An earlier run must not affect this one.
    (void)madvise(machine->arena, machine->arena_bytes, MADV_DONTNEED);
    return true;
}

static const char *machine_start(struct machine *machine, struct tau_replay *replay) {
    const struct tau_emulator_image *image = machine->image;
    const struct tau_emulator_settings *settings = machine->settings;
    if (image->bytes_count > IMAGE_BYTES / 2 ||
        settings->classes_count > TAU_EMULATOR_CLASSES_MAX ||
        image->regions_count > TAU_EMULATOR_REGIONS_MAX) {
        return "the image or the plan is too large";
    }
    machine->memory =
        mmap(NULL, IMAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (machine->memory == MAP_FAILED || !areas_start(machine) || !arena_start(machine, replay)) {
        return "memory is short";
    }
    tau_emulator_stack_paint(machine->memory + IMAGE_BYTES - STACK_BYTES, STACK_BYTES);
    memcpy(machine->memory, image->bytes, image->bytes_count);
    machine->mail = (uint32_t *)(void *)(machine->memory + (image->mailbox - image->address));
    memcpy(machine->mail + MAIL_CLASSES, settings->classes,
           settings->classes_count * 2 * sizeof(uint32_t));
    return machine->is_ours ? ours_start(machine) : unicorn_start(machine);
}

const char *tau_emulator_run(const char *unicorn_library, const struct tau_emulator_image *image,
                             struct tau_replay *replay,
                             const struct tau_emulator_settings *settings,
                             struct tau_emulator_result *result) {
    memset(result, 0, sizeof *result);
    struct machine machine = {
        .system = {.init = system_init,
                   .malloc = system_malloc,
                   .calloc = image->calloc != 0 ? system_calloc : NULL,
                   .aligned_alloc = image->aligned_alloc != 0 ? system_aligned_alloc : NULL,
                   .realloc = image->realloc != 0 ? system_realloc : NULL,
                   .free = system_free,
                   .alignment = (size_t)image->alignment,
                   .realloc_forgets_alignment = settings->realloc_forgets_alignment != 0,
                   .goes_on = settings->goes_on != 0},
        .code = {.is_arm = image->isa == TAU_EMULATOR_M4},
        .is_ours = settings->way == TAU_EMULATOR_OURS || image->isa == TAU_EMULATOR_RV32_ZBB,
        .image = image,
        .settings = settings,
        .result = result,
        .instructions_left = settings->instructions_max,
    };
    if (!tau_unicorn_load(&machine.unicorn, unicorn_library)) {
        return "the library of the package unicorn cannot be loaded";
    }
    const char *cause = machine_start(&machine, replay);
    if (cause == NULL) {
        tau_replay_run(replay, &machine.system, settings->heap_bytes, 1, &result->replay);
        result->payload_bytes += machine.cpu.payload_bytes + machine.system.payload_bytes;
        result->stack_bytes = tau_emulator_stack_used(machine.memory + IMAGE_BYTES - STACK_BYTES,
                                                      STACK_BYTES - STACK_GAP_BYTES);
    }
    unicorn_end(&machine);
    tau_rv32_release(&machine.cpu);
    if (machine.memory != NULL && machine.memory != MAP_FAILED) {
        (void)munmap(machine.memory, IMAGE_BYTES);
    }
    tau_emulator_code_release(&machine.code);
    return cause;  // the library stays loaded: unloading it is not supported
}

void tau_emulator_free(struct tau_emulator_result *result) {
    for (size_t i = 0; i < TAU_EMULATOR_CATEGORIES; i++) {
        free(result->calls[i].instructions.histogram);
        free(result->calls[i].accesses.histogram);
        result->calls[i] = (struct tau_emulator_calls){0};
    }
}
