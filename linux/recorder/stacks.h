// `tau record --stacks N`: the site of a new object is its call stack.
//
// The compiler's run-time library walks by unwind tables, which compilers write by default, so code
// without frame pointers is not an obstacle. The walk ends at code that has no tables, such as code
// made at run time. A distinct stack is written to the recording once or a few times.
#ifndef TAU_LINUX_RECORDER_STACKS_H
#define TAU_LINUX_RECORDER_STACKS_H

#include <stdint.h>

#include "linux/recorder/writer.h"

// Begins to walk stacks if the environment says so, and loads the library that does it: call it
// before main. Nothing happens without that library, or if it tells no addresses (32-bit Arm).
void tau_stacks_start(void);
// The site of the stack at the call of the allocator that returns to SITE; SITE itself where it is
// not on the stack, or the recording has no room. THREAD has a writer. Preserves errno.
uint64_t tau_stacks_site(struct tau_writer_thread *thread, uint64_t site);
// A new process has written no stack yet.
void tau_stacks_reset(void);

#endif
