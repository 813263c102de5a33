// The emulated machine of emulator.c, and what emulator_feed.c gives it to do.
#ifndef TAU_EMULATOR_MACHINE_H
#define TAU_EMULATOR_MACHINE_H

#include "tool/native/machine/unicorn.h"
#include "tool/native/replay/content.h"
#include "tool/native/replay/emulator.h"

#define IMAGE_BYTES (UINT32_C(4) << 20)  // code, data and stack
#define STACK_GAP_BYTES 64u
#define STACK_BYTES (UINT32_C(64) << 10)  // painted, so that what was used shows
// Instructions of a firmware's call, and blocks of code that move its payload, until it counts as
// endless.
#define CALL_STEPS_MAX UINT64_C(100000000)
#define AREAS_MAX (TAU_EMULATOR_REGIONS_MAX + 1u)

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

// What the machine does next, or has just done.
enum step {
    STEP_INIT,
    STEP_SHARED,
    STEP_WARM_UP,       // a firmware makes its heap at the first malloc …
    STEP_WARMED,        // … whose object is freed before replay begins
    STEP_CALL,          // the operation itself
    STEP_REALLOC_NEW,   // realloc of an allocator that has none: malloc …
    STEP_REALLOC_FREE,  // … then free
};

struct block {
    uint32_t size_bytes;
    uint32_t instructions;
    uint32_t accesses;
};

// Memory of the target with code in it.
struct area {
    uint64_t address;
    uint64_t bytes_count;
    uint8_t *memory;
    struct block *blocks;  // by half-words; NULL if each instruction is counted
};

struct machine {
    const struct tau_unicorn *unicorn;
    const struct tau_emulator_image *image;
    struct tau_emulator_result *result;
    struct tau_replay *replay;
    uc_engine *engine;
    uint8_t *memory;               // of IMAGE_BYTES at image->address
    struct area areas[AREAS_MAX];  // that memory first, then a firmware's
    size_t areas_count;
    uint8_t *arena;
    uint64_t arena_address;
    uint32_t *mail;
    struct tau_content_object *objects;
    struct tau_content content;
    uint64_t heap_bytes;
    struct tau_emulator_cost cost;  // of the call under way
    uint64_t moving_blocks;         // of the call under way, which cost nothing
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

// Ends the run with FAULT.
void tau_emulator_stop(struct machine *machine, enum tau_replay_fault fault);

// At the head of the stub's loop: takes the result of the call that ended, sends the next.
void tau_emulator_feed(struct machine *machine);

#endif
