#include "repro/composable/programs/work/work.h"

uint32_t tau_work_output[TAU_WORK_WORDS];
