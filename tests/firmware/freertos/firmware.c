// A firmware on FreeRTOS: tasks that preempt each other and pass messages, tasks that end, a timer,
// and an interrupt. What each part computes does not depend on the order in which they run. At the
// end it prints a checksum, what failed, and the sizes that each part asked for, in their order.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <FreeRTOS.h>
#include <queue.h>
#include <task.h>
#include <timers.h>

#ifndef TAU_RECORD_FREERTOS
#include "core/ports/freertos/heap_tautochrone.h"
#endif

void *pvPortCalloc(size_t count, size_t size_bytes);  // kernels before 10.5 do not declare it

enum { MESSAGES = 150, MESSAGES_QUEUED = 8, INTERRUPTS = 60, DEVICE_KEPT = 4 };
enum { EXPIRIES = 20, EXPIRIES_KEPT = 3, WORKERS = 8, REQUESTS_MAX = 160 };
enum part { PRODUCER, OTHER_PRODUCER, DEVICE, TIMER, WORKER, PARTS };

struct message {
    uint32_t size_bytes;
    unsigned char bytes[];
};

struct log {
    unsigned int count;
    uint16_t sizes[REQUESTS_MAX];
};

static const char *const names[PARTS] = {"producer", "producer", "device", "timer", "worker"};
static struct log logs[PARTS];
static volatile uint32_t checksum;
static volatile unsigned int failed_mallocs, failed_assertions, refused_mallocs;
static QueueHandle_t messages, numbers, ended;
static bool statistics_hold = true;
static uint32_t seed;

// ---- What the kernel and the heap call ----

static size_t allocations, frees, live_bytes, peak_live_bytes;

void count_assertion(int holds) {
    if (!holds) {
        failed_assertions++;
    }
}

// The heap calls these with its lock held.
void count_malloc(const void *object, size_t size_bytes) {
    if (object != NULL) {
        allocations++;
        live_bytes += size_bytes;
        peak_live_bytes = live_bytes > peak_live_bytes ? live_bytes : peak_live_bytes;
    }
}

void count_free(const void *object, size_t size_bytes) {
    frees += object != NULL ? 1 : 0;
    live_bytes -= size_bytes;
}

void vApplicationMallocFailedHook(void) {
    failed_mallocs++;
}

// ---- Parts ----

static void add(const unsigned char *bytes, size_t size_bytes) {
    uint32_t sum = (uint32_t)size_bytes;
    for (size_t i = 0; i < size_bytes; i++) {
        sum = sum * 33 + bytes[i];
    }
    vTaskSuspendAll();
    checksum += sum;
    (void)xTaskResumeAll();
}

// Inlined, so that the call is in the part's own function.
__attribute__((always_inline)) static inline void *take(enum part part, size_t size_bytes) {
    struct log *const log = &logs[part];
    log->sizes[log->count++] = (uint16_t)size_bytes;
    return pvPortMalloc(size_bytes);
}

static void end(enum part part) {
    (void)xQueueSend(ended, &part, portMAX_DELAY);
    vTaskDelete(NULL);
}

static void produce(void *argument) {
    const enum part part = (enum part)(uintptr_t)argument;
    uint32_t random = ((uint32_t)part * 77 + 1) ^ seed;
    for (unsigned int i = 0; i < MESSAGES; i++) {
        random = random * 1664525u + 1013904223u;
        const size_t size_bytes = 1 + (random >> 16) % 400;
        struct message *const message = take(part, sizeof *message + size_bytes);
        if (message != NULL) {
            message->size_bytes = size_bytes;
            memset(message->bytes, (int)(random >> 8), size_bytes);
            (void)xQueueSend(messages, &message, portMAX_DELAY);
        }
    }
    struct message *const none = NULL;
    (void)xQueueSend(messages, &none, portMAX_DELAY);
    end(part);
}

static void consume(void *unused) {
    (void)unused;
    for (unsigned int producers = 2; producers > 0;) {
        struct message *message;
        (void)xQueueReceive(messages, &message, portMAX_DELAY);
        if (message == NULL) {
            producers--;
        } else {
            add(message->bytes, message->size_bytes);
            vPortFree(message);
        }
    }
    end(PARTS);
}

// One buffer for each interrupt; the latest DEVICE_KEPT stay.
static void serve_device(void *unused) {
    unsigned char *kept[DEVICE_KEPT] = {NULL};
    (void)unused;
    for (uint32_t i = 0, number; i < INTERRUPTS; i++) {
        (void)xQueueReceive(numbers, &number, portMAX_DELAY);
        const size_t size_bytes = 16 + (number * 7 + seed) % 200;
        vPortFree(kept[i % DEVICE_KEPT]);
        kept[i % DEVICE_KEPT] = take(DEVICE, size_bytes);
        if (kept[i % DEVICE_KEPT] != NULL) {
            memset(kept[i % DEVICE_KEPT], (int)number, size_bytes);
            add(kept[i % DEVICE_KEPT], size_bytes);
        }
    }
    for (unsigned int i = 0; i < DEVICE_KEPT; i++) {
        vPortFree(kept[i]);
    }
    end(DEVICE);
}

static void expire(TimerHandle_t timer) {
    static unsigned char *kept[EXPIRIES_KEPT];
    static unsigned int count;
    const enum part part = TIMER;
    (void)timer;
    if (count < EXPIRIES) {
        vPortFree(kept[count % EXPIRIES_KEPT]);
        kept[count % EXPIRIES_KEPT] = take(TIMER, 20 + count * 9);
        count++;
        if (count == EXPIRIES) {
            (void)xQueueSend(ended, &part, 0);
        }
    }
}

