// The synthetic application as an executable: its five tasks, for the loader.
#include "kernel/base/application.h"
#include "kernel/systems/pipeline/tasks.h"

TAU_TASK(tau_pipeline_task1, 512);
TAU_TASK(tau_pipeline_task2, 512);
TAU_TASK(tau_pipeline_task3, 512);
TAU_TASK(tau_pipeline_task4, 512);
TAU_TASK(tau_pipeline_task5, 512);
TAU_APPLICATION(5, TAU_TASK_OF(tau_pipeline_task1), TAU_TASK_OF(tau_pipeline_task2),
                TAU_TASK_OF(tau_pipeline_task3), TAU_TASK_OF(tau_pipeline_task4),
                TAU_TASK_OF(tau_pipeline_task5));
