// A churn of objects in a heap of core/tlsf.h: they come and go in random order, and each is
// written and read.
#include "core/tlsf.h"
#include "repro/composable/programs/work/work.h"

enum { OBJECTS = 256, SIZE_MAX_BYTES = 160 };
static void *objects[OBJECTS];
static struct tau_tlsf *heap;

void tau_iterations_begin(void) {
    heap = tau_tlsf_init(tau_work_output, sizeof tau_work_output, 0);
}

void tau_iterations_run(void) {
    uint32_t state = TAU_SEED;
    for (uint32_t i = 0; i < TAU_SIZE; i++) {
        const uint32_t chosen = tau_work_random(&state);
        void **object = &objects[chosen % OBJECTS];
        if (*object != 0) {
            tau_work_input[i % TAU_WORK_WORDS] += *(uint32_t *)*object;
            (void)tau_tlsf_free(heap, *object);
            *object = 0;
        } else {
            *object = tau_tlsf_malloc(heap, 4 + (chosen >> 8) % SIZE_MAX_BYTES);
            if (*object != 0) {
                *(uint32_t *)*object = i;
            }
        }
    }
}
