// See port_threads.h.
#include "core/tests/kit/port_threads.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { HEAPS_MAX = 8 };

_Thread_local struct port_counts port_counts;

static struct {
    const void *heap;
    pthread_mutex_t mutex;
} heaps[HEAPS_MAX];
static unsigned heaps_count;

static void require(int is_so, const char *what) {
    if (!is_so) {
        printf("the port of threads: %s\n", what);
        abort();
    }
}

void port_threads_add(const void *heap) {
    pthread_mutexattr_t attributes;
    require(heaps_count < HEAPS_MAX, "more heaps than mutexes");
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    heaps[heaps_count].heap = heap;
    require(pthread_mutex_init(&heaps[heaps_count].mutex, &attributes) == 0, "no mutex");
    heaps_count++;
}

static pthread_mutex_t *mutex_of(const void *heap) {
    for (unsigned i = 0; i < heaps_count; i++) {
        if (heaps[i].heap == heap) {
            return &heaps[i].mutex;
        }
    }
    require(0, "a lock of something that is not a heap");
    return NULL;
}

void port_threads_lock(void *heap) {
    require(pthread_mutex_lock(mutex_of(heap)) == 0, "a lock entered twice");
    port_counts.locks++;
}

void port_threads_unlock(void *heap) {
    require(pthread_mutex_unlock(mutex_of(heap)) == 0, "a lock left outside");
}
