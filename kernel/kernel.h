// The state of the kernel: one tile, its applications, the schedule.
#ifndef TAU_KERNEL_KERNEL_H
#define TAU_KERNEL_KERNEL_H

#include <stdint.h>

#include "core/buddy.h"
#include "kernel/context.h"
#include "kernel/system_file.h"

// A page of an application as it is bound: where, how large, and to which frame.
struct tau_bound_page {
    uint32_t page;
    uint8_t order;
    uint8_t kind;
    bool is_mapped;  // false: of a pool, and not touched yet
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
    uint32_t pool_entry;        // the first of its pool's pages, which follow each other
    uint32_t pool_pages_count;  // pages that its pool's frames can be mapped to
    uint32_t pool_count;        // frames of its pool
    uint32_t pool_used_count;   // of these, given out by faults
    uint32_t stopped_tasks;     // a bit per task that has ended, by itself or by an error
    // Its tasks run in the major frames start … stop - 1, if it is loaded.
    uint32_t start_frame;
    uint32_t stop_frame;
    enum tau_application_state state;
};

struct tau_kernel {
    struct tau_system_file file;
    struct tau_application applications[TAU_COMPOSE_LIMIT_APPLICATIONS];
    struct tau_context loader;
    struct tau_context idle;  // runs for the rest of a slot if its owner has nothing to do
    uint64_t release_cycle;   // of the slot that runs
    volatile uint32_t major_frame;
    uint32_t slot;  // its place in the major frame
};

extern struct tau_kernel tau_kernel;

#endif
