// FreeRTOS's heap in the memory of a plan. Add this file and the core's to the build, with the
// plan's optimization (-Os), in place of heap_4.c:
//
//   tau plan run.tau -o plan.toml --header heap_plan.h
//   gcc … -Itautochrone -I. tautochrone/core/ports/freertos/heap_tautochrone.c
//   tautochrone/core/tlsf.c tautochrone/core/budget.c
//
// A guaranteed plan also needs core/pools.c. Every function and statistic of heap_4.c is here, with
// these differences:
// - The heap has TAU_PLAN_HEAP_BYTES. configTOTAL_HEAP_SIZE is not used, unless the application
//   provides the memory (configAPPLICATION_ALLOCATED_HEAP): then it must be large enough, and
//   ucHeap a multiple of TAU_PLAN_ALIGNMENT.
// - A call in an interrupt fails. On a port of the kernel that does not tell interrupts from tasks,
//   it fails if it meets another call (TAU_FREERTOS_IN_INTERRUPT below).
// - vPortFree checks the pointer as the core's check level says. configENABLE_HEAP_PROTECTOR is not
//   used.
// - traceMALLOC and traceFREE get the bytes that the heap takes for the object. If there is no
//   memory, traceMALLOC gets NULL and the requested size.
//
// The lock is the scheduler's, once per call. Under it, the core's functions take at most what the
// plan's header states. Memory is cleared outside of it. vPortGetHeapStats takes a step for each
// block, as in heap_4.c.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MPU_WRAPPERS_INCLUDED_FROM_API_FILE
#include <FreeRTOS.h>
#include <task.h>
#undef MPU_WRAPPERS_INCLUDED_FROM_API_FILE

#include "heap_plan.h"

#include "core/ports/freertos/heap_tautochrone.h"
#include "core/private/heap/budget_table.h"
#include "core/private/heap/tlsf_block.h"
#if !TAU_STATISTICS
#error "this port needs statistics: leave out -DTAU_STATISTICS=0, and plan with statistics"
#endif
// Only the header of a guaranteed plan includes the pools'.
#ifdef TAU_POOLS_H
#include "core/private/heap/pools_table.h"
#endif

#if configSUPPORT_DYNAMIC_ALLOCATION == 0
#error "configSUPPORT_DYNAMIC_ALLOCATION is 0: leave heap_tautochrone.c out of the build"
#endif

// Kernels before 10.5 declare neither.
void *pvPortCalloc(size_t count, size_t size_bytes);
void vApplicationMallocFailedHook(void);

_Static_assert(portBYTE_ALIGNMENT <= TAU_ALIGNMENT_DEFAULT, "the port wants a larger alignment");

// Whether the caller is an interrupt. A build may define it, and must with ARM_CM0 before 10.6. If
// the kernel's port does not tell, a call that meets another call is one: no task runs while the
// scheduler is suspended.
#ifndef TAU_FREERTOS_IN_INTERRUPT
#ifdef portCHECK_IF_IN_ISR
#define TAU_FREERTOS_IN_INTERRUPT() portCHECK_IF_IN_ISR()
#elif defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
#define TAU_FREERTOS_IN_INTERRUPT() xPortIsInsideInterrupt()
#elif defined(configNUMBER_OF_CORES) && configNUMBER_OF_CORES > 1
#error "define TAU_FREERTOS_IN_INTERRUPT(): this port does not tell, and has several cores"
#else
#define TAU_FREERTOS_IN_INTERRUPT() tau_heap.is_busy
#endif
#endif

#if configAPPLICATION_ALLOCATED_HEAP == 1
extern uint8_t ucHeap[configTOTAL_HEAP_SIZE];
_Static_assert(configTOTAL_HEAP_SIZE >= TAU_PLAN_HEAP_BYTES,
               "configTOTAL_HEAP_SIZE is smaller than the plan's heap");
#else
PRIVILEGED_DATA static uint8_t ucHeap[TAU_PLAN_HEAP_BYTES]
    __attribute__((aligned(TAU_PLAN_ALIGNMENT)));
#endif

PRIVILEGED_DATA static struct tau_heap_state {
    tau_plan_heap *plan;  // NULL before the first call
    size_t free_bytes;
    size_t least_free_bytes;
    size_t allocations;
    size_t frees;
    volatile bool is_busy;
    volatile size_t calls_in_interrupts;
    size_t misuses;
} tau_heap;

// ---- The core, with any kind of plan ----

// Free blocks, by the bytes of the largest object in them.
struct tau_heap_blocks {
    size_t largest_bytes;
    size_t smallest_bytes;
    size_t count;
};

