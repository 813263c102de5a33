// The kernel of slots: the state of one tile, its applications and its schedule, and the kernel's
// parts.
#ifndef TAU_SLOTS_KERNEL_H
#define TAU_SLOTS_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/buddy.h"
#include "kernel/context.h"
#include "kernel/slots/system_file.h"

// A page of an application as it is bound: where, how large, and to which frame.
struct tau_bound_page {
    uint32_t page;
    uint8_t order;
    uint8_t kind;
    bool is_mapped;  // False: of a pool, and not touched yet.
    uint32_t rights;
    struct tau_frame frame;
};

enum tau_application_state {
    TAU_APPLICATION_ABSENT,
    TAU_APPLICATION_LOADED,
    TAU_APPLICATION_REFUSED,
    TAU_APPLICATION_LATE,  // It has its pages, and never begins.
};

struct tau_application {
    struct tau_context tasks[TAU_COMPOSE_LIMIT_TASKS];
    struct tau_bound_page pages[TAU_COMPOSE_LIMIT_ENTRIES];
    struct tau_frame pool[TAU_COMPOSE_LIMIT_ENTRIES];
    uint32_t pages_count;
    uint32_t pool_entry;        // The first of its pool's pages, which follow each other.
    uint32_t pool_pages_count;  // Pages that its pool's frames can be mapped to.
    uint32_t pool_count;        // Frames of its pool.
    uint32_t pool_used_count;   // Frames that faults took.
    uint32_t stopped_tasks;     // A bit per task that has ended, by itself or by an error.
    // Its tasks run in the epochs start … stop - 1, if it is loaded, and ready on the other tile.
    uint32_t start_epoch;
    uint32_t stop_epoch;
    // The other tile's part is ready if its word is `ready`. Without such a part the word is
    // `ready` itself.
    uint32_t ready;
    const volatile uint32_t *peer_word;
    uint32_t life;  // How many loads of it there were, with refused ones.
    enum tau_application_state state;
};

// What the loaders of two tiles tell each other of an application: the word grows from life to
// life, so no word of a former life is taken for one of this life.
#define TAU_LIFE_READY(life) (2 * (life)-1)
#define TAU_LIFE_ENDED(life) (2 * (life))

struct tau_kernel {
    struct tau_system_file file;
    struct tau_application applications[TAU_COMPOSE_LIMIT_APPLICATIONS];
    struct tau_context loader;
    struct tau_context idle;  // Runs for the rest of a slot if its owner has nothing to do.
    uint64_t release_cycle;   // Release of the running slot.
    // Counts alike on all tiles: an epoch begins and ends in the same cycle on each of them.
    volatile uint32_t epoch;
    uint32_t frame;  // The major frame's place in the epoch.
    uint32_t slot;   // The slot's place in the major frame.
};

extern struct tau_kernel tau_kernel;

// ---- Time: user slots and OS slots of fixed length, whoever runs [P2-7] ------------------------
//
//   release k                       release k + 1
//      |<------- user slot ------->|<-- OS slot -->|<-------
//
// The OS slot ends with the gate: the core sleeps until the release and wakes a constant time
// later.

// Ends the slot that runs, and returns the context of the next one's owner after the gate.
// Stops the tile if and only if the gate is reached less than TAU_COMPOSE_GATE_MARGIN_CYCLES ahead
// of the release.
// Cost: whatever it takes, the first instruction of the owner runs a constant time after the
// release. The longest path is the bound of the OS slot (tool/tautochrone/compose/bounds.py).
struct tau_context *tau_slot_end(void);

// ---- What enters the kernel, other than the timer ----------------------------------------------

// Carries out a kernel call, serves a fault from the application's pool, or stops the task. Returns
// the context to go on in. Stops the tile if the kernel or the loader raised the exception, which
// is a bug of ours.
// Cost: without loops; part of the OS slot, since it may begin in a user slot's last cycle.
struct tau_context *tau_trap_exception(struct tau_context *context, uint32_t cause,
                                       uint32_t address);

_Noreturn void tau_trap_unexpected(void);

// ---- The loader: carries out the integrator's commands, in slots of its own --------------------

// Reads from the system file which applications have a part on the other tile.
void tau_loader_begin(void);

// The loader's task: all commands of the system file in their order, then those of the mailbox, as
// they come. It is preempted like everyone.
_Noreturn void tau_loader_run(void);

#endif