static void work(void *argument) {
    const unsigned int size_bytes = 40 + 8 * (unsigned int)(uintptr_t)argument;
    logs[WORKER].sizes[logs[WORKER].count++] = (uint16_t)size_bytes;
    unsigned char *const zeros = pvPortCalloc(size_bytes / 4, 4);
    if (zeros != NULL) {
        add(zeros, size_bytes);
        memset(zeros, 0xff, size_bytes);
    }
    if ((uintptr_t)argument + 1 < WORKERS) {  // the last one dies with its object
        vPortFree(zeros);
    }
    end(WORKER);
}

// ---- The interrupt of the board's timer ----

#define TIMER_0 ((volatile uint32_t *)0x40000000u)  // control, value, reload, clear
#define NVIC_ENABLE (*(volatile uint32_t *)0xe000e100u)
#define NVIC_PRIORITY ((volatile unsigned char *)0xe000e400u)
enum { TIMER_0_LINE = 8, TIMER_0_CYCLES = 11000 };

void timer_interrupt(void);
void timer_interrupt(void) {
    static uint32_t number;
    BaseType_t is_due = pdFALSE;
    TIMER_0[3] = 1;
    (void)xQueueSendFromISR(numbers, &number, &is_due);
    number++;
    TIMER_0[0] = number < INTERRUPTS ? 9 : 0;
#ifndef TAU_RECORD_FREERTOS
    // Wrong, and refused.
    void *const object = pvPortMalloc(number);
    refused_mallocs += object == NULL ? 1 : 0;
    vPortFree(numbers);
#endif
    portYIELD_FROM_ISR(is_due);
}

// ---- The end ----

// What the heap says of itself is what it traced. The heap that is recorded need not say it.
#ifdef TAU_RECORD_FREERTOS
#define begin_statistics() ((void)0)
#define check_statistics() ((void)0)
#else
static size_t whole_bytes;

static void begin_statistics(void) {
    whole_bytes = xPortGetFreeHeapSize() + live_bytes;
}

static void check_statistics(void) {
    HeapStats_t said;
    vPortGetHeapStats(&said);
    statistics_hold = said.xNumberOfSuccessfulAllocations == allocations &&
                      said.xNumberOfSuccessfulFrees == frees &&
                      said.xAvailableHeapSpaceInBytes == whole_bytes - live_bytes &&
                      said.xMinimumEverFreeBytesRemaining == whole_bytes - peak_live_bytes &&
                      said.xAvailableHeapSpaceInBytes == xPortGetFreeHeapSize() &&
                      said.xMinimumEverFreeBytesRemaining == xPortGetMinimumEverFreeHeapSize();
    const struct tau_heap_tautochrone_refusals refusals = tau_heap_tautochrone_refusals();
    printf("refused %lu %u %lu\n", (unsigned long)refusals.in_interrupts, refused_mallocs,
           (unsigned long)refusals.misuses);
}
#endif

static void supervise(void *unused) {
    enum part part;
    (void)unused;
    for (unsigned int i = 0; i < WORKERS; i++) {
        (void)xTaskCreate(work, "work", configMINIMAL_STACK_SIZE, (void *)(uintptr_t)i, 1, NULL);
        vTaskDelay(3);  // the idle task frees the one before
    }
    // Two producers, the consumer, the device, the timer, and the workers.
    for (unsigned int i = 0; i < 5 + WORKERS; i++) {
        (void)xQueueReceive(ended, &part, portMAX_DELAY);
    }
    vTaskSuspendAll();
    check_statistics();
    printf("checksum %08lx failed %u assertions %u statistics %s\n", (unsigned long)checksum,
           failed_mallocs, failed_assertions, statistics_hold ? "hold" : "differ");
    for (unsigned int i = 0; i < PARTS; i++) {
        printf("%s", names[i]);
        for (unsigned int n = 0; n < logs[i].count; n++) {
            printf(" %u", logs[i].sizes[n]);
        }
        printf("\n");
    }
    (void)xTaskResumeAll();
    exit(0);
}

int main(int count, char **arguments) {
    static char text[8192];
    seed = count > 1 ? (uint32_t)strtoul(arguments[1], NULL, 10) * 2654435761u : 0;
    setvbuf(stdout, text, _IOFBF, sizeof text);
    messages = xQueueCreate(MESSAGES_QUEUED, sizeof(struct message *));
    begin_statistics();
    numbers = xQueueCreate(INTERRUPTS, sizeof(uint32_t));
    ended = xQueueCreate(5 + WORKERS, sizeof(enum part));
    const TimerHandle_t timer = xTimerCreate("expire", 2, pdTRUE, NULL, expire);
    for (uintptr_t part = PRODUCER; part <= OTHER_PRODUCER; part++) {
        (void)xTaskCreate(produce, "produce", configMINIMAL_STACK_SIZE, (void *)part, 1, NULL);
    }
    (void)xTaskCreate(consume, "consume", configMINIMAL_STACK_SIZE, NULL, 2, NULL);
    (void)xTaskCreate(serve_device, "device", configMINIMAL_STACK_SIZE, NULL, 4, NULL);
    (void)xTaskCreate(supervise, "supervise", 1024, NULL, 1, NULL);
    (void)xTimerStart(timer, 0);
    NVIC_PRIORITY[TIMER_0_LINE] = 0xc0;
    NVIC_ENABLE = 1u << TIMER_0_LINE;
    TIMER_0[1] = TIMER_0[2] = TIMER_0_CYCLES + (seed >> 20);
    TIMER_0[0] = 9;
    vTaskStartScheduler();
    return 1;
}
