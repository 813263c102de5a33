#include "kernel/slots/kernel.h"
#include "kernel/slots/mmu_switch.h"
#include "kernel/stop.h"

#define EPOCH_LAST (UINT32_MAX - 1)

static void set_timer(uint64_t cycle) {
    // The compare value is never below both numbers meanwhile.
    tau_tile_write(TAU_TILE_REGISTER_TIMER_COMPARE, UINT32_MAX);
    tau_tile_write(TAU_TILE_REGISTER_TIMER_COMPARE + 4, (uint32_t)(cycle >> 32));
    tau_tile_write(TAU_TILE_REGISTER_TIMER_COMPARE, (uint32_t)cycle);
}

static void wait_for_release(uint64_t release_cycle) {
    set_timer(release_cycle);
    if (tau_tile_cycle() + TAU_COMPOSE_GATE_MARGIN_CYCLES > release_cycle) {
        tau_stop("a slot is late: the OS slot is too short");
    }
    __asm__ volatile("wfi" ::: "memory");
}

// Whether a life of it has begun, and not ended. It begins on all tiles of it or on none.
static bool is_alive(const struct tau_application *application, uint32_t epoch) {
    return application->start_epoch <= epoch && epoch < application->stop_epoch &&
           *application->peer_word == application->ready;
}

// Whose turn it is; TABLE becomes the page table's number.
static struct tau_context *owner_of(struct tau_slot slot, uint32_t *table) {
    struct tau_kernel *kernel = &tau_kernel;
    *table = TAU_MMU_SWITCH_EMPTY;
    if (slot.application == TAU_COMPOSE_SLOT_LOADER) {
        return &kernel->loader;
    }
    if (slot.application == TAU_COMPOSE_SLOT_IDLE) {
        return &kernel->idle;
    }
    TAU_KERNEL_ASSERT(slot.application < TAU_COMPOSE_LIMIT_APPLICATIONS);
    TAU_KERNEL_ASSERT(slot.task < TAU_COMPOSE_LIMIT_TASKS);
    struct tau_application *application = &kernel->applications[slot.application];
    if (!is_alive(application, kernel->epoch) ||
        (application->stopped_tasks >> slot.task & 1) != 0) {
        return &kernel->idle;
    }
    *table = slot.application;
    return &application->tasks[slot.task];
}

struct tau_context *tau_slot_end(void) {
    struct tau_kernel *kernel = &tau_kernel;
    const uint32_t *header = kernel->file.header;
    kernel->slot++;
    if (kernel->slot >= header[TAU_COMPOSE_HEADER_SLOT_COUNT]) {
        kernel->slot = 0;
        kernel->frame++;
        if (kernel->frame >= header[TAU_COMPOSE_HEADER_EPOCH_FRAMES]) {
            kernel->frame = 0;
            // It stays at the last one: who is alive then lives on.
            kernel->epoch += kernel->epoch != EPOCH_LAST;
        }
    }
    const struct tau_slot slot = kernel->file.slots[kernel->slot];
    uint32_t table;
    struct tau_context *next = owner_of(slot, &table);
    tau_mmu_switch(table);
    kernel->release_cycle +=
        header[TAU_COMPOSE_HEADER_USER_SLOT_CYCLES] + header[TAU_COMPOSE_HEADER_OS_SLOT_CYCLES];
    wait_for_release(kernel->release_cycle);
    tau_tile_write(TAU_TILE_REGISTER_OWNER, (uint32_t)slot.application << 8 | slot.task);
    set_timer(kernel->release_cycle + header[TAU_COMPOSE_HEADER_USER_SLOT_CYCLES]);
    return next;
}
