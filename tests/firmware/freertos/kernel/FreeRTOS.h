// A stand-in for FreeRTOS's headers: the types, macros and calls that these programs, the heap and
// its recorder use, with the meaning that FreeRTOS's documentation gives them. kernel.c has one
// core, and no limit of time but 0 and portMAX_DELAY.
#ifndef FREERTOS_H
#define FREERTOS_H

#include <stddef.h>
#include <stdint.h>

#include "FreeRTOSConfig.h"

typedef long BaseType_t;
typedef unsigned long UBaseType_t;
typedef uint32_t TickType_t;
typedef uint32_t StackType_t;

#define pdFALSE ((BaseType_t)0)
#define pdTRUE ((BaseType_t)1)
#define pdPASS pdTRUE
#define pdFAIL pdFALSE
#define portMAX_DELAY 0xffffffffu
#ifndef portBYTE_ALIGNMENT
#define portBYTE_ALIGNMENT 8
#endif
#define portYIELD_FROM_ISR(is_due) ((is_due) != pdFALSE ? kernel_yield() : (void)0)

#define PRIVILEGED_DATA
#ifndef configUSE_MALLOC_FAILED_HOOK
#define configUSE_MALLOC_FAILED_HOOK 0
#endif
#ifndef configAPPLICATION_ALLOCATED_HEAP
#define configAPPLICATION_ALLOCATED_HEAP 0
#endif

typedef struct xHeapStats {
    size_t xAvailableHeapSpaceInBytes;
    size_t xSizeOfLargestFreeBlockInBytes;
    size_t xSizeOfSmallestFreeBlockInBytes;
    size_t xNumberOfFreeBlocks;
    size_t xMinimumEverFreeBytesRemaining;
    size_t xNumberOfSuccessfulAllocations;
    size_t xNumberOfSuccessfulFrees;
} HeapStats_t;

void *pvPortMalloc(size_t wanted);
void *pvPortCalloc(size_t count, size_t size);
void vPortFree(void *object);
void vPortInitialiseBlocks(void);
size_t xPortGetFreeHeapSize(void);
size_t xPortGetMinimumEverFreeHeapSize(void);
void xPortResetHeapMinimumEverFreeHeapSize(void);
void vPortGetHeapStats(HeapStats_t *statistics);
void vPortHeapResetState(void);
void vApplicationMallocFailedHook(void);

void kernel_yield(void);

#ifdef __arm__
static inline BaseType_t xPortIsInsideInterrupt(void) {
    uint32_t exception;
    __asm__ volatile("mrs %0, ipsr" : "=r"(exception));
    return exception != 0 ? pdTRUE : pdFALSE;
}
#endif

#endif
