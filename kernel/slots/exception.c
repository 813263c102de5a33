#include "kernel/slots/kernel.h"
#include "kernel/slots/pages.h"
#include "kernel/stop.h"

enum {
    CAUSE_FETCH_FAULT = 1,
    CAUSE_LOAD_FAULT = 5,
    CAUSE_STORE_FAULT = 7,
    CAUSE_USER_CALL = 8,
};

static struct tau_context *stop_task(struct tau_application *application, uint32_t task) {
    application->stopped_tasks |= UINT32_C(1) << task;
    return &tau_kernel.idle;
}

static struct tau_context *call(struct tau_application *application, uint32_t task,
                                struct tau_context *context) {
    context->words[TAU_CONTEXT_PC] += 4;  // ecall has no short form
    if (context->words[TAU_CONTEXT_A7] == TAU_COMPOSE_CALL_WAIT) {
        return &tau_kernel.idle;
    }
    return stop_task(application, task);
}

struct tau_context *tau_trap_exception(struct tau_context *context, uint32_t cause,
                                       uint32_t address) {
    struct tau_kernel *kernel = &tau_kernel;
    const struct tau_slot slot = kernel->file.slots[kernel->slot];
    if (slot.application >= TAU_COMPOSE_LIMIT_APPLICATIONS || context == &kernel->idle) {
        tau_stop("the kernel or the loader raised an exception");
    }
    struct tau_application *application = &kernel->applications[slot.application];
    TAU_KERNEL_ASSERT(context == &application->tasks[slot.task]);
    TAU_KERNEL_ASSERT(application->state == TAU_APPLICATION_LOADED);
    if (cause == CAUSE_USER_CALL) {
        return call(application, slot.task, context);
    }
    const bool is_fault =
        cause == CAUSE_FETCH_FAULT || cause == CAUSE_LOAD_FAULT || cause == CAUSE_STORE_FAULT;
    if (is_fault && tau_pages_serve_fault(slot.application, address)) {
        return context;
    }
    return stop_task(application, slot.task);
}

_Noreturn void tau_trap_unexpected(void) {
    tau_stop("an interrupt that nobody enabled");
}
