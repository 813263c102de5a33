#include "linux/runtime/heap.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "linux/runtime/high_water.h"
#include "linux/runtime/magazines.h"
#include "linux/runtime/report.h"
#include "linux/runtime/spill.h"
#include "linux/runtime/unlocked.h"

#define PAGE_BYTES ((size_t)4096)
// From a TLSF's handle to bytes that init did not write: the bitmap, a header, links.
#define BEHIND_HANDLE_BYTES 512u

struct tau_heap tau_heap;
struct tau_heap_site tau_heap_sites[TAU_HEAP_SITES_COUNT_MAX + 1];
struct tau_high_water tau_high_water = {.spill_start = UINTPTR_MAX};
__thread struct tau_high_water_latest tau_high_water_latest;

// Large classes, and up to where their buckets were ever handed out.
static struct {
    size_t bucket_bytes;
    uintptr_t fresh;
} large[TAU_BUDGET_CLASSES_MAX];
static size_t large_count;

static size_t rounded(size_t bytes, size_t unit) {
    return (bytes + unit - 1) & ~(unit - 1);
}

// What the heap has before heap_bytes: nothing, if the plan was measured with the tables that
// this build makes. In-use bits, if it was measured without checks. All tables, if it has no class,
// as it was measured as a plain TLSF. Pools serve the same wherever their blocks lie.
static size_t bytes_in_front(const struct tau_heap_plan *plan) {
    if (plan->heap_bytes == 0 || plan->alignment_bytes != 0) {
        return 0;
    }
    if (plan->classes_count == 0) {
        return tau_budget_size(NULL, 0, 0);
    }
    return plan->check_level >= 1
               ? 0
               : tau_unlocked_budget_bits_bytes(plan->classes, plan->classes_count);
}

static size_t arena_bytes(const struct tau_heap_plan *plan) {
    return plan->alignment_bytes != 0
               ? tau_pools_size(plan->classes, plan->classes_count, plan->alignment_bytes, 0)
               : plan->heap_bytes;
}

// Maps the heaps, with FRONT_BYTES before the planned one, which begins at a multiple of ALIGNMENT.
// *SPILL_BYTES are halved until they fit. Returns the planned heap's start.
static void *map(size_t front_bytes, size_t planned_bytes, size_t *spill_bytes, size_t alignment,
                 bool populate) {
    for (;;) {
        const size_t bytes = front_bytes + planned_bytes + *spill_bytes;
        unsigned char *const start = tau_spill_place(front_bytes, bytes, alignment, populate);
        if (start != MAP_FAILED) {
            return start + front_bytes;
        }
        if (populate || *spill_bytes <= TAU_HEAP_SPILL_MIN_BYTES) {
            return MAP_FAILED;
        }
        *spill_bytes = rounded(*spill_bytes / 2, PAGE_BYTES);
    }
}

static enum tau_status make_kind(const struct tau_heap_plan *plan, void *memory, size_t bytes) {
    if (plan->alignment_bytes == 0) {
        return tau_budget_init(&tau_heap.budget, memory, bytes, plan->classes, plan->classes_count);
    }
    return tau_pools_init(&tau_heap.pools, memory, bytes, plan->classes, plan->classes_count,
                          plan->alignment_bytes);
}

static const char *make_planned(const struct tau_heap_plan *plan, void *memory, size_t bytes) {
    const enum tau_status status = make_kind(plan, memory, bytes);
    if (status != TAU_OK) {
        return status == TAU_PLAN_TOO_LARGE ? "the plan's pools do not fit its heap_bytes"
                                            : "the plan's classes are invalid";
    }
    tau_heap.planned =
        tau_heap.pools != NULL ? (struct tau_budget *)tau_heap.pools : tau_heap.budget;
    tau_heap.planned_start = (uintptr_t)memory;
    tau_heap.planned_bytes = bytes;
    tau_high_water.shared_fresh =
        (uintptr_t)tau_budget_shared(tau_heap.planned) + BEHIND_HANDLE_BYTES;
    for (size_t index = 0; index < plan->classes_count; index++) {
        const size_t bucket_bytes = rounded(plan->classes[index].size_bytes, 16);
        if (tau_heap.budget != NULL && bucket_bytes >= TAU_HIGH_WATER_LARGE_BYTES) {
            large[large_count++].bucket_bytes = bucket_bytes;
        }
    }
    return NULL;
}

