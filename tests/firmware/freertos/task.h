// A stand-in for FreeRTOS's task.h.
#ifndef TASK_H
#define TASK_H

#include "FreeRTOS.h"

void vTaskSuspendAll(void);
BaseType_t xTaskResumeAll(void);

#endif
