#include "linux/runtime/colors/threads.h"

#include <errno.h>
#include <stddef.h>

#include "linux/interpose/look_up.h"
#include "linux/runtime/calls.h"
#include "linux/runtime/colors/tau_task.h"

__thread struct tau_colors_thread *tau_colors_me;
// For a thread that was created without a record, such as the first one.
static __thread struct tau_colors_thread mine;
static struct tau_colors_thread created[TAU_COLORS_THREADS_MAX];

static void take_up(struct tau_colors_thread *thread, struct tau_colors_task *task) {
    if (atomic_exchange(&thread->task, task) != task && task != NULL) {
        task->threads++;
    }
}

struct tau_colors_thread *tau_colors_thread_new(struct tau_colors_task *task) {
    for (size_t index = 0; index < TAU_COLORS_THREADS_MAX; index++) {
        struct tau_colors_thread *const thread = &created[index];
        unsigned holders = 0;
        if (atomic_compare_exchange_strong(&thread->holders, &holders, 2)) {
            thread->id = 0;
            atomic_store(&thread->task, NULL);
            take_up(thread, task);
            return thread;
        }
    }
    return NULL;
}

void tau_colors_thread_release(struct tau_colors_thread *thread) {
    atomic_fetch_sub(&thread->holders, 1);
}

static struct tau_colors_thread *myself(void) {
    if (tau_colors_me == NULL) {
        tau_colors_me = &mine;
    }
    return tau_colors_me;
}

// The record of thread ID, or NULL.
static struct tau_colors_thread *thread_of(pthread_t id) {
    if (pthread_equal(id, pthread_self())) {
        return myself();
    }
    for (size_t index = 0; index < TAU_COLORS_THREADS_MAX; index++) {
        if (created[index].holders != 0 && pthread_equal(created[index].id, id)) {
            return &created[index];
        }
    }
    return NULL;
}

TAU_EXPORT int tau_task(const char *name) {
    struct tau_colors_task *const task = name != NULL ? tau_colors_task_named(name) : NULL;
    if (name != NULL && task == NULL) {
        errno = ENOENT;
        return -1;
    }
    if (tau_colors.tasks_count != 0) {
        take_up(myself(), task);
    }
    return 0;
}

TAU_EXPORT int pthread_setname_np(pthread_t id, const char *name) {
    int (*real)(pthread_t, const char *);
    *(void **)&real = tau_look_up_next("pthread_setname_np");
    const int error = real != NULL ? real(id, name) : ENOSYS;
    struct tau_colors_task *const task = error == 0 ? tau_colors_task_named(name) : NULL;
    struct tau_colors_thread *const thread = task != NULL ? thread_of(id) : NULL;
    if (thread != NULL) {
        take_up(thread, task);
    }
    return error;
}
