// A stand-in for FreeRTOS's headers: what a heap of its own, and a recorder of it, use of them.
#ifndef FREERTOS_H
#define FREERTOS_H

#include <stddef.h>

typedef long BaseType_t;

#ifndef traceMALLOC
#define traceMALLOC(object, size_bytes)
#endif
#ifndef traceFREE
#define traceFREE(object, size_bytes)
#endif

void *pvPortMalloc(size_t wanted);
void vPortFree(void *object);

#endif
