// After each of many random calls, FreeRTOS's heap says of itself what the core counts, takes the
// scheduler's lock once, and refuses what is wrong without a change. Runs on this machine; prints
// the line of what differs.
#include <stdio.h>
#include <stdlib.h>

static unsigned int suspended;

#include "core/ports/freertos/heap_tautochrone.c"  // with its state

enum { OBJECTS = 200, STEPS = 20000, SIZE_MAX_BYTES = 700 };

static unsigned int locks, hooks, failed_assertions;
static bool has_interrupt;
static size_t traced_bytes, allocations, frees, least_bytes, requested_bytes;

static void check(bool holds, int line) {
    if (!holds) {
        printf("line %d\n", line);
        exit(1);
    }
}
#define CHECK(condition) check(condition, __LINE__)

#if configAPPLICATION_ALLOCATED_HEAP == 1
_Alignas(TAU_PLAN_ALIGNMENT) uint8_t ucHeap[configTOTAL_HEAP_SIZE];
#endif

void vTaskSuspendAll(void) {
    suspended++;
    locks++;
}

BaseType_t xTaskResumeAll(void) {
    suspended--;
    return pdFALSE;
}

void count_assertion(int holds) {
    failed_assertions += holds ? 0 : 1;
}

// An interrupt in the middle of a call.
static void interrupt(void) {
    if (has_interrupt) {
        const struct tau_heap_tautochrone_refusals before = tau_heap_tautochrone_refusals();
        has_interrupt = false;
        const unsigned int failed = failed_assertions;
        const size_t least = xPortGetMinimumEverFreeHeapSize();
        HeapStats_t said = {.xNumberOfFreeBlocks = 1};
        CHECK(pvPortMalloc(8) == NULL);
        vPortFree(ucHeap);
        vPortGetHeapStats(&said);
        CHECK(said.xNumberOfFreeBlocks == 0 && said.xAvailableHeapSpaceInBytes == 0);
        xPortResetHeapMinimumEverFreeHeapSize();
        CHECK(xPortGetMinimumEverFreeHeapSize() == least);
        CHECK(failed_assertions == failed + 4);
        CHECK(tau_heap_tautochrone_refusals().in_interrupts == before.in_interrupts + 4);
        CHECK(tau_heap_tautochrone_refusals().misuses == before.misuses);
        has_interrupt = true;
    }
}

void count_malloc(const void *object, size_t size_bytes) {
    CHECK(suspended == 1 && (object != NULL || size_bytes == requested_bytes));
    traced_bytes += object == NULL ? 0 : size_bytes;
    interrupt();
}

void count_free(const void *object, size_t size_bytes) {
    CHECK(suspended == 1 && object != NULL);
    traced_bytes -= size_bytes;
    interrupt();
}

void vApplicationMallocFailedHook(void) {
    CHECK(suspended == 0);
    hooks++;
}

// Free bytes, by what the core's own functions say.
static size_t counted_bytes(void) {
    size_t bytes = 0;
#if defined(TAU_POOLS_H)
    for (size_t i = 0; i < TAU_PLAN_CLASSES_COUNT; i++) {
        const struct tau_pools_band_statistics one = tau_pools_band_statistics(tau_heap.plan, i);
        bytes += (size_t)one.size_bytes * (one.limit_count - one.used_count);
    }
#elif TAU_PLAN_CLASSES_COUNT > 0
    bytes = tau_budget_statistics(tau_heap.plan).shared.free_bytes;
    for (size_t i = 0; i < TAU_PLAN_CLASSES_COUNT; i++) {
        const struct tau_budget_class_statistics one =
            tau_budget_class_statistics(tau_heap.plan, i);
        bytes += (size_t)one.size_bytes * (one.count - one.used_count);
    }
#else
    bytes = tau_tlsf_statistics(tau_heap.plan).free_bytes;
#endif
    return bytes;
}

// Free blocks: the largest objects in them.
static size_t smallest_bytes, largest_bytes, blocks;

static void add_blocks(size_t object_bytes, size_t count) {
    if (count != 0) {
        smallest_bytes = object_bytes < smallest_bytes ? object_bytes : smallest_bytes;
        largest_bytes = object_bytes > largest_bytes ? object_bytes : largest_bytes;
        blocks += count;
    }
}

#ifndef TAU_POOLS_H
static bool add_block(void *unused, void *payload, size_t size_bytes, bool is_free) {
    const size_t canary_bytes = TAU_CHECK_LEVEL == 2 ? sizeof(tau_word) : 0;
    (void)unused;
    (void)payload;
    add_blocks(size_bytes - canary_bytes, is_free ? 1 : 0);
    return true;
}
#endif

static void count_free_blocks(void) {
    smallest_bytes = SIZE_MAX;
    largest_bytes = blocks = 0;
#if TAU_PLAN_CLASSES_COUNT > 0
    for (size_t i = 0; i < TAU_PLAN_CLASSES_COUNT; i++) {
#if defined(TAU_POOLS_H)
        const struct tau_pools_band_statistics one = tau_pools_band_statistics(tau_heap.plan, i);
        add_blocks(one.size_bytes, one.limit_count - one.used_count);
#else
        const struct tau_budget_class_statistics one =
            tau_budget_class_statistics(tau_heap.plan, i);
        add_blocks(one.size_bytes, one.count - one.used_count);
#endif
    }
#if !defined(TAU_POOLS_H)
    tau_tlsf_walk(tau_budget_shared(tau_heap.plan), add_block, NULL);
#endif
#else
    tau_tlsf_walk(tau_heap.plan, add_block, NULL);
#endif
}

