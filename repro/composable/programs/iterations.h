// The first iterations of the decoder in one task, measured with virtual memory and without.
#ifndef TAU_ITERATIONS_H
#define TAU_ITERATIONS_H

#include <stdint.h>

// Reads the image's header. Call it once, in front of the iterations.
void tau_iterations_begin(void);

// Decodes TAU_ITERATIONS MCUs, or all if there are fewer.
void tau_iterations_run(void);

#endif
