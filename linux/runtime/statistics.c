// What the C library's calls tell of its own heap, told of ours.
#include <errno.h>
#include <malloc.h>
#include <stdio.h>

#include "linux/runtime/calls.h"
#include "linux/runtime/spill.h"

// The heaps' bytes: those in use, and all that were ever taken.
static bool measure(size_t *used_bytes, size_t *taken_bytes) {
    *used_bytes = 0;
    *taken_bytes = 0;
    if (!tau_calls_enter()) {
        return false;
    }
    if (tau_heap.planned != NULL) {
        *taken_bytes = tau_heap.planned_bytes;
        *used_bytes = tau_budget_statistics(tau_heap.planned).shared.used_bytes;
    }
    if (tau_heap.spill != NULL) {
        const struct tau_tlsf_statistics spill = tau_tlsf_statistics(tau_heap.spill);
        *taken_bytes += spill.peak_used_bytes;
        *used_bytes += spill.used_bytes;
    }
    tau_lock_leave();
    return true;
}

TAU_EXPORT struct mallinfo2 mallinfo2(void) {
    struct mallinfo2 info = {0};
    if (measure(&info.uordblks, &info.arena)) {
        info.fordblks = info.arena - info.uordblks;
    }
    return info;
}

static int as_int(size_t value) {
    return value > (size_t)INT32_MAX ? INT32_MAX : (int)value;
}

TAU_EXPORT struct mallinfo mallinfo(void) {
    const struct mallinfo2 info = mallinfo2();
    return (struct mallinfo){
        .arena = as_int(info.arena),
        .uordblks = as_int(info.uordblks),
        .fordblks = as_int(info.fordblks),
    };
}

TAU_EXPORT void malloc_stats(void) {
    const struct mallinfo2 info = mallinfo2();
    (void)fprintf(stderr, "Arena 0:\nsystem bytes     = %10zu\nin use bytes     = %10zu\n",
                  info.arena, info.uordblks);
}

TAU_EXPORT int malloc_info(int options, FILE *stream) {
    const struct mallinfo2 info = mallinfo2();
    if (options != 0) {
        return EINVAL;
    }
    (void)fprintf(stream,
                  "<malloc version=\"1\">\n<heap nr=\"0\">\n"
                  "<total type=\"rest\" count=\"1\" size=\"%zu\"/>\n"
                  "<system type=\"current\" size=\"%zu\"/>\n</heap>\n</malloc>\n",
                  info.fordblks, info.arena);
    return 0;
}

// What lies in the planned heap stays there: it is what the plan promises.
TAU_EXPORT int malloc_trim(size_t pad) {
    (void)pad;
    if (!tau_calls_enter()) {
        return 0;
    }
    const bool is_given = tau_spill_trim();
    tau_lock_leave();
    return is_given;
}

// Accepted, and without effect.
TAU_EXPORT int mallopt(int parameter, int value) {
    (void)parameter;
    (void)value;
    return 1;
}
