// The library's start: at the first call of the allocator, or before the program's main.
#ifndef TAU_LINUX_RUNTIME_START_H
#define TAU_LINUX_RUNTIME_START_H

#include <stdbool.h>

// Whether the heaps exist. The first call makes them if the environment is known already. A call
// that comes from the start itself is too early. Ends the program if its heap cannot be made.
bool tau_start(void);

#endif
