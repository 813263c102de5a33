// Calls that cannot go to the heaps: before the heaps exist, and in a signal handler that
// interrupted a call of the allocator. The boot arena serves them, and their frees wait.
#ifndef TAU_LINUX_RUNTIME_NESTED_CALLS_H
#define TAU_LINUX_RUNTIME_NESTED_CALLS_H

#include <stdbool.h>
#include <stddef.h>

// Whether a call may go to the heaps although the gate is closed. Makes the heaps, and frees
// waiting objects, when it is time.
bool tau_nested_calls_admit(void);

// NULL with errno ENOMEM once the boot arena is used up.
void *tau_nested_calls_allocate(size_t alignment, size_t size_bytes);
// POINTER is not NULL.
void tau_nested_calls_free(void *pointer);

#endif