const char *tau_heap_make(const struct tau_heap_plan *plan, size_t spill_bytes, bool populate) {
    const size_t front_bytes = bytes_in_front(plan);
    const size_t own_bytes = arena_bytes(plan);
    const size_t planned_bytes = rounded(own_bytes, PAGE_BYTES);
    const size_t spill_max_bytes = rounded(spill_bytes, PAGE_BYTES);
    spill_bytes = populate ? spill_max_bytes : tau_spill_first_bytes(spill_max_bytes);
    unsigned char *const memory = map(rounded(front_bytes, PAGE_BYTES), planned_bytes, &spill_bytes,
                                      plan->arena_alignment, populate);
    if (memory == MAP_FAILED) {
        return "the system gives no memory for the heap";
    }
    const char *const failure =
        plan->heap_bytes != 0 ? make_planned(plan, memory - front_bytes, own_bytes + front_bytes)
                              : NULL;
    if (failure != NULL || spill_bytes == 0) {
        return failure;
    }
    tau_heap.spill = tau_tlsf_init(memory + planned_bytes, spill_bytes, spill_max_bytes);
    if (tau_heap.spill == NULL) {
        return "the spill heap is too small or too large";
    }
    // No object has the first bytes: a header lies before every pointer that is looked up.
    tau_heap.spill_start = (uintptr_t)memory + planned_bytes + TAU_ALIGNMENT;
    tau_heap.spill_bytes = spill_bytes - TAU_ALIGNMENT;
    tau_heap.spill_max_bytes = spill_max_bytes;
    tau_high_water.spill_start = tau_heap.spill_start;
    tau_high_water.spill_fresh = (uintptr_t)tau_heap.spill + BEHIND_HANDLE_BYTES;
    return NULL;
}

void tau_high_water_large_bucket(const void *pointer, size_t size_bytes) {
    const size_t bucket_bytes = rounded(size_bytes, 16);
    tau_high_water_latest.object = (uintptr_t)pointer;
    tau_high_water_latest.before = UINTPTR_MAX;
    for (size_t index = 0; index < large_count; index++) {  // bound: TAU_BUDGET_CLASSES_MAX
        if (large[index].bucket_bytes == bucket_bytes) {
            tau_high_water_latest.before = large[index].fresh;
            if ((uintptr_t)pointer + bucket_bytes > large[index].fresh) {
                large[index].fresh = (uintptr_t)pointer + bucket_bytes;
            }
        }
    }
}

// The entry of a call site; the last one if all others are taken.
static struct tau_heap_site *site_of(uintptr_t address) {
    unsigned index = 0;
    while (index < TAU_HEAP_SITES_COUNT_MAX) {  // bound: TAU_HEAP_SITES_COUNT_MAX
        uintptr_t found = 0;
        if (atomic_compare_exchange_strong(&tau_heap_sites[index].address, &found, address) ||
            found == address) {
            break;
        }
        index++;
    }
    return &tau_heap_sites[index];
}

void *tau_heap_refuse(size_t size_bytes, uintptr_t site, bool is_whole) {
    struct tau_heap_site *const entry = site_of(site);
    atomic_fetch_add(&entry->refusals, 1);
    atomic_store(&entry->refused_bytes, size_bytes);
    __atomic_fetch_add(&tau_heap.refusals, 1, __ATOMIC_RELAXED);
    tau_report_first_refusal(entry, is_whole);
    errno = ENOMEM;
    return NULL;
}

// Whether the spill heap may have room now for an object that it refused. It does not grow while
// another thread returns pages, unless that takes long: that thread may have a lower priority.
static bool has_grown(size_t alignment, size_t size_bytes, uint32_t before) {
    if (size_bytes > tau_heap.spill_max_bytes || alignment > tau_heap.spill_max_bytes) {
        return false;
    }
    return tau_spill_wait(before, true) || tau_spill_grow(alignment, size_bytes) ||
           tau_spill_wait(before, false) || tau_magazines_empty();
}

// From the spill heap, which grows for it; NULL if it cannot.
static void *from_spill(size_t alignment, size_t size_bytes, uintptr_t site) {
    void *pointer = NULL;
    uint32_t before;
    if (tau_heap.spill != NULL) {
        do {  // bound: growths; other threads may take what one has made
            before = tau_spill_changes();
            pointer = tau_tlsf_aligned_alloc(tau_heap.spill, alignment, size_bytes);
        } while (pointer == NULL && has_grown(alignment, size_bytes, before));
    }
    return pointer != NULL ? pointer : tau_heap_refuse(size_bytes, site, true);
}

void *tau_heap_spill(size_t alignment, size_t size_bytes, uintptr_t site) {
    return tau_heap.planned != NULL ? tau_heap_spill_over(alignment, size_bytes, site)
                                    : from_spill(alignment, size_bytes, site);
}

void *tau_heap_spill_over(size_t alignment, size_t size_bytes, uintptr_t site) {
    void *const pointer = from_spill(alignment, size_bytes, site);
    if (pointer != NULL) {
        __atomic_fetch_add(&tau_heap.spilled_objects, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&tau_heap.spilled_bytes, size_bytes, __ATOMIC_RELAXED);
        struct tau_heap_site *const entry = site_of(site);
        atomic_fetch_add(&entry->objects, 1);
        atomic_fetch_add(&entry->bytes, size_bytes);
    }
    return pointer;
}

size_t tau_heap_usable(const void *pointer) {
    return tau_unlocked_usable_bytes(tau_heap.planned, pointer);
}
