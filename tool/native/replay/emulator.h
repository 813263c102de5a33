// Replays a trace on an allocator that is compiled for a target, on an emulated processor, and
// counts the instructions of each call.
//
// 1. The image is one range of memory at a fixed address: the allocator, a stub, a mailbox, a
//    stack.
// 2. The allocator is a system of replay.h. The stub loops: it takes a function and its arguments
//    from the mailbox, calls it and puts the result back. The emulator, on a stack of its own,
//    calls a hook before each basic block; at the head of the loop, the hook waits for the next
//    call. So the emulator is entered once per run, not once per call.
// 3. Every block outside the stub adds its instructions and, on RV32, its loads and stores (their
//    number follows from the code itself). To check this, the hook can be called for each
//    instruction instead. The numbers are equal, except that unicorn skips instructions in a Thumb
//    IT block whose condition does not hold. Those take a cycle on a Cortex-M4, so they count here.
// 4. memmove, memcpy and memset belong to the stub: the host moves the bytes. Each call is charged
//    TAU_EMULATOR_COPY_INSTRUCTIONS, and the bytes are reported separately.
// 5. The arena is memory of this process.
//
// The emulator is the library of the Python package unicorn, loaded by path when it is needed.
#ifndef TAU_EMULATOR_H
#define TAU_EMULATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/native/replay/emulator_count.h"
#include "tool/native/replay/replay.h"

#define TAU_EMULATOR_COPY_INSTRUCTIONS 3u
#define TAU_EMULATOR_ARENA UINT32_C(0x40000000)
#define TAU_EMULATOR_CLASSES_MAX 64u

enum tau_emulator_isa { TAU_EMULATOR_RV32 = 0, TAU_EMULATOR_M4 = 1, TAU_EMULATOR_RV32_ZBB = 2 };

// Which processor runs the code, and how it counts. Unicorn does not know Zbb, so rv32.h runs such
// code.
enum tau_emulator_way {
    TAU_EMULATOR_BY_BLOCKS = 0,
    TAU_EMULATOR_BY_INSTRUCTIONS = 1,
    TAU_EMULATOR_OURS = 2,  // rv32.h instead of unicorn. No Cortex-M4.
};

// The categories of calls. Each call counts for its operation, and some also for a part of it.
enum tau_emulator_category {
    TAU_EMULATOR_MALLOC = 0,
    TAU_EMULATOR_CALLOC,
    TAU_EMULATOR_REALLOC,
    TAU_EMULATOR_ALIGNED_ALLOC,
    TAU_EMULATOR_FREE,
    TAU_EMULATOR_REALLOC_IN_PLACE,
    TAU_EMULATOR_REALLOC_MOVED,
    TAU_EMULATOR_MALLOC_HIT,   // Answered by a dedicated region.
    TAU_EMULATOR_MALLOC_MISS,  // Answered by the shared region.
    TAU_EMULATOR_FREE_HIT,
    TAU_EMULATOR_FREE_MISS,
    TAU_EMULATOR_CATEGORIES,
};

// Values of emulator_error in addition to unicorn's: code that ended the run before the trace did.
#define TAU_EMULATOR_HALTED 2000u   // The processor waits for an interrupt.
#define TAU_EMULATOR_ENDLESS 2001u  // A call took too many instructions.

#define TAU_EMULATOR_REGIONS_MAX 8u
#define TAU_EMULATOR_PAYLOAD_MAX 16u

// Memory of a firmware: whole pages of 4,096 bytes, with what the file says of them.
struct tau_emulator_region {
    uint64_t address;
    uint64_t bytes_count;
    uint8_t *memory;
};

// The addresses of a firmware's function that moves or fills payload.
struct tau_emulator_range {
    uint64_t start;
    uint64_t end;
};

// Addresses are the target's; 0: the image has no such function. A firmware has its own code and
// memory in `regions`. Then `bytes` hold the stub alone, functions take no heap, and malloc calls
// `init` once.
struct tau_emulator_image {
    uint64_t isa;
    const uint8_t *bytes;
    uint64_t bytes_count;
    uint64_t address;
    uint64_t init, malloc, calloc, aligned_alloc, realloc, free;
    uint64_t alignment;  // What each object without an asked alignment has at least.
    uint64_t shared;     // Tells where a budgeted heap's shared region starts.
    uint64_t stub_start, stub_end, stub_loop, stub_move_done, stub_set_done, stub_return, mailbox;
    uint64_t move_function, copy_function, fill_function;  // For TAU_EMULATOR_OURS.
    const struct tau_emulator_region *regions;
    uint64_t regions_count;
    const struct tau_emulator_range *payload;
    uint64_t payload_count;
    uint64_t init_bytes_argument;  // Which of a firmware's init is the heap's size, from 0.
    uint64_t global_pointer;       // What a firmware's start gives gp, on RISC-V.
};

struct tau_emulator_calls {
    uint64_t count;
    struct tau_emulator_tally instructions;
    struct tau_emulator_tally accesses;  // RV32 only.
};

struct tau_emulator_result {
    struct tau_replay_result replay;
    struct tau_emulator_calls calls[TAU_EMULATOR_CATEGORIES];
    uint64_t payload_bytes;   // Moved and filled by this side.
    uint64_t is_truncated;    // Stopped at the limit of instructions.
    uint64_t stack_bytes;     // The most that a call, or init, used.
    uint64_t init_bytes;      // The size that a firmware makes its heap with; 0: it was not seen.
    uint64_t emulator_error;  // unicorn's uc_err, 1000 + enum tau_rv32_stop, or above.
    uint64_t fault_address;   // The program counter then.
};

struct tau_emulator_settings {
    uint64_t heap_bytes;      // Size of the arena.
    const uint32_t *classes;  // Pairs of size and count, for a budgeted heap.
    uint64_t classes_count;
    uint64_t instructions_max;  // Limit for the whole run.
    uint64_t way;               // enum tau_emulator_way.
    uint64_t goes_on;           // After a request that is refused, as a program does that copes.
    uint64_t realloc_forgets_alignment;  // As tau_replay_system.
};

// Runs REPLAY on IMAGE. Without goes_on it stops at the first request that is refused; with it,
// such an object does not exist, or stays as it was. Returns NULL, or why it could not start.
// RESULT is freed with tau_emulator_free.
TAU_TRACE_EXPORT const char *tau_emulator_run(const char *unicorn_library,
                                              const struct tau_emulator_image *image,
                                              struct tau_replay *replay,
                                              const struct tau_emulator_settings *settings,
                                              struct tau_emulator_result *result);
TAU_TRACE_EXPORT void tau_emulator_free(struct tau_emulator_result *result);

#endif
