// The synthetic application A1 [P2-17]: a pipeline of five tasks. Task 1 makes tokens; each task
// works on a token and passes it on; task 5 prints the checksum of all.
//
// FIFO f, from 0 on, leads from task f + 1 to task f + 2. End 2f is the writer's end of FIFO f,
// end 2f + 1 the reader's. Each function is the whole of a task and returns after its last token.
#ifndef TAU_PIPELINE_TASKS_H
#define TAU_PIPELINE_TASKS_H

#include <stdint.h>

#include "kernel/systems/pipeline/work.h"

#ifndef TAU_PIPELINE_TOKENS
#define TAU_PIPELINE_TOKENS 100u
#endif

enum { TAU_PIPELINE_TASKS_COUNT = 5 };

void tau_pipeline_task1(void);
void tau_pipeline_task2(void);
void tau_pipeline_task3(void);
void tau_pipeline_task4(void);
void tau_pipeline_task5(void);

#endif
