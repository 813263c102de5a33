// Threads: room for their stacks, or the stacks that a plan has for their tasks. pthread_create and
// all ways to join.
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>

#include "linux/interpose/look_up.h"
#include "linux/runtime/calls.h"
#include "linux/runtime/colors/threads.h"
#include "linux/runtime/spill.h"

typedef void *start_function(void *argument);
typedef int create_function(pthread_t *id, const pthread_attr_t *attributes, start_function *start,
                            void *argument);

// pthread_create was called so many times.
static _Atomic uint32_t created_count;

// ---- The stack of a task -----------------------------------------------------------------------

static bool has_stack(const pthread_attr_t *attributes) {
    void *start;
    size_t bytes;
    // Without a stack the C library says 0 - bytes.
    return pthread_attr_getstack(attributes, &start, &bytes) == 0 && (uintptr_t)start + bytes != 0;
}

// Takes the stack of TASK for a thread with these ATTRIBUTES, or NULL; *OWN are those with the
// stack. False if the thread gets an ordinary one.
static bool take_stack(struct tau_colors_task *task, const pthread_attr_t *attributes,
                       pthread_attr_t *own) {
    const struct tau_tlb_color_part *const stack = task != NULL ? tau_colors_stack_of(task) : NULL;
    if (stack == NULL || (attributes != NULL && has_stack(attributes)) ||
        atomic_exchange(&task->is_stack_used, true)) {
        return false;
    }
    // A copy shares what the attributes point to; pthread_create only reads it.
    const int error = attributes != NULL ? (*own = *attributes, 0) : pthread_attr_init(own);
    if (error == 0 && pthread_attr_setstack(own, (void *)stack->start, stack->size_bytes) == 0) {
        task->stack_holder = 0;
        return true;
    }
    task->is_stack_used = false;
    return false;
}

// ---- Threads -----------------------------------------------------------------------------------

static void end(void *thread) {
    tau_colors_me = NULL;
    tau_colors_thread_release(thread);
}

static void *run(void *given) {
    struct tau_colors_thread *const thread = given;
    struct tau_colors_task *const stack_task = thread->stack_task;
    start_function *const start = thread->start;
    void *const argument = thread->argument;
    void *result;
    tau_colors_me = thread;
    if (stack_task != NULL) {
        stack_task->stack_holder = pthread_self();
        stack_task->stacks++;
    }
    pthread_cleanup_push(end, thread);
    result = start(argument);
    pthread_cleanup_pop(1);
    return result;
}

static struct tau_colors_task *task_of_next_thread(void) {
    const uint32_t number = ++created_count;
    for (size_t index = 0; index < tau_colors.tasks_count; index++) {
        if (tau_colors.tasks[index].thread_number == number) {
            return &tau_colors.tasks[index];
        }
    }
    return tau_colors_current();
}

// As REAL. If that finds no memory, the free end of the heap is unmapped first; the C library's
// heap does that whenever memory is freed.
static int create(create_function *real, pthread_t *id, const pthread_attr_t *attributes,
                  start_function *start, void *argument) {
    const int error = real(id, attributes, start, argument);
    if (error != EAGAIN || !tau_calls_enter()) {
        return error;
    }
    const bool is_shorter = tau_spill_shorten();
    tau_lock_leave();
    return is_shorter ? real(id, attributes, start, argument) : error;
}

TAU_EXPORT int pthread_create(pthread_t *id, const pthread_attr_t *attributes,
                              start_function *start, void *argument) {
    static create_function *real;
    if (real == NULL) {
        *(void **)&real = tau_look_up_next("pthread_create");
    }
    if (real == NULL) {
        return ENOSYS;
    }
    struct tau_colors_thread *thread = NULL;
    if (tau_colors.tasks_count != 0) {
        struct tau_colors_task *const next = task_of_next_thread();
        thread = tau_colors_thread_new(next);
        tau_colors.unknown_threads += thread == NULL && next != NULL;
    }
    if (thread == NULL) {
        return create(real, id, attributes, start, argument);
    }
    struct tau_colors_task *const task = thread->task;
    pthread_attr_t own;
    const bool is_colored = take_stack(task, attributes, &own);
    thread->stack_task = is_colored ? task : NULL;
    thread->start = start;
    thread->argument = argument;
    int error = real(id, is_colored ? &own : attributes, run, thread);
    if (is_colored && attributes == NULL) {
        pthread_attr_destroy(&own);
    }
    if (error != 0 && is_colored) {  // too small for the program's thread-local data
        thread->stack_task = NULL;
        task->is_stack_used = false;
        error = real(id, attributes, run, thread);
    }
    if (error == 0) {
        thread->id = *id;
    } else {
        tau_colors_thread_release(thread);
    }
    tau_colors_thread_release(thread);
    return error;
}

// ---- Joining -----------------------------------------------------------------------------------

// Gives back the stack of thread ID if a join with this ERROR has ended it. Returns ERROR.
static int after_join(pthread_t id, int error) {
    for (size_t index = 0; error == 0 && index < tau_colors.tasks_count; index++) {
        struct tau_colors_task *const task = &tau_colors.tasks[index];
        if (task->is_stack_used && pthread_equal(task->stack_holder, id)) {
            task->stack_holder = 0;
            task->is_stack_used = false;
        }
    }
    return error;
}

TAU_EXPORT int pthread_join(pthread_t id, void **result) {
    static int (*real)(pthread_t, void **);
    if (real == NULL) {
        *(void **)&real = tau_look_up_next("pthread_join");
    }
    return after_join(id, real != NULL ? real(id, result) : ENOSYS);
}

TAU_EXPORT int pthread_tryjoin_np(pthread_t id, void **result) {
    static int (*real)(pthread_t, void **);
    if (real == NULL) {
        *(void **)&real = tau_look_up_next("pthread_tryjoin_np");
    }
    return after_join(id, real != NULL ? real(id, result) : ENOSYS);
}

TAU_EXPORT int pthread_timedjoin_np(pthread_t id, void **result, const struct timespec *until) {
    static int (*real)(pthread_t, void **, const struct timespec *);
    if (real == NULL) {
        *(void **)&real = tau_look_up_next("pthread_timedjoin_np");
    }
    return after_join(id, real != NULL ? real(id, result, until) : ENOSYS);
}

TAU_EXPORT int pthread_clockjoin_np(pthread_t id, void **result, clockid_t clock,
                                    const struct timespec *until) {
    static int (*real)(pthread_t, void **, clockid_t, const struct timespec *);
    if (real == NULL) {
        *(void **)&real = tau_look_up_next("pthread_clockjoin_np");
    }
    return after_join(id, real != NULL ? real(id, result, clock, until) : ENOSYS);
}
