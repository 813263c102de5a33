// Runs the events of a trace on an allocator: whether it holds, in how much memory, and whether it
// fails.
//
// 1. A trace is decoded once. Up to TAU_REPLAY_OPS_IN_MEMORY events are kept as 16-byte operations;
//    a longer trace is streamed at each run from a file without a name that has them packed
//    (spool.h), so memory stays bounded either way.
// 2. A *system* is an allocator behind one small interface (struct tau_replay_system). A run gives
//    it an arena of the requested size and executes the operations one by one.
// 3. The arena is reserved once and reused by later runs, so only the first run pays for page
//    faults.
// 4. A checked run checks every result: inside the arena, aligned, no byte shared with a live
//    object (one bit for each 8 bytes), and cleared if requested. The ends of every object (up to 8
//    bytes each) must be unchanged when it is freed or resized. An unchecked run places the same
//    objects; searches use it.
//
// Design and invariants: docs/design/replay.md and docs/spec/replay.md. Not thread safe.
#ifndef TAU_REPLAY_H
#define TAU_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "facts/gen/tau_replay_fault.h"
#include "tool/native/trace/trace.h"

// 2^24 operations of 16 bytes: at most 256 MiB.
#define TAU_REPLAY_OPS_IN_MEMORY (UINT64_C(1) << 24)
// Both the arena here and the one in the emulator start at a multiple of this, so that objects with
// an asked alignment up to it have the same offsets in both. The one here starts at a multiple of
// every asked alignment.
#define TAU_REPLAY_ARENA_ALIGNMENT (UINT64_C(1) << 21)
#define TAU_REPLAY_OP_SKIP 255u
#define TAU_REPLAY_MAP_ROWS_MAX 256u
#define TAU_REPLAY_PREFIXES 16u

struct tau_replay_op {
    uint64_t size_bytes;  // 1 for an object of no bytes: many programs take NULL for a failure.
    uint32_t slot;
    uint8_t op;          // enum tau_trace_op, or TAU_REPLAY_OP_SKIP: a misuse event.
    uint8_t align_log2;  // 0: the allocator's own; a touch's granules.
    uint16_t is_empty;   // The program asked for no bytes.
};
_Static_assert(sizeof(struct tau_replay_op) == 16, "the bound of memory counts on it");

// Whether a system that is not on pages ignores the operation.
static inline bool tau_replay_passes_over(const struct tau_replay_op *op) {
    return op->op == TAU_REPLAY_OP_SKIP || op->op == TAU_TRACE_TOUCH;
}

// The alignment of the operation's object from an allocator that aligns all objects to LEAST.
static inline uint64_t tau_replay_alignment(const struct tau_replay_op *op, uint64_t least) {
    const uint64_t asked = UINT64_C(1) << (op->align_log2 & 63);
    return asked > least ? asked : least;
}

// What the whole trace holds, skipped events apart.
struct tau_replay_facts {
    uint64_t events;
    uint64_t events_of_op[TAU_TRACE_OPS_COUNT];
    uint64_t skipped;
    uint64_t slots_count;
    uint64_t peak_live_bytes;
    uint64_t peak_live_objects;
    uint64_t peak_event;       // The event that reached peak_live_bytes first.
    uint64_t objects_at_peak;  // Live objects after it.
    uint64_t size_bytes_max;
    uint64_t align_log2_max;
};

// A heap of ours at the peak of live bytes; all 0 for other systems.
struct tau_replay_parts {
    uint64_t control_bytes;  // Tables.
    uint64_t blocks_bytes;   // Blocks of live objects, with headers.
    uint64_t pooled;         // Objects in pools, whose blocks have no header.
};

struct tau_replay_result {
    uint64_t fault;  // enum tau_replay_fault.
    uint64_t fault_event;
    uint64_t fault_size_bytes;
    uint64_t footprint_bytes;  // Used part of the arena, the system's control structures included.
    uint64_t init_status;      // enum tau_status of the core, 0 for others.
    uint64_t placement_hash;   // Hash of all pairs of event and offset in the arena.
    uint64_t refusals;         // Requests that were refused where the run goes on.
    uint64_t first_refusal;    // The event of the first one.
    uint64_t fault_signal;     // That ended a library's process; 0: it exited.
    // A heap of ours after a completed run: the least heap with the same tables that places every
    // object in the same place (docs/spec/replay.md, [REPLAY-16]). 0: unknown.
    uint64_t needed_bytes;
    // The same behind the first k + 1 sixteenths of the events, of unchecked runs of placing.h.
    uint64_t prefix_bytes[TAU_REPLAY_PREFIXES];
    struct tau_replay_parts at_peak;
};

