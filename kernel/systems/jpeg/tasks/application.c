// The decoder as an executable: its three tasks, for the loader.
#include "kernel/base/application.h"
#include "kernel/systems/jpeg/tasks/tasks.h"

TAU_TASK(tau_jpeg_vld_task, 1024);
TAU_TASK(tau_jpeg_idct_task, 1024);
TAU_TASK(tau_jpeg_cc_task, 1024);
TAU_APPLICATION(3, TAU_TASK_OF(tau_jpeg_vld_task), TAU_TASK_OF(tau_jpeg_idct_task),
                TAU_TASK_OF(tau_jpeg_cc_task));
