#include "repro/composable/programs/work/work.h"

uint32_t tau_work_input[TAU_WORK_WORDS];
