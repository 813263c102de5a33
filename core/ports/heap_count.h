// The bytes in use of a plan's heap, whatever its kind. For C.
#if !defined(TAU_CORE_PORTS_HEAP_COUNT_H) && !defined(__cplusplus)
#define TAU_CORE_PORTS_HEAP_COUNT_H

#include <stddef.h>

#include "core/pools.h"

#if !TAU_STATISTICS
#error "this port needs statistics: leave out -DTAU_STATISTICS=0, and plan with statistics"
#endif

// Bytes of blocks with their headers. Together they are the heap without its tables.
struct tau_heap_count {
    size_t used_bytes;
    size_t free_bytes;
    size_t untouched_bytes;  // of the free ones, those at the end that no object ever had
};

static inline struct tau_heap_count tau_heap_count_tlsf(struct tau_tlsf_statistics found) {
    return (struct tau_heap_count){found.used_bytes, found.free_bytes, found.untouched_bytes};
}

static inline struct tau_heap_count tau_heap_count_shared(const struct tau_tlsf *shared) {
    return tau_heap_count_tlsf(tau_tlsf_statistics(shared));
}

static inline struct tau_heap_count tau_heap_count_budget(const struct tau_budget *budget) {
    const struct tau_budget_statistics all = tau_budget_statistics(budget);
    struct tau_heap_count count = tau_heap_count_tlsf(all.shared);
    for (size_t i = 0; i < all.classes_count; i++) {  // bound: TAU_BUDGET_CLASSES_MAX
        const struct tau_budget_class_statistics class = tau_budget_class_statistics(budget, i);
        count.used_bytes += (size_t)class.size_bytes * class.used_count;
        count.free_bytes += (size_t)class.size_bytes * (class.count - class.used_count);
    }
    return count;
}

static inline struct tau_heap_count tau_heap_count_pools(const struct tau_pools *pools) {
    const struct tau_pools_statistics all = tau_pools_statistics(pools);
    struct tau_heap_count count = tau_heap_count_tlsf(all.overflow);
    for (size_t i = 0; i < all.bands_count; i++) {  // bound: TAU_BUDGET_CLASSES_MAX
        const struct tau_pools_band_statistics band = tau_pools_band_statistics(pools, i);
        count.used_bytes += (size_t)band.size_bytes * band.used_count;
        count.free_bytes += (size_t)band.size_bytes * (band.limit_count - band.used_count);
    }
    return count;
}

// For a pointer to a TLSF, a budgeted heap or pools. Cost: linear in the classes or bands.
#define TAU_HEAP_COUNT(heap)                                                                       \
    _Generic((heap), struct tau_tlsf *                                                             \
             : tau_heap_count_shared, struct tau_budget *                                          \
             : tau_heap_count_budget, struct tau_pools *                                           \
             : tau_heap_count_pools)(heap)

#endif
