// The heaps of this process: the planned one, which has exactly the plan's memory, and the spill
// heap behind it, which grows. Without a plan everything is in the spill heap. The planned heap is
// a budgeted heap, or pools if the plan has bands. Both have the same blocks, so free does not ask
// which it is.
#ifndef TAU_LINUX_RUNTIME_HEAP_H
#define TAU_LINUX_RUNTIME_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/budget.h"
#include "core/config.h"
#include "core/pools.h"
#include "core/tlsf.h"

// Control structures of the spill heap and a little to give.
#define TAU_HEAP_SPILL_MIN_BYTES ((size_t)1 << 20)

struct tau_heap {
    struct tau_budget *planned;  // what both kinds have; NULL without a plan
    struct tau_budget *budget;   // the same heap, unless it is pools
    struct tau_pools *pools;     // the same heap, if it is pools
    uintptr_t planned_start;
    size_t planned_bytes;
    struct tau_tlsf *spill;  // NULL with --strict
    uintptr_t spill_start;
    size_t spill_bytes;
    size_t spill_max_bytes;
    size_t spill_peak_bytes;  // before the heap was last shortened; see tau_heap_spill_peak
    uint64_t spilled_objects;
    uint64_t spilled_bytes;
    uint64_t refusals;
};

extern struct tau_heap tau_heap;

// The plan, as settings.c reads it. No class: all of it is shared.
struct tau_heap_plan {
    size_t heap_bytes;       // 0: no plan
    size_t check_level;      // in the build in which heap_bytes was measured
    size_t alignment_bytes;  // for pools for bands; 0: a budgeted heap
    size_t arena_alignment;  // the heap starts at a multiple, as the replay's arena does
    size_t classes_count;
    struct tau_budget_class classes[TAU_BUDGET_CLASSES_MAX];
};

// A place in the program that asked for objects which were spilled or refused.
struct tau_heap_site {
    _Atomic uintptr_t address;  // 0: unused
    _Atomic uint64_t objects;   // spilled, and their bytes
    _Atomic uint64_t bytes;
    _Atomic uint64_t refusals;
    _Atomic uint64_t refused_bytes;  // of the latest refused request
};

#define TAU_HEAP_SITES_COUNT_MAX 64u

// The last entry counts the objects of all sites beyond the first ones.
extern struct tau_heap_site tau_heap_sites[TAU_HEAP_SITES_COUNT_MAX + 1];

// Makes both heaps in one mapping. Every object lies where the replay of the plan puts it, counted
// from an arena that starts at a multiple of 2 MiB: its shared region is as long, and lies at the
// same distance after such an address. Pools take the bytes that this build needs. The spill heap
// grows up to SPILL_BYTES; there is none if that is 0. POPULATE: every page of both is there at
// once. Returns NULL, or the cause.
const char *tau_heap_make(const struct tau_heap_plan *plan, size_t spill_bytes, bool populate);

// Serves a request that the planned heap refused: an object of the spill heap, or NULL with errno
// ENOMEM. SITE is where the program called.
void *tau_heap_spill(size_t alignment, size_t size_bytes, uintptr_t site);
// The same for a request that a task's heap refused.
void *tau_heap_spill_over(size_t alignment, size_t size_bytes, uintptr_t site);

// Counts a refusal of a request at SITE; returns NULL with errno ENOMEM. IS_WHOLE: this thread is
// not in the middle of a change of the heap, so what is free can be told.
void *tau_heap_refuse(size_t size_bytes, uintptr_t site, bool is_whole);

// Bytes of the object at POINTER, which is alive and in one of the heaps. Takes no lock: nobody
// else changes them.
size_t tau_heap_usable(const void *pointer);

static inline bool tau_heap_is_planned(const void *pointer) {
    return (uintptr_t)pointer - tau_heap.planned_start < tau_heap.planned_bytes;
}

// The most bytes that objects of the spill heap had at once, PEAK_BYTES by its own statistics.
static inline size_t tau_heap_spill_peak(size_t peak_bytes) {
    return peak_bytes > tau_heap.spill_peak_bytes ? peak_bytes : tau_heap.spill_peak_bytes;
}

static inline bool tau_heap_is_spilled(const void *pointer) {
    return (uintptr_t)pointer - tau_heap.spill_start < tau_heap.spill_bytes;
}

#endif