static void tau_heap_note(struct tau_heap_blocks *blocks, size_t size_bytes, size_t count) {
    if (count == 0) {
        return;
    }
    blocks->count += count;
    blocks->largest_bytes =
        size_bytes > blocks->largest_bytes ? size_bytes : blocks->largest_bytes;
    blocks->smallest_bytes =
        size_bytes < blocks->smallest_bytes ? size_bytes : blocks->smallest_bytes;
}

// Notes the free blocks of all pools; returns their bytes. bound: TAU_BUDGET_CLASSES_MAX
static size_t tau_heap_note_pools(struct tau_heap_blocks *blocks) {
    size_t free_bytes = 0;
#if TAU_PLAN_CLASSES_COUNT > 0
    for (size_t index = 0; index < TAU_PLAN_CLASSES_COUNT; index++) {
#ifdef TAU_POOLS_H
        const struct tau_pools_band_statistics pool =
            tau_pools_band_statistics(tau_heap.plan, index);
        const size_t count = pool.limit_count - pool.used_count;
#else
        const struct tau_budget_class_statistics pool =
            tau_budget_class_statistics(tau_heap.plan, index);
        const size_t count = pool.count - pool.used_count;
#endif
        tau_heap_note(blocks, pool.size_bytes, count);
        free_bytes += count * pool.size_bytes;
    }
#else
    (void)blocks;
#endif
    return free_bytes;
}

// The heap of what no pool serves; NULL if the plan has none.
static const struct tau_tlsf *tau_heap_shared(void) {
#ifdef TAU_POOLS_H
    return NULL;
#elif TAU_PLAN_CLASSES_COUNT > 0
    return tau_budget_shared(tau_heap.plan);
#else
    return tau_heap.plan;
#endif
}

static bool tau_heap_note_block(void *blocks, void *payload, size_t size_bytes, bool is_free) {
    (void)payload;
    tau_heap_note(blocks, size_bytes - TLSF_CANARY_BYTES, is_free ? 1 : 0);
    return true;
}

// Bytes that the shared heap has taken, with headers.
static size_t tau_heap_shared_bytes(void) {
    const struct tau_tlsf *const shared = tau_heap_shared();
    return shared == NULL ? 0 : tlsf_fields_of(shared)->used_bytes;
}

// Bytes of the block at OBJECT if it lies in a pool, else 0.
static size_t tau_heap_block_bytes(const void *object) {
#if TAU_PLAN_CLASSES_COUNT > 0
    uintptr_t offset;
#ifdef TAU_POOLS_H
    const struct tau_budget *const pools = &tau_heap.plan->blocks;
#else
    const struct tau_budget *const pools = tau_heap.plan;
#endif
    return budget_is_dedicated(pools, object, &offset)
               ? budget_owner_of(pools, object, offset)->bucket_bytes
               : 0;
#else
    (void)object;
    return 0;
#endif
}

static bool tau_heap_is_ready(void) {
    if (tau_heap.plan == NULL) {
        tau_heap.plan = tau_plan_init(ucHeap);
        if (tau_heap.plan != NULL) {
            struct tau_heap_blocks blocks = {0};
            const struct tau_tlsf *const shared = tau_heap_shared();
            tau_heap.free_bytes = tau_heap_note_pools(&blocks);
            tau_heap.free_bytes += shared == NULL ? 0 : tau_tlsf_statistics(shared).free_bytes;
            tau_heap.least_free_bytes = tau_heap.free_bytes;
        }
    }
    return tau_heap.plan != NULL;
}

// ---- The lock ----

// False in an interrupt, which must not go on.
static bool tau_heap_enter(void) {
    if (TAU_FREERTOS_IN_INTERRUPT()) {
        tau_heap.calls_in_interrupts++;
        configASSERT(pdFALSE);
        return false;
    }
    vTaskSuspendAll();
    tau_heap.is_busy = true;
    return true;
}

static void tau_heap_leave(void) {
    tau_heap.is_busy = false;
    (void)xTaskResumeAll();
}

// ---- The functions of heap_4.c ----