// What a TLSF's decisions depend on besides the calls: the tables that the size of the memory gives
// it. All heaps from LEAST_BYTES to MOST_BYTES have equal ones.
struct tau_replay_tables {
    uint64_t level;        // second-level bits; 0: so few bytes hold no TLSF
    uint64_t first_bytes;  // from the start of the heap to its first block
    uint64_t least_bytes;
    uint64_t most_bytes;
};

// An allocator. HEAP is the result of init. free returns 0, or a reason for which it refused.
// Without calloc or aligned_alloc (NULL), malloc serves; without realloc, malloc, a copy and free.
struct tau_replay_system {
    void *(*init)(struct tau_replay_system *system, void *arena, size_t size_bytes);
    void *(*malloc)(void *heap, size_t size_bytes);
    void *(*calloc)(void *heap, size_t count, size_t size_bytes);
    void *(*aligned_alloc)(void *heap, size_t alignment, size_t size_bytes);
    void *(*realloc)(void *heap, void *pointer, size_t size_bytes);
    int (*free)(void *heap, void *pointer);
    size_t (*footprint)(void *heap);  // NULL: all of the arena.
    // Unchecked runs: starts at an empty heap, then executes operations, as placing.h. NULL: the
    // calls above do.
    bool (*place_start)(struct tau_replay_system *system, uint8_t *arena, size_t size_bytes,
                        size_t slots_count);
    size_t (*place)(struct tau_replay_system *system, const struct tau_replay_op *ops,
                    size_t count);
    // Of unchecked runs, then of others: the heap's bytes that no object had; SIZE_MAX: unknown.
    size_t (*place_untouched)(const struct tau_replay_system *system);
    bool (*count_start)(struct tau_replay_system *system, size_t slots_count);
    size_t (*count)(struct tau_replay_system *system, const struct tau_replay_op *ops,
                    size_t count);  // returns the least so far
    void (*parts)(const struct tau_replay_system *system, const void *heap,
                  struct tau_replay_parts *parts);  // NULL: unknown.
    void (*close)(struct tau_replay_system *system);
    size_t alignment;                // What each object without an asked alignment has at least.
    bool realloc_forgets_alignment;  // As in C: a resized object has the least alignment.
    int init_status;
    bool goes_on;  // After a refused request: its object does not exist, or stays as it was.
    // Set by init, if it has memory of its own instead of the given arena.
    uint8_t *arena;
    uint64_t arena_bytes;
    // Set before each call.
    const struct tau_replay_op *op;
    uint64_t event;
    // Set by a call: the run ends here, with this fault.
    bool is_stopped;
    enum tau_replay_fault stop_fault;
    uint64_t payload_bytes;  // Copied for a realloc that it does not have.
    void *state;
};

struct tau_replay;

// Why a trace cannot be replayed, and at which event.
struct tau_replay_refusal {
    uint64_t status;  // enum tau_trace_status.
    uint64_t event;
    uint64_t is_too_large;  // It asks for more bytes than any machine has.
};

// Reads the trace of READER once; READER must stay open until tau_replay_close. NULL: *REFUSAL says
// why.
TAU_TRACE_EXPORT struct tau_replay *tau_replay_open(struct tau_trace_reader *reader,
                                                    uint64_t ops_in_memory_max,
                                                    struct tau_replay_refusal *refusal);
TAU_TRACE_EXPORT const struct tau_replay_facts *tau_replay_facts(const struct tau_replay *replay);
TAU_TRACE_EXPORT void tau_replay_close(struct tau_replay *replay);
// The events from FIRST to before END, in memory, after allocations of what is alive at FIRST, the
// oldest first. NULL: memory is short, or the trace could not be read.
TAU_TRACE_EXPORT struct tau_replay *tau_replay_part(struct tau_replay *replay, uint64_t first,
                                                    uint64_t end);

// Replays the trace on SYSTEM in an arena of HEAP_BYTES. Stops at the first fault.
TAU_TRACE_EXPORT void tau_replay_run(struct tau_replay *replay, struct tau_replay_system *system,
                                     uint64_t heap_bytes, uint32_t is_checked,
                                     struct tau_replay_result *result);

// The bytes that a heap of SYSTEM must have, whatever else: fewer cannot hold the trace. 0: nothing
// is known, or the trace could not be read.
TAU_TRACE_EXPORT uint64_t tau_replay_least(struct tau_replay *replay,
                                           struct tau_replay_system *system);

