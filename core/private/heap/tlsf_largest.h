// The largest object that a TLSF can hold now. One step per block.
#ifndef TAU_TLSF_LARGEST_H
#define TAU_TLSF_LARGEST_H

#include "core/private/check.h"
#include "core/private/inline.h"
#include "core/tlsf.h"

// A used block has its canary where a free one has room.
#define TLSF_LARGEST_CANARY_BYTES (TAU_CHECK_LEVEL >= 2 ? sizeof(tau_word) : 0u)

static bool tlsf_keep_larger_object(void *context, void *payload, size_t size_bytes, bool is_free) {
    size_t *const largest = context;
    TAU_ASSERT(payload != NULL);
    TAU_ASSERT(size_bytes > TLSF_LARGEST_CANARY_BYTES);
    (void)payload;
    if (is_free && size_bytes - TLSF_LARGEST_CANARY_BYTES > *largest) {
        *largest = size_bytes - TLSF_LARGEST_CANARY_BYTES;
    }
    return true;
}

static inline size_t tlsf_largest_object(const struct tau_tlsf *blocks) {
    size_t largest = 0;
    TAU_ASSERT(blocks != NULL);
    tau_tlsf_walk(blocks, tlsf_keep_larger_object, &largest);
    TAU_ASSERT(largest < SIZE_MAX);
    return largest;
}

#endif