void *pvPortMalloc(size_t size_bytes) {
    if (!tau_heap_enter()) {
        return NULL;
    }
    void *object = NULL;
    size_t taken_bytes = size_bytes;
    if (tau_heap_is_ready()) {
        const size_t before_bytes = tau_heap_shared_bytes();
        object = tau_plan_malloc(tau_heap.plan, size_bytes);
        taken_bytes = object == NULL ? size_bytes
                                     : tau_heap_shared_bytes() - before_bytes +
                                           tau_heap_block_bytes(object);
    }
    if (object != NULL) {
        tau_heap.allocations++;
        tau_heap.free_bytes -= taken_bytes;
        if (tau_heap.free_bytes < tau_heap.least_free_bytes) {
            tau_heap.least_free_bytes = tau_heap.free_bytes;
        }
    }
    traceMALLOC(object, taken_bytes);
    tau_heap_leave();
#if configUSE_MALLOC_FAILED_HOOK == 1
    if (object == NULL) {
        vApplicationMallocFailedHook();
    }
#endif
    return object;
}

void *pvPortCalloc(size_t count, size_t size_bytes) {
    if (size_bytes != 0 && count > SIZE_MAX / size_bytes) {
        return NULL;
    }
    void *const object = pvPortMalloc(count * size_bytes);
    return object == NULL ? NULL : memset(object, 0, count * size_bytes);
}

#if defined(configHEAP_CLEAR_MEMORY_ON_FREE) && configHEAP_CLEAR_MEMORY_ON_FREE == 1
// The object is its caller's until it is freed, so the lock is not held. False in an interrupt.
static bool tau_heap_clear(void *object) {
    if (!tau_heap_enter()) {
        return false;
    }
    const size_t size_bytes =
        tau_heap.plan == NULL ? 0 : tau_plan_usable_size(tau_heap.plan, object);
    tau_heap_leave();
    (void)memset(object, 0, size_bytes);
    return true;
}
#else
#define tau_heap_clear(object) true
#endif

void vPortFree(void *object) {
    if (object == NULL || !tau_heap_clear(object) || !tau_heap_enter()) {
        return;
    }
    enum tau_status status = TAU_FOREIGN_POINTER;
    if (tau_heap.plan != NULL) {
        const size_t before_bytes = tau_heap_shared_bytes() + tau_heap_block_bytes(object);
        status = tau_plan_free(tau_heap.plan, object);
        if (status == TAU_OK) {
            const size_t taken_bytes = before_bytes - tau_heap_shared_bytes();
            tau_heap.frees++;
            tau_heap.free_bytes += taken_bytes;
            traceFREE(object, taken_bytes);
        }
    }
    tau_heap.misuses += status == TAU_OK ? 0 : 1;
    tau_heap_leave();
    configASSERT(status == TAU_OK);
}

size_t xPortGetFreeHeapSize(void) {
    return tau_heap.free_bytes;
}

size_t xPortGetMinimumEverFreeHeapSize(void) {
    return tau_heap.least_free_bytes;
}

void xPortResetHeapMinimumEverFreeHeapSize(void) {
    if (tau_heap_enter()) {
        tau_heap.least_free_bytes = tau_heap.free_bytes;
        tau_heap_leave();
    }
}

void vPortGetHeapStats(HeapStats_t *statistics) {
    struct tau_heap_blocks blocks = {.smallest_bytes = SIZE_MAX};
    *statistics = (HeapStats_t){0};
    if (!tau_heap_enter()) {
        return;
    }
    if (tau_heap.plan != NULL) {
        const struct tau_tlsf *const shared = tau_heap_shared();
        (void)tau_heap_note_pools(&blocks);
        if (shared != NULL) {
            tau_tlsf_walk(shared, tau_heap_note_block, &blocks);
        }
    }
    *statistics = (HeapStats_t){
        .xAvailableHeapSpaceInBytes = tau_heap.free_bytes,
        .xSizeOfLargestFreeBlockInBytes = blocks.largest_bytes,
        .xSizeOfSmallestFreeBlockInBytes = blocks.smallest_bytes,
        .xNumberOfFreeBlocks = blocks.count,
        .xMinimumEverFreeBytesRemaining = tau_heap.least_free_bytes,
        .xNumberOfSuccessfulAllocations = tau_heap.allocations,
        .xNumberOfSuccessfulFrees = tau_heap.frees,
    };
    tau_heap_leave();
}

// heap_4.c has this function for the linker only.
void vPortInitialiseBlocks(void) {
}

// For an application that starts the scheduler again: the next call makes an empty heap.
void vPortHeapResetState(void) {
    memset(&tau_heap, 0, sizeof tau_heap);
}

// ---- Refusals ----

struct tau_heap_tautochrone_refusals tau_heap_tautochrone_refusals(void) {
    return (struct tau_heap_tautochrone_refusals){tau_heap.calls_in_interrupts, tau_heap.misuses};
}