// Replays on SYSTEM in an arena of HEAP_BYTES and looks at it COLUMNS times, evenly by event: cell
// (row, column) is the share of the row's bytes that live objects have, 0 to 255, rounded up. The
// lowest addresses are row 0. Cells after a fault stay as they are. False: the replay stopped.
TAU_TRACE_EXPORT bool tau_replay_map(struct tau_replay *replay, struct tau_replay_system *system,
                                     uint64_t heap_bytes, uint64_t rows, uint64_t columns,
                                     uint8_t *cells);

// Writes all operations to FILE_DESCRIPTOR, for the systems that run in a process of their own. 0,
// or errno.
TAU_TRACE_EXPORT int tau_replay_dump(struct tau_replay *replay, int file_descriptor);

// A walk over all operations. One at a time, as a streamed trace has one buffer.
struct tau_replay_walk {
    struct tau_replay *replay;
    const struct tau_replay_op *ops;  // The block that is read.
    size_t count;
    size_t next;
    bool has_failed;  // The file could not be read.
};
// Starts a walk from the first operation.
struct tau_replay_walk tau_replay_walk(struct tau_replay *replay);
// Reads the next block. False: there is none, or has_failed.
bool tau_replay_walk_block(struct tau_replay_walk *walk);
// The next operation; NULL: there is none, or has_failed.
static inline const struct tau_replay_op *tau_replay_next(struct tau_replay_walk *walk) {
    if (walk->next == walk->count && !tau_replay_walk_block(walk)) {
        return NULL;
    }
    return &walk->ops[walk->next++];
}

// The times of block INDEX's events, at most TAU_TRACE_BLOCK_EVENTS_MAX, in the order of the walk.
// At the end *COUNT is 0. False: the file could not be read.
bool tau_replay_times(struct tau_replay *replay, uint64_t index, uint64_t *times, size_t *count);

// The arena, at least SIZE_BYTES, at a multiple of TAU_REPLAY_ARENA_ALIGNMENT; its content is what
// the last run left. NULL: no memory.
uint8_t *tau_replay_arena(struct tau_replay *replay, uint64_t size_bytes);

// The systems. LIBRARY is a shared library whose functions are PREFIX_init …; KIND says which
// header of the core declares them. CLASSES are COUNT pairs of size and count, for the kinds that
// have a plan. BLOCK_ALIGNMENT applies to pools. NULL: *CAUSE (static text) says why.
enum tau_system_kind { TAU_SYSTEM_TLSF = 0, TAU_SYSTEM_BUDGET = 1, TAU_SYSTEM_POOLS = 2 };
TAU_TRACE_EXPORT struct tau_replay_system *
tau_system_core_open(const char *library, const char *prefix, uint32_t kind,
                     const uint32_t *classes, uint64_t count, uint64_t alignment,
                     uint64_t block_alignment, const char **cause);
// Lets unchecked runs of an opened TLSF or budget of ours place operations by LIBRARY (placing.h),
// which was built for the same layout. False: it cannot, and the system must be closed.
TAU_TRACE_EXPORT bool tau_system_core_place(struct tau_replay_system *system, const char *library);
// The tables of a heap of HEAP_BYTES, or of the largest one if that is less, after
// tau_system_core_place. They are equal if the level and the offset of the first block are; if
// IS_BY_LEVEL, if the level is.
TAU_TRACE_EXPORT void tau_system_core_tables(struct tau_replay_system *system, uint64_t heap_bytes,
                                             uint32_t is_by_level,
                                             struct tau_replay_tables *tables);
// A library with the functions of core/ports/library.h. It is loaded in the runs only. NULL: memory
// is short.
TAU_TRACE_EXPORT struct tau_replay_system *tau_system_library_open(const char *path,
                                                                   uint64_t alignment);
// As tau_replay_run, in a new process. A crash is a fault, and so is a call that takes more than
// SECONDS_MAX.
TAU_TRACE_EXPORT void tau_system_library_run(struct tau_replay *replay,
                                             struct tau_replay_system *system, uint64_t heap_bytes,
                                             uint32_t is_checked, uint64_t seconds_max,
                                             struct tau_replay_result *result);
// Why the library could not be loaded, after that fault.
TAU_TRACE_EXPORT const char *tau_system_library_cause(struct tau_replay_system *system);
TAU_TRACE_EXPORT void tau_system_close(struct tau_replay_system *system);

#endif
