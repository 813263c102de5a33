// Which task a thread runs.
#ifndef TAU_LINUX_RUNTIME_COLORS_THREADS_H
#define TAU_LINUX_RUNTIME_COLORS_THREADS_H

#include <pthread.h>
#include <stdatomic.h>

#include "linux/runtime/colors/partition.h"

#define TAU_COLORS_THREADS_MAX 1024u

// The record of a thread. Its creator and it itself hold one from before it starts.
struct tau_colors_thread {
    struct tau_colors_task *_Atomic task;
    struct tau_colors_task *stack_task;  // whose stack it has; it may run another task; or NULL
    _Atomic pthread_t id;
    _Atomic unsigned holders;  // 0: free
    void *(*start)(void *);
    void *argument;
};

// NULL: this thread never had a task.
extern __thread struct tau_colors_thread *tau_colors_me;

// The task of the calling thread, or NULL.
static inline struct tau_colors_task *tau_colors_current(void) {
    struct tau_colors_thread *const me = tau_colors_me;
    return __builtin_expect(me != NULL, 0) ? atomic_load_explicit(&me->task, memory_order_relaxed)
                                           : NULL;
}

// A record for a thread to be created; NULL if all are in use.
struct tau_colors_thread *tau_colors_thread_new(struct tau_colors_task *task);
void tau_colors_thread_release(struct tau_colors_thread *thread);

#endif
