// The kernel of slots: the state of one tile, its applications and its schedule, and the kernel's
// parts.
#ifndef TAU_SLOTS_KERNEL_H
#define TAU_SLOTS_KERNEL_H

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
    // Its tasks run in the major frames start … stop - 1, if it is loaded.
    uint32_t start_frame;
    uint32_t stop_frame;
    enum tau_application_state state;
};

struct tau_kernel {
    struct tau_system_file file;
    struct tau_application applications[TAU_COMPOSE_LIMIT_APPLICATIONS];
    struct tau_context loader;
    struct tau_context idle;  // Runs for the rest of a slot if its owner has nothing to do.
    uint64_t release_cycle;   // Release of the running slot.
    volatile uint32_t major_frame;
    uint32_t slot;  // Its place in the major frame.
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
// Stops the tile if and only if
// - the gate is reached less than TAU_COMPOSE_GATE_MARGIN_CYCLES ahead of the release, or
// - a task of the next slot should run and its application is not loaded yet.
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

// Sets for each application in which major frames it runs, by the first commands for it.
void tau_loader_begin(void);

// The loader's task: all commands in their order, then nothing more. It is preempted like everyone.
_Noreturn void tau_loader_run(void);

#endif
