// Buckets: the state of a class, taking one, giving one back. Shared by the heaps that have them,
// core/budget.c and core/pools.c.
#ifndef TAU_BUDGET_BUCKET_H
#define TAU_BUDGET_BUCKET_H

#include "core/port.h"
#include "core/private/heap/budget_table.h"

// The word with the in-use bit of bucket INDEX.
TAU_INLINE uint32_t *budget_bits_of(const struct tau_budget *heap, const struct budget_class *class,
                                    tau_word index) {
    return (uint32_t *)(void *)tau_link_follow(heap, class->bits) + (index >> 5);
}

// The index that a free bucket holds. The caller compares, from check level 1 on.
TAU_INLINE tau_word budget_index_in(const tau_word *bucket) {
    return (bucket[1] ^ bucket[0]) - 1;
}

// Whether LINK leads to bucket INDEX of CLASS.
TAU_INLINE bool budget_is_at(const struct budget_class *class, tau_word link, tau_word index) {
    return index < class->count && link == class->start + index * class->bucket_bytes;
}

// Takes a bucket of CLASS. The caller holds the lock. Returns NULL if no bucket is left, or if the
// most recently freed one was overwritten. A free bucket holds its link and, from check level 1 on,
// its index mixed with the link.
TAU_INLINE void *budget_take(struct tau_budget *heap, struct budget_class *class) {
    const tau_word link = class->free;
    tau_word index;
    tau_word *bucket;
    if (link != 0) {
        bucket = tau_link_follow(heap, link);
        index = budget_index_in(bucket);
        if (TAU_CHECK_LEVEL >= 1 && !budget_is_at(class, link, index)) {
            return NULL;
        }
        TAU_ASSERT((uintptr_t)bucket >= (uintptr_t)tau_link_follow(heap, class->start));
        class->free = bucket[0];
    } else {
        index = class->fresh_count;
        if (index == class->count) {
            return NULL;
        }
        bucket = tau_link_follow(heap, class->start + index * class->bucket_bytes);
        class->fresh_count = index + 1;
    }
    if (TAU_CHECK_LEVEL >= 1) {
        *budget_bits_of(heap, class, index) |= (uint32_t)1 << (index & 31u);
    }
    class->used_count++;
    TAU_ASSERT(class->used_count <= class->fresh_count);
    TAU_ASSERT(class->fresh_count <= class->count);
    return bucket;
}

TAU_INLINE void budget_junk(void *payload, int value, size_t size_bytes) {
    if (TAU_JUNK_FILL) {
        TAU_PORT_FILL(payload, value, size_bytes);
    }
}

// Returns what free would return for the bucket at POINTER, without freeing it.
TAU_SHARED enum tau_status budget_check_bucket(const struct tau_budget *heap, const void *pointer,
                                               const struct budget_class *class) {
    const tau_word offset =
        (tau_word)((uintptr_t)pointer - (uintptr_t)tau_link_follow(heap, class->start));
    const tau_word index = offset / class->bucket_bytes;
    TAU_ASSERT(class->bucket_bytes != 0);
    TAU_ASSERT(class->fresh_count <= class->count);
    if (index * class->bucket_bytes != offset) {
        return (offset & (TAU_ALIGNMENT - 1)) != 0 ? TAU_MISALIGNED_POINTER : TAU_FOREIGN_POINTER;
    }
    if (index >= class->fresh_count) {
        return TAU_FOREIGN_POINTER;
    }
    if (TAU_CHECK_LEVEL >= 1 && (*budget_bits_of(heap, class, index) >> (index & 31u) & 1u) == 0) {
        return TAU_DOUBLE_FREE;
    }
    return TAU_OK;
}

// Self test of the dedicated regions. The caller holds the lock or owns the heap alone.
TAU_SHARED bool budget_classes_hold(const struct tau_budget *heap) {
    const struct budget_fields *const fields = budget_fields_of(heap);
    TAU_ASSERT(fields->classes <= TAU_BUDGET_CLASSES_MAX);
    uintptr_t end = (uintptr_t)tau_link_follow(heap, fields->dedicated);
    const uintptr_t dedicated_end = end + fields->dedicated_bytes;
    for (unsigned index = 0; index < fields->classes; index++) {  // bound: TAU_BUDGET_CLASSES_MAX
        const struct budget_class *const class = budget_class_at(heap, index);
        const uintptr_t start = (uintptr_t)tau_link_follow(heap, class->start);
        if (class->used_count > class->fresh_count || class->fresh_count > class->count ||
            class->count == 0 || class->bucket_bytes == 0 || start < end) {
            return false;
        }
        end = start + (uintptr_t) class->bucket_bytes * class->count;
    }
    return end == dedicated_end;
}

#endif
