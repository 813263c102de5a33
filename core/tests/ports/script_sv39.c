#include "core/tests/ports/script_sv39.h"

#include <stddef.h>

#include "core/ports/sv39_linear.h"
#include "core/tests/ports/check_sv39.h"

#define RIGHTS_SHIFT 27u

struct run {
    struct tau_sv39 spaces[SCRIPT_SPACES_MAX];
    struct tau_frames frames;
    struct tau_frames tables;
    struct tau_frames *tables_pool;
    const struct script *script;
    const struct machine_memory *memory;
    uint32_t faults;
    uint64_t unmap_instructions_max;
    uint64_t seen[3];
};

// The only copy: it is too large for a stack, and a pointer to it would have to be relocated.
static struct run run;

static void say_number(uint64_t number) {
    char digits[21];
    unsigned place = sizeof digits;
    digits[--place] = 0;
    do {
        digits[--place] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    machine_say(&digits[place]);
}

static void say_fact(const char *name, uint64_t number) {
    machine_say(name);
    say_number(number);
}

static enum tau_status init_space(struct tau_sv39 *space, uint32_t asid) {
    const struct tau_page page = {SCRIPT_CODE_PAGE};
    struct tau_frame frame = {0};
    enum tau_status status = tau_sv39_init(space, &run.frames, run.tables_pool, run.memory->records,
                                           run.memory->physical_first, asid);
    if (status != TAU_OK) {
        return status;
    }
    machine_made(space);
    status = tau_sv39_map_region(space, page, 1, TAU_READ | TAU_EXECUTE);
    if (status == TAU_OK) {
        status = tau_sv39_map_page(space, page, TAU_EXECUTE);
    }
    if (status == TAU_OK) {
        status = tau_sv39_translate(space, page, TAU_EXECUTE, &frame);
        machine_put_code(run.memory->frames + ((size_t)frame.number << TAU_PAGE_LOG2));
    }
    return status;
}

// Loads, stores or fetches as a program would: a fault is handled and the access done again.
static enum tau_status access_page(struct tau_sv39 *space, const struct script_operation *operation,
                                   uint32_t access) {
    const uint64_t above = (uint64_t)(int64_t)(int32_t)operation->page;
    const uint64_t address = (above << TAU_PAGE_LOG2) + operation->pages;
    const struct tau_page page = {operation->page};
    struct tau_frame frame;
    uint64_t value = operation->value;
    run.seen[0] = 0;  // whether it faulted
    for (;;) {
        const enum machine_outcome outcome = machine_try(space, address, access, &value);
        const enum tau_status says = tau_sv39_translate(space, page, access, &frame);
        if (outcome == MACHINE_WRONG || (outcome == MACHINE_DONE) != (says == TAU_OK)) {
            run.seen[2] = 1;
            return TAU_BAD_ARGUMENT;
        }
        if (outcome == MACHINE_DONE) {
            run.seen[1] = value;
            return TAU_OK;
        }
        if (run.seen[0]++ != 0) {
            run.seen[2] = 1;
            return TAU_PAGE_MAPPED;
        }
        run.faults++;
        const enum tau_status status = above >> TAU_SV39_PAGES_LOG2 != 0
                                           ? TAU_PAGE_OUTSIDE
                                           : tau_sv39_map_page(space, page, access);
        if (status != TAU_OK) {
            return status;
        }
    }
}

static int walk(void) {
    struct tau_sv39 *spaces[SCRIPT_SPACES_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < run.script->spaces_count; i++) {
        if (run.spaces[i].root != NULL) {
            spaces[count++] = &run.spaces[i];
        }
    }
    if (count == 0) {
        return 0;
    }
    return check_sv39(&(struct check_sv39_machine){.spaces = spaces,
                                                   .spaces_count = count,
                                                   .frames_count = run.script->frames_count +
                                                                   run.script->tables_count,
                                                   .marks = run.memory->marks});
}

__attribute__((noinline)) static enum tau_status nothing(struct tau_sv39 *space,
                                                         struct tau_page page) {
    __asm__ volatile("" : : "r"(space), "r"(page.number) : "memory");
    return TAU_OK;
}

typedef enum tau_status (*unmap_call)(struct tau_sv39 *, struct tau_page);

// Instructions from one reading of the counter to the next with a CALL between.
__attribute__((noinline)) static uint64_t
count_call(unmap_call call, struct tau_sv39 *space, struct tau_page page, enum tau_status *status) {
    const uint64_t before = machine_instructions();
    *status = call(space, page);
    return machine_instructions() - before;
}

static enum tau_status unmap_counted(struct tau_sv39 *space, struct tau_page page) {
    enum tau_status status;
    const uint64_t empty = count_call(nothing, space, page, &status);
    const uint64_t all = count_call(tau_sv39_unmap_region, space, page, &status);
    // An empty call takes two instructions of its own, its return value and its return.
    if (status == TAU_OK && empty != 0 && all - empty + 2 > run.unmap_instructions_max) {
        run.unmap_instructions_max = all - empty + 2;
    }
    return status;
}

// Carries OPERATION out; 0, or what differs: 1 status, 2 value, 3 fault, 4 count, 5 the machine,
// and from 10 on the broken invariant and 10.
static unsigned carry_out(const struct script_operation *operation) {
    struct tau_sv39 *space = &run.spaces[operation->space];
    const struct tau_page page = {operation->page};
    const uint32_t rights = (uint32_t)(operation->rights & 31u) << RIGHTS_SHIFT;
    enum tau_status status = TAU_OK;
    run.seen[0] = run.seen[1] = run.seen[2] = 0;
    switch (operation->code) {
    case SCRIPT_MAP_REGION:
        status = tau_sv39_map_region(space, page, operation->pages, rights);
        break;
    case SCRIPT_UNMAP_REGION:
        status = unmap_counted(space, page);
        break;
    case SCRIPT_UNMAP_LINEAR:
        status = tau_sv39_linear_unmap_region(space, page);
        break;
    case SCRIPT_LOAD:
    case SCRIPT_STORE:
    case SCRIPT_FETCH:
        status = access_page(space, operation, rights);
        if (run.seen[2] != 0) {
            return 5;
        }
        if ((run.seen[0] != 0) != ((operation->rights & SCRIPT_FAULTS) != 0)) {
            return 3;
        }
        if (status == TAU_OK && operation->code == SCRIPT_LOAD && run.seen[1] != operation->value) {
            return 2;
        }
        break;
    case SCRIPT_MAP_PAGE:
        status = tau_sv39_map_page(space, page, rights);
        break;
    case SCRIPT_COUNTS:
        run.seen[0] = space->mapped_pages;
        run.seen[1] = tau_frames_free_count(&run.frames);
        run.seen[2] = tau_frames_free_count(run.tables_pool);
        return run.seen[0] == operation->pages && run.seen[1] == operation->value &&
                       run.seen[2] == operation->extra && tau_sv39_invariants_hold(space)
                   ? 0
                   : 4;
    case SCRIPT_CLEAN:
        (void)tau_frames_clean_one(&run.frames);
        (void)tau_frames_clean_one(run.tables_pool);
        break;
    case SCRIPT_WALK: {
        const int broken = walk();
        return broken == 0 ? 0 : 10u + (unsigned)broken;
    }
    case SCRIPT_CLOSE:
        machine_gone(space);
        tau_sv39_close(space);
        break;
    case SCRIPT_INIT:
        status = init_space(space, operation->pages);
        break;
    default:
        return 5;
    }
    run.seen[0] = (uint64_t)status;
    return (uint8_t)status == operation->expected ? 0 : 1;
}

static void say_what_failed(uint32_t index, const struct script_operation *operation,
                            unsigned difference) {
    say_fact("FAILED operation ", index);
    say_fact(": code ", operation->code);
    say_fact(" space ", operation->space);
    say_fact(" page ", operation->page);
    say_fact(" pages ", operation->pages);
    say_fact(" rights ", operation->rights);
    say_fact(" expected ", operation->expected);
    say_fact(" value ", operation->value);
    say_fact("; difference ", difference);
    say_fact(", seen ", run.seen[0]);
    say_fact(" ", run.seen[1]);
    say_fact(" ", run.seen[2]);
    machine_say("\n");
}

int script_run(const struct script *script, const struct machine_memory *memory) {
    const struct script_operation *operations = (const void *)(script + 1);
    const uint32_t frames = script->frames_count + script->tables_count;
    if (script->magic != SCRIPT_MAGIC || script->spaces_count > SCRIPT_SPACES_MAX ||
        frames > SCRIPT_FRAMES_MAX) {
        machine_say("FAILED: no script\n");
        return 1;
    }
    run.script = script;
    run.memory = memory;
    (void)tau_frames_init(&run.frames, memory->links, frames, memory->frames);
    run.tables_pool = &run.frames;
    if (script->tables_count != 0) {
        run.tables = run.frames;
        run.tables.released = &run.tables.dirty;
        run.tables_pool = &run.tables;
        (void)tau_frames_add(&run.tables, (struct tau_frame){script->frames_count},
                             script->tables_count);
    }
    (void)tau_frames_add(&run.frames, (struct tau_frame){0}, script->frames_count);
    for (uint32_t i = 0; i < script->operations_count; i++) {
        const unsigned difference = carry_out(&operations[i]);
        if (difference != 0) {
            say_what_failed(i, &operations[i], difference);
            return 1;
        }
    }
    say_fact("ok: operations ", script->operations_count);
    say_fact(" faults ", run.faults);
    say_fact(" unmap ", run.unmap_instructions_max);
    machine_say("\n");
    return 0;
}
