// A stand-in for FreeRTOS's timers.h.
#ifndef TIMERS_H
#define TIMERS_H

#include "task.h"

typedef struct tmrTimerControl *TimerHandle_t;
typedef void (*TimerCallbackFunction_t)(TimerHandle_t timer);

TimerHandle_t xTimerCreate(const char *name, TickType_t period_ticks, BaseType_t is_repeated,
                           void *identifier, TimerCallbackFunction_t callback);
BaseType_t xTimerStart(TimerHandle_t timer, TickType_t ticks);

#endif
