// FreeRTOS's heap in the memory of a plan: heap_tautochrone.c takes the place of heap_4.c. The
// functions of the heap are in FreeRTOS's portable.h. How to use it: docs/ports/freertos.md.
#ifndef TAU_HEAP_TAUTOCHRONE_H
#define TAU_HEAP_TAUTOCHRONE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// Calls that were wrong. Each was refused, changed nothing, and made configASSERT fail.
struct tau_heap_tautochrone_refusals {
    size_t in_interrupts;  // pvPortMalloc and vPortFree; of two nested interrupts one may count
    size_t misuses;        // frees of what is not an object, or of a damaged one
};

struct tau_heap_tautochrone_refusals tau_heap_tautochrone_refusals(void);

#ifdef __cplusplus
}
#endif

#endif
