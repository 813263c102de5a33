// The budgeted heap: dedicated regions of exact-size buckets in front of a shared TLSF, behind one
// interface.
//
// Source: J. Lee and J. Yi, "Budgeted Memory Allocator for Embedded Systems", 2008, sections III
// and IV [P1-1 … P1-8]. Beyond the paper:
// - The class of a size and the owner of an address are found in constant time, whatever the number
//   of classes. The paper's loops are linear in it.
// - The cost of initialization does not depend on the number of buckets.
// - realloc, alignment and misuse are defined.
//
// The counts come from a plan (tool `tau plan`), as a generated header or as an array at start.
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

// Most size classes of a budgeted heap.
#define TAU_BUDGET_CLASSES_MAX 64u

// One dedicated region of COUNT buckets. A bucket holds an object whose size, rounded up to
// TAU_ALIGNMENT, equals SIZE_BYTES rounded up to TAU_ALIGNMENT.
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

// Makes a heap of SIZE_BYTES at MEMORY with COUNT classes and sets *HEAP. A COUNT of 0 makes
// everything shared. The rest of the memory becomes the shared region.
// Fails if and only if:
// - HEAP or MEMORY is NULL, or the end of MEMORY wraps around (TAU_BAD_ARGUMENT)
// - the plan is invalid (TAU_PLAN_INVALID, see status.h)
// - the plan's regions do not fit, or have 2^27 * TAU_ALIGNMENT bytes (TAU_PLAN_TOO_LARGE)
// Cost: linear in COUNT and in the tables (at most 4 KiB). It does not depend on the number of
// buckets. Stack on 32-bit targets: at most 850 bytes. Ports make the heap in the first malloc.
enum tau_status tau_budget_init(struct tau_budget **heap, void *memory, size_t size_bytes,
                                const struct tau_budget_class *classes, size_t count);

// Bytes that tau_budget_init needs for CLASSES with a shared region of SHARED_BYTES, which include
// its control block. 0 if the plan is invalid, or if no address space has so many.
size_t tau_budget_size(const struct tau_budget_class *classes, size_t count, size_t shared_bytes);

// Contracts and locking are as for tau_tlsf_*. Differences:
// - An object goes to its dedicated region. If that is full or there is none, it goes to the shared
//   region, never to a larger bucket [P1-3].
// - realloc keeps a bucket while the object fits it.
// - From check level 1 on, free detects every pointer into a dedicated region that is not a used
//   bucket, whatever the buckets hold. It reads one in-use bit per bucket, kept outside the
//   buckets.
// - A call that reads both the dedicated and the shared regions reads them one after the other, not
//   at one moment.
void *tau_budget_malloc(struct tau_budget *heap, size_t size_bytes);
void *tau_budget_calloc(struct tau_budget *heap, size_t count, size_t size_bytes);
void *tau_budget_aligned_alloc(struct tau_budget *heap, size_t alignment, size_t size_bytes);
void *tau_budget_realloc(struct tau_budget *heap, void *pointer, size_t size_bytes);
enum tau_status tau_budget_free(struct tau_budget *heap, void *pointer);
size_t tau_budget_usable_size(const struct tau_budget *heap, const void *pointer);

#if TAU_STATISTICS
struct tau_budget_statistics {
    struct tau_tlsf_statistics shared;
    size_t dedicated_bytes;  // all buckets
    size_t control_bytes;    // tables; without the shared region's own control block
    size_t classes_count;
};
struct tau_budget_statistics tau_budget_statistics(const struct tau_budget *heap);
#endif
// INDEX is the place in the plan given to init. Returns all zeros if and only if INDEX is outside
// the plan.
struct tau_budget_class_statistics tau_budget_class_statistics(const struct tau_budget *heap,
                                                               size_t index);
// The shared region, for walk and check.
const struct tau_tlsf *tau_budget_shared(const struct tau_budget *heap);
bool tau_budget_invariants_hold(const struct tau_budget *heap);

#ifdef __cplusplus
}
#endif

#endif