static void check_all(size_t whole_bytes) {
    HeapStats_t said;
    const size_t free_bytes = counted_bytes();
    least_bytes = free_bytes < least_bytes ? free_bytes : least_bytes;
    vPortGetHeapStats(&said);
    CHECK(suspended == 0);
    CHECK(xPortGetFreeHeapSize() == free_bytes && free_bytes == whole_bytes - traced_bytes);
    CHECK(said.xAvailableHeapSpaceInBytes == free_bytes);
    CHECK(xPortGetMinimumEverFreeHeapSize() == least_bytes);
    CHECK(said.xMinimumEverFreeBytesRemaining == least_bytes);
    CHECK(said.xNumberOfSuccessfulAllocations == allocations);
    CHECK(said.xNumberOfSuccessfulFrees == frees);
    count_free_blocks();
    CHECK(said.xNumberOfFreeBlocks == blocks);
    CHECK(said.xSizeOfSmallestFreeBlockInBytes == smallest_bytes);
    CHECK(said.xSizeOfLargestFreeBlockInBytes == largest_bytes);
}

// The first object, and what the fresh heap had.
static void *first(size_t *whole_bytes) {
    HeapStats_t said;
    CHECK(xPortGetFreeHeapSize() == 0 && xPortGetMinimumEverFreeHeapSize() == 0);
    vPortGetHeapStats(&said);
    CHECK(said.xNumberOfFreeBlocks == 0);
    traced_bytes = 0;
    void *const object = pvPortMalloc(24);
    CHECK(object != NULL);
    allocations = 1;
    frees = 0;
    *whole_bytes = xPortGetFreeHeapSize() + traced_bytes;
    least_bytes = xPortGetFreeHeapSize();
    check_all(*whole_bytes);
    return object;
}

static void free_it(unsigned char *object, size_t size_bytes, int fill) {
    const unsigned int before = locks;
    for (size_t i = 0; i < size_bytes; i++) {
        CHECK(object[i] == fill);
    }
    vPortFree(object);
    frees++;
#if configHEAP_CLEAR_MEMORY_ON_FREE == 1
    CHECK(locks == before + 2);
    CHECK(size_bytes < 64 || object[size_bytes / 2] == 0);
#else
    CHECK(locks == before + 1);
#endif
}

// What is wrong: each is counted, and changes nothing.
static void misuse(void *object, size_t whole_bytes) {
    const struct tau_heap_tautochrone_refusals before = tau_heap_tautochrone_refusals();
    const unsigned int failed = failed_assertions;
    int local = 0;
    void *const wrong[] = {&local, (unsigned char *)object + sizeof(void *), ucHeap};
    for (size_t i = 0; i < 3; i++) {
        vPortFree(wrong[i]);
        check_all(whole_bytes);
    }
    CHECK(tau_heap_tautochrone_refusals().misuses == before.misuses + 3);
    CHECK(failed_assertions == failed + 3);
    vPortFree(NULL);
    CHECK(pvPortCalloc(SIZE_MAX / 2, 4) == NULL);
    CHECK(tau_heap_tautochrone_refusals().misuses == before.misuses + 3);
}

int main(int count, char **arguments) {
    static unsigned char *objects[OBJECTS];
    static size_t sizes[OBJECTS];
    size_t whole_bytes, again_bytes;
    unsigned int refused = 1;
    srand(count > 1 ? (unsigned int)atol(arguments[1]) : 1);
    vPortInitialiseBlocks();
    vPortFree(objects);  // before the heap is made
    CHECK(tau_heap_tautochrone_refusals().misuses == 1);
    void *const object = first(&whole_bytes);
    misuse(object, whole_bytes);
    CHECK(pvPortCalloc(3, 0) == NULL && hooks == refused);
    has_interrupt = true;
    for (unsigned int step = 0; step < STEPS; step++) {
        const unsigned int i = (unsigned int)rand() % OBJECTS;
        const unsigned int before = locks;
        if (objects[i] != NULL) {
            free_it(objects[i], sizes[i], (int)(i & 255u));
            objects[i] = NULL;
        } else {
            const bool is_zeroed = rand() % 4 == 0;
            requested_bytes = sizes[i] = (size_t)rand() % SIZE_MAX_BYTES / 4 * 4;
            objects[i] = is_zeroed ? pvPortCalloc(sizes[i] / 4, 4) : pvPortMalloc(sizes[i]);
            CHECK(locks == before + 1);
            CHECK((uintptr_t)objects[i] % portBYTE_ALIGNMENT == 0);
            refused += objects[i] == NULL ? 1 : 0;
            allocations += objects[i] == NULL ? 0 : 1;
            for (size_t n = 0; objects[i] != NULL && n < sizes[i]; n++) {
                CHECK(!is_zeroed || objects[i][n] == 0);
                objects[i][n] = (unsigned char)i;
            }
        }
        CHECK(hooks == refused);
        check_all(whole_bytes);
        if (step % 1000 == 999) {
            xPortResetHeapMinimumEverFreeHeapSize();
            least_bytes = counted_bytes();
            check_all(whole_bytes);
        }
    }
    CHECK(refused > 1 && allocations > STEPS / 10);
    vPortHeapResetState();
    has_interrupt = false;
    (void)first(&again_bytes);
    CHECK(again_bytes == whole_bytes);
    printf("%u refused\n", refused);
    return 0;
}
