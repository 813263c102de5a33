// The budgeted heap: dedicated exact-size regions in front of a shared TLSF, behind one interface.
//
// Source: J. Lee and J. Yi, "Budgeted Memory Allocator for Embedded Systems", 2008, sections III
// and IV [P1-1 … P1-8]. Beyond the paper: the class of a size and the owner of an address are found
// in constant time, whatever the number of classes (the paper's loops are proportional to it);
// initialisation costs nothing a bucket; realloc, alignment and misuse are defined. The counts come
// from a plan (tool `tau plan`), as a generated header or as an array at start.
#ifndef TAU_BUDGET_H
#define TAU_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/status.h"
#include "core/tlsf.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tau_budget;  // lives at the start of the memory given to tau_budget_init

// One dedicated region: COUNT buckets for objects whose size, rounded up to TAU_ALIGNMENT, is
// SIZE_BYTES rounded up to TAU_ALIGNMENT.
struct tau_budget_class {
    uint32_t size_bytes;
    uint32_t count;
};

struct tau_budget_class_statistics {
    uint32_t size_bytes;
    uint32_t count;
    uint32_t used_count;
    uint32_t peak_used_count;
};

struct tau_budget_statistics {
    struct tau_tlsf_statistics shared;
    size_t dedicated_bytes;  // all buckets
    size_t control_bytes;    // everything that is neither a bucket nor the shared region (whose own
                             // is in shared)
    size_t classes_count;
};

// Makes a heap of SIZE_BYTES at MEMORY with COUNT classes (0: everything is shared), the rest
// becoming the shared region. On success *HEAP is set. Fails with TAU_PLAN_INVALID (see status.h),
// TAU_PLAN_TOO_LARGE or TAU_BAD_ARGUMENT. Cost: proportional to COUNT and the tables (at most 4
// KiB), not to the buckets.
enum tau_status tau_budget_init(struct tau_budget **heap, void *memory, size_t size_bytes,
                                const struct tau_budget_class *classes, size_t count);

// Bytes that tau_budget_init needs for CLASSES with a shared region of SHARED_BYTES (its control
// block included); 0 if invalid.
size_t tau_budget_size(const struct tau_budget_class *classes, size_t count, size_t shared_bytes);

// The same contracts as tau_tlsf_*, the lock's too; what looks at dedicated and shared regions sees
// them one after the other, not at one moment. An object goes to its dedicated region; if that is
// full or there is none, to the shared one, never to a larger bucket [P1-3]. realloc keeps a bucket
// while the object fits it. In a dedicated region free finds, from check level 1 on, everything
// that is not a used bucket, whatever the buckets hold: a bit a bucket, outside of them, says so.
void *tau_budget_malloc(struct tau_budget *heap, size_t size_bytes);
void *tau_budget_calloc(struct tau_budget *heap, size_t count, size_t size_bytes);
void *tau_budget_aligned_alloc(struct tau_budget *heap, size_t alignment, size_t size_bytes);
void *tau_budget_realloc(struct tau_budget *heap, void *pointer, size_t size_bytes);
enum tau_status tau_budget_free(struct tau_budget *heap, void *pointer);
size_t tau_budget_usable_size(const struct tau_budget *heap, const void *pointer);

struct tau_budget_statistics tau_budget_statistics(const struct tau_budget *heap);
// INDEX as in the plan given to init. Fails (all zero) if and only if INDEX is beyond it.
struct tau_budget_class_statistics tau_budget_class_statistics(const struct tau_budget *heap,
                                                               size_t index);
// The shared region, for walk and check.
const struct tau_tlsf *tau_budget_shared(const struct tau_budget *heap);
bool tau_budget_invariants_hold(const struct tau_budget *heap);

#ifdef __cplusplus
}
#endif

#endif
