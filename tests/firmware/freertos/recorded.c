// A program on the stand-in for FreeRTOS's heap, on this machine. Prints its calls as CSV; each is
// of a random task. Exits with 3 if the recorder's functions are called while the scheduler runs.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <FreeRTOS.h>
#include <task.h>

#include "core/ports/record.h"

static unsigned int suspended, task;

void vTaskSuspendAll(void) {
    suspended++;
}

BaseType_t xTaskResumeAll(void) {
    return suspended-- == 1;
}

BaseType_t xTaskGetSchedulerState(void) {
    return suspended != 0 ? taskSCHEDULER_SUSPENDED : taskSCHEDULER_RUNNING;
}

TaskHandle_t xTaskGetCurrentTaskHandle(void) {
    return (TaskHandle_t)(uintptr_t)(0x20000000u + 64 * task);
}

void count_malloc(const void *object, size_t size_bytes) {
    (void)object;
    (void)size_bytes;
}

void count_free(const void *object, size_t size_bytes) {
    (void)object;
    (void)size_bytes;
}

static bool send(void *context, const void *bytes, size_t size_bytes) {
    static FILE *out;
    (void)context;
    if (out == NULL) {
        out = fopen("capture.bin", "wb");
    }
    return fwrite(bytes, 1, size_bytes, out) == size_bytes && fflush(out) == 0;
}

static uint32_t ticks(void *context) {
    static uint32_t now;
    (void)context;
    if (suspended == 0) {
        _Exit(3);
    }
    return now += 10;
}

const struct tau_record_port tau_record_wrap_port = {send, ticks, NULL, 1000};

int main(int count, char **arguments) {
    void *objects[40] = {NULL};
    srand(count > 1 ? (unsigned int)atol(arguments[1]) : 1);
    printf("op,id,size,task\n");
    for (unsigned int step = 0, names[40]; step < 4000; step++) {
        const unsigned int i = (unsigned int)rand() % 40;
        task = (unsigned int)rand() % 40;
        if (objects[i] != NULL) {
            printf("free,%u,0,%u\n", names[i], task);
            vPortFree(objects[i]);
            objects[i] = NULL;
            continue;
        }
        const size_t size = (size_t)rand() % 3000 + 4;
        const int is_zeroed = rand() % 4 == 0;
        objects[i] = is_zeroed ? pvPortCalloc(size / 4, 4) : pvPortMalloc(size);
        names[i] = step;
        if (objects[i] != NULL) {
            printf("%s,%u,%zu,%u\n", is_zeroed ? "calloc" : "malloc", step,
                   is_zeroed ? size / 4 * 4 : size, task);
        }
    }
    vPortFree(NULL);
    return pvPortCalloc(SIZE_MAX / 2, 4) != NULL || suspended != 0;
}
