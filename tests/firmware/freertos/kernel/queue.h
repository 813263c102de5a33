// A stand-in for FreeRTOS's queue.h.
#ifndef QUEUE_H
#define QUEUE_H

#include "FreeRTOS.h"

typedef struct QueueDefinition *QueueHandle_t;

QueueHandle_t xQueueCreate(UBaseType_t length, UBaseType_t item_bytes);
BaseType_t xQueueSend(QueueHandle_t queue, const void *item, TickType_t ticks);
BaseType_t xQueueSendFromISR(QueueHandle_t queue, const void *item, BaseType_t *is_switch_due);
BaseType_t xQueueReceive(QueueHandle_t queue, void *item, TickType_t ticks);

#endif
