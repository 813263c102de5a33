// The port of the tests with threads: a mutex of its own for every heap, which aborts when it is
// entered twice or left outside, and counts of locks and hooks for the thread that they happen in.
// Built in with -DTAU_PORT_HEADER='"core/tests/kit/port_threads.h"'.
#ifndef TAU_PORT_THREADS_H
#define TAU_PORT_THREADS_H

#include <stddef.h>

struct port_counts {
    unsigned out_of_memory;
    unsigned misuse;
    unsigned locks;
};

// This thread's counts.
extern _Thread_local struct port_counts port_counts;

// Makes HEAP's mutex; before the threads start.
void port_threads_add(const void *heap);

void port_threads_lock(void *heap);
void port_threads_unlock(void *heap);

#define TAU_PORT_LOCK(heap) port_threads_lock(heap)
#define TAU_PORT_UNLOCK(heap) port_threads_unlock(heap)
#define TAU_PORT_MISUSE(heap, pointer, reason)                                                     \
    ((void)(heap), (void)(pointer), (void)(reason), (void)port_counts.misuse++)
#define TAU_PORT_OUT_OF_MEMORY(heap, size_bytes)                                                   \
    ((void)(heap), (void)(size_bytes), (void)port_counts.out_of_memory++)

#endif
