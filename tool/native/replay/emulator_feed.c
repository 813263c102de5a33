// Feeds an emulated allocator with the operations of a trace, and checks its answers.
// See emulator.h.
#include <string.h>

#include "tool/native/replay/emulator_machine.h"

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
    return (uint32_t)machine->arena_address + (uint32_t)(pointer - machine->arena);
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
    return tau_content_add(&machine->content, object, machine->op.slot, false);
}

// Notes where OP's object is now. Returns the fault it shows.
static enum tau_replay_fault take_object(struct machine *machine, uint32_t address) {
    const struct tau_replay_op *op = &machine->op;
    const struct tau_emulator_image *image = machine->image;
    struct tau_content_object *object = &machine->objects[op->slot];
    if (address == 0) {
        object->pointer = NULL;
        return note_refusal(machine);
    }
    struct tau_content_answer answer = {
        .event = machine->event,
        .offset = (uint64_t)address - machine->arena_address,
        .alignment = object->alignment,
        .is_cleared = op->op == TAU_TRACE_CALLOC && op->align_log2 == 0 && image->calloc != 0,
    };
    if (op->op != TAU_TRACE_REALLOC) {
        answer.alignment = image->aligned_alloc != 0 ? tau_replay_alignment(op, image->alignment)
                                                     : image->alignment;
    }
    return tau_content_take(&machine->content, object, op, &answer);
}

// ---- feeding operations ----

// The functions of a firmware take no heap.
static void call(struct machine *machine, uint64_t function, uint32_t second, uint32_t third) {
    const uint32_t given[] = {machine->heap, second, third};
    const size_t left_out = machine->image->regions_count != 0 ? 1 : 0;
    memcpy(machine->mail + MAIL_ARGUMENTS, given + left_out,
           sizeof given - left_out * sizeof given[0]);
    machine->mail[MAIL_FUNCTION] = (uint32_t)function;
    machine->cost = (struct tau_emulator_cost){0};
    machine->moving_blocks = 0;
}

static bool next_op(struct machine *machine) {
    const struct tau_replay_op *op = tau_replay_next(&machine->walk);
    if (op == NULL) {
        tau_emulator_stop(machine, machine->walk.has_failed ? TAU_REPLAY_TRACE_FAILED
                                                            : TAU_REPLAY_COMPLETED);
        return false;
    }
    machine->op = *op;
    machine->event += machine->is_started ? 1 : 0;
    machine->is_started = true;
    return true;
}

// The size of OP in a target's register. No target has room for more than fits.
static uint32_t size_of(const struct tau_replay_op *op) {
    return op->size_bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)op->size_bytes;
}

static void feed_new_object(struct machine *machine) {
    const struct tau_emulator_image *image = machine->image;
    const struct tau_replay_op *op = &machine->op;
    const uint32_t size = size_of(op);
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
            tau_emulator_stop(machine, TAU_REPLAY_OVERWRITTEN);
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
            call(machine, machine->image->realloc, address, size_of(op));
        } else {
            machine->step = STEP_REALLOC_NEW;
            call(machine, machine->image->malloc, size_of(op), 0);
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
    if (op->op == TAU_TRACE_REALLOC && result >= machine->arena_address &&
        !tau_content_survives(&machine->content, machine->arena + (result - machine->arena_address),
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
    const uint64_t offset = (uint64_t)result - machine->arena_address;
    if (result != 0 && result >= machine->arena_address && offset + kept <= machine->heap_bytes) {
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

// A firmware's heap lies in the area that its first object is in.
static bool find_arena(struct machine *machine, uint32_t address) {
    for (size_t index = 1; index < machine->areas_count; index++) {
        const struct area *area = &machine->areas[index];
        if (address >= area->address && address - area->address < area->bytes_count) {
            machine->arena = area->memory;
            machine->arena_address = area->address;
            machine->heap_bytes = area->bytes_count;
            return tau_content_start(&machine->content, machine->arena, machine->heap_bytes);
        }
    }
    return false;
}

// Makes a firmware start its heap, so that no counted call does.
static void warm_up(struct machine *machine, uint32_t result) {
    if (machine->mail[MAIL_FUNCTION] != (uint32_t)machine->image->malloc) {
        call(machine, machine->image->malloc, 1, 0);
        return;
    }
    machine->result->init_instructions = machine->cost.instructions;
    if (result == 0 || !find_arena(machine, result)) {
        tau_emulator_stop(machine, result == 0 ? TAU_REPLAY_INIT_FAILED : TAU_REPLAY_OUTSIDE);
        return;
    }
    machine->step = STEP_WARMED;
    call(machine, machine->image->free, result, 0);
}

void tau_emulator_feed(struct machine *machine) {
    const uint32_t result = machine->mail[MAIL_RESULT];
    enum tau_replay_fault fault = TAU_REPLAY_COMPLETED;
    if (machine->step == STEP_WARM_UP) {
        warm_up(machine, result);
        return;
    }
    if (machine->step == STEP_WARMED) {
        machine->result->init_instructions += machine->cost.instructions;
    } else if (machine->step == STEP_INIT) {
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
        tau_emulator_stop(machine, fault);
        return;
    }
    feed(machine);
}
