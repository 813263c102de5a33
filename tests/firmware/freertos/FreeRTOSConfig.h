// The configuration of these programs, for the stand-in and for FreeRTOS's own kernel.
#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#define configUSE_PREEMPTION 1
#define configUSE_TIME_SLICING 1
#define configUSE_IDLE_HOOK 0
#define configUSE_TICK_HOOK 0
#define configCPU_CLOCK_HZ 25000000u
#define configTICK_RATE_HZ 1000u
#define configUSE_16_BIT_TICKS 0
#define configMAX_PRIORITIES 6
#define configMINIMAL_STACK_SIZE 128u
#define configUSE_TIMERS 1
#define configTIMER_TASK_PRIORITY 3
#define configTIMER_QUEUE_LENGTH 4
#define configTIMER_TASK_STACK_DEPTH 256u
#define configKERNEL_INTERRUPT_PRIORITY 255
#define configMAX_SYSCALL_INTERRUPT_PRIORITY 128
#define configUSE_MUTEXES 0
#define INCLUDE_vTaskDelay 1
#define INCLUDE_vTaskDelete 1
#define INCLUDE_xTaskGetCurrentTaskHandle 1

#ifndef configSUPPORT_DYNAMIC_ALLOCATION
#define configSUPPORT_DYNAMIC_ALLOCATION 1
#endif
#ifndef configTOTAL_HEAP_SIZE
#define configTOTAL_HEAP_SIZE 65536u
#endif
#define configUSE_MALLOC_FAILED_HOOK 1

// Each program counts what fails, and what its heap traces.
void count_assertion(int holds);
void count_malloc(const void *object, size_t size_bytes);
void count_free(const void *object, size_t size_bytes);
#define configASSERT(condition) count_assertion((condition) != 0)
#define traceMALLOC(object, size_bytes) count_malloc(object, size_bytes)
#define traceFREE(object, size_bytes) count_free(object, size_bytes)

#endif
