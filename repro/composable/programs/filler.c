// An application that only holds memory: its pages are another state of the memory for the rest.
#include "kernel/base/application.h"

static volatile uint32_t memory[TAU_FILLER_BYTES / 4];

void fill(void) {
    memory[0] = 1;
}

TAU_TASK(fill, 16);
TAU_APPLICATION(1, TAU_TASK_OF(fill));
