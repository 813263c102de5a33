// The budgeted heap. Rules: docs/spec/budget.md. Reasons: docs/design/budget.md. Both lookups take
// constant time:
//
// 1. size -> class: one multiplication and one shift find the only class that can have this size.
//    The multiplier makes a perfect hash; init finds it.
// 2. address -> class: the regions are sorted, the largest first. Seen from the area's end, a
//    region is at least 1/63 as large as all regions after it together. A table divides the
//    distance to the end into steps that grow with the distance. One step then contains at most one
//    border of two regions, and one comparison decides.
//
//   | classes n-1 … 0 | fields | owner table | size table | order | bits | regions | shared |
//                              ^ handle
#include "core/budget.h"

#include "core/port.h"
#include "core/private/heap/budget_bucket.h"
#include "core/private/heap/budget_hash.h"
#include "core/private/heap/tlsf_inside.h"
#include "core/private/heap/tlsf_realloc.h"

// ---- Buckets -----------------------------------------------------------------------------------

// Marks BUCKET free if it is a used bucket of CLASS. Otherwise returns the kind of misuse.
TAU_INLINE enum tau_status budget_mark_free(const struct tau_budget *heap,
                                            struct budget_class *class, tau_word *bucket) {
    const tau_word offset =
        (tau_word)((uintptr_t)bucket - (uintptr_t)tau_link_follow(heap, class->start));
    const tau_word index = offset / class->bucket_bytes;
    TAU_ASSERT(class->bucket_bytes != 0);
    const uint32_t mask = (uint32_t)1 << (index & 31u);
    if (index * class->bucket_bytes != offset) {
        return (offset & (TAU_ALIGNMENT - 1)) != 0 ? TAU_MISALIGNED_POINTER : TAU_FOREIGN_POINTER;
    }
    uint32_t *const word = budget_bits_of(heap, class, index);
    const uint32_t flipped = *word ^ mask;
    if (flipped > *word) {  // the bit was 0
        return index < class->fresh_count ? TAU_DOUBLE_FREE : TAU_FOREIGN_POINTER;
    }
    TAU_ASSERT((uintptr_t)bucket >= (uintptr_t)tau_link_follow(heap, class->start));
    *word = flipped;
    budget_junk(bucket, 0x55, class->bucket_bytes);
    bucket[1] = (index + 1) ^ class->free;
    return TAU_OK;
}

static void *budget_refuse(struct tau_budget *heap, size_t size_bytes) {
    TAU_ASSERT(heap != NULL);
    if (size_bytes != 0) {
        TAU_PORT_LOCK(heap);
        budget_fields_of(heap)->refused_count++;
        TAU_PORT_UNLOCK(heap);
        TAU_PORT_OUT_OF_MEMORY(heap, size_bytes);
    }
    return NULL;
}

// ---- Public operations -------------------------------------------------------------------------

// Takes a bucket for SIZE_BYTES. Returns NULL if there is none, or if the next one was overwritten,
// which is reported.
TAU_INLINE void *budget_bucket_of_size(struct tau_budget *heap, size_t size_bytes) {
    const size_t bucket_bytes = budget_bucket_for(size_bytes);
    struct budget_class *const class = budget_candidate(heap, bucket_bytes);
    TAU_ASSERT(class->count != 0 || class->bucket_bytes == 0);
    TAU_ASSERT(bucket_bytes % TAU_ALIGNMENT == 0);
    if (class->bucket_bytes != bucket_bytes) {
        return NULL;
    }
    TAU_PORT_LOCK(heap);
    TAU_INVARIANT(budget_classes_hold(heap));
    void *const bucket = budget_take(heap, class);
    if (bucket != NULL) {
        TAU_PORT_TRACE(heap, NULL, bucket, size_bytes, TAU_ALIGNMENT);
        TAU_PORT_UNLOCK(heap);
        budget_junk(bucket, 0xaa, size_bytes);
        return bucket;
    }
    const bool is_overwritten = TAU_CHECK_LEVEL >= 1 && class->free != 0;
    TAU_PORT_UNLOCK(heap);
    if (is_overwritten) {
        TAU_PORT_MISUSE(heap, NULL, TAU_OVERWRITTEN);
    }
    return NULL;
}

void *tau_budget_malloc(struct tau_budget *heap, size_t size_bytes) {
    void *const bucket = budget_bucket_of_size(heap, size_bytes);
    if (bucket != NULL) {
        return bucket;
    }
    struct tau_tlsf *const shared = budget_shared_of(heap);
    return shared != NULL ? tau_tlsf_malloc(shared, size_bytes) : budget_refuse(heap, size_bytes);
}

void *tau_budget_calloc(struct tau_budget *heap, size_t count, size_t size_bytes) {
    size_t total_bytes;
    if (__builtin_mul_overflow(count, size_bytes, &total_bytes)) {
        total_bytes = SIZE_MAX;  // larger than any pool, so it is refused and reported
    }
    TAU_ASSERT(total_bytes >= count || size_bytes == 0);
    void *const payload = tau_budget_malloc(heap, total_bytes);
    if (payload != NULL) {
        TAU_PORT_FILL(payload, 0, total_bytes);
    }
    return payload;
}

void *tau_budget_aligned_alloc(struct tau_budget *heap, size_t alignment, size_t size_bytes) {
    if (!tau_bits_is_power_of_two(alignment)) {
        return NULL;
    }
    if (alignment <= TAU_ALIGNMENT) {
        return tau_budget_malloc(heap, size_bytes);
    }
    struct tau_tlsf *const shared = budget_shared_of(heap);
    return shared != NULL ? tau_tlsf_aligned_alloc(shared, alignment, size_bytes)
                          : budget_refuse(heap, size_bytes);
}

static enum tau_status budget_misused(struct tau_budget *heap, const void *pointer,
                                      enum tau_status reason) {
    TAU_ASSERT(pointer != NULL);
    TAU_ASSERT(reason != TAU_OK);
    TAU_PORT_MISUSE(heap, pointer, reason);
    return reason;
}

enum tau_status tau_budget_free(struct tau_budget *heap, void *pointer) {
    uintptr_t offset;
    tau_word *const bucket = pointer;
    if (!budget_is_dedicated(heap, pointer, &offset)) {
        struct tau_tlsf *const shared = budget_shared_of(heap);
        if (shared != NULL) {
            return tau_tlsf_free(shared, pointer);
        }
        return pointer == NULL ? TAU_OK : budget_misused(heap, pointer, TAU_FOREIGN_POINTER);
    }
    struct budget_class *const class = budget_owner_of(heap, pointer, offset);
    TAU_PORT_LOCK(heap);
    TAU_INVARIANT(budget_classes_hold(heap));
#if TAU_CHECK_LEVEL >= 1
    const enum tau_status status = budget_mark_free(heap, class, bucket);
    if (status != TAU_OK) {
        TAU_PORT_UNLOCK(heap);
        return budget_misused(heap, pointer, status);
    }
#else
    budget_junk(bucket, 0x55, class->bucket_bytes);
#endif
    TAU_ASSERT(class->used_count > 0);
    TAU_PORT_TRACE(heap, pointer, NULL, 0, 0);
    bucket[0] = class->free;
    class->free = tau_link_to(heap, bucket);
    class->used_count--;
    TAU_PORT_UNLOCK(heap);
    return TAU_OK;
}

// Moves an object to a place that malloc returned for its new size.
static void *budget_move(struct tau_budget *heap, void *pointer, size_t old_bytes,
                         size_t size_bytes) {
    TAU_ASSERT(pointer != NULL);
    TAU_ASSERT(size_bytes != 0);
    void *const result = tau_budget_malloc(heap, size_bytes);
    TAU_ASSERT(result != pointer);
    if (result != NULL) {
        TAU_PORT_MOVE(result, pointer, old_bytes < size_bytes ? old_bytes : size_bytes);
        (void)tau_budget_free(heap, pointer);
    }
    return result;
}

// A place for SIZE_BYTES. A bucket may still have room for what the shared region cannot hold.
TAU_INLINE void *budget_place_of_shared(struct tau_budget *heap, struct tau_tlsf *shared,
                                        size_t size_bytes) {
    enum tau_status reason;
    void *const place = tau_tlsf_malloc_or(shared, size_bytes, &reason);
    if (place != NULL || reason != TAU_NO_MEMORY) {
        return place;
    }
    void *const bucket = budget_bucket_of_size(heap, size_bytes);
    return bucket != NULL ? bucket : tlsf_refuse(shared, size_bytes, TAU_NO_MEMORY);
}

// Not inlined: an object that stays in its bucket saves fewer registers.
static __attribute__((noinline)) void *budget_realloc_shared(struct tau_budget *heap,
                                                             struct tau_tlsf *shared,
                                                             tau_word *payload, size_t size_bytes) {
    struct tlsf_resize resize;
    if (!tlsf_begin_resize(shared, payload, size_bytes, &resize)) {
        return NULL;
    }
    if (tlsf_fits_in_place(shared, payload, &resize)) {
        return tlsf_resize_in_place(shared, payload, size_bytes, &resize);
    }
    TAU_PORT_UNLOCK(shared);
    void *const place = resize.alignment > TAU_ALIGNMENT
                            ? tau_tlsf_aligned_alloc(shared, resize.alignment, size_bytes)
                            : budget_place_of_shared(heap, shared, size_bytes);
    return place != NULL ? tlsf_move(shared, payload, place, resize.old_bytes, size_bytes) : NULL;
}

void *tau_budget_realloc(struct tau_budget *heap, void *pointer, size_t size_bytes) {
    uintptr_t offset;
    if (pointer == NULL) {
        return tau_budget_malloc(heap, size_bytes);
    }
    if (size_bytes == 0) {
        (void)tau_budget_free(heap, pointer);
        return NULL;
    }
    if (!budget_is_dedicated(heap, pointer, &offset)) {
        struct tau_tlsf *const shared = budget_shared_of(heap);
        if (shared == NULL) {
            (void)budget_misused(heap, pointer, TAU_FOREIGN_POINTER);
            return NULL;
        }
        return budget_realloc_shared(heap, shared, pointer, size_bytes);
    }
    const struct budget_class *const class = budget_owner_of(heap, pointer, offset);
    const bool is_kept = size_bytes <= class->bucket_bytes;
    TAU_PORT_LOCK(heap);
    const enum tau_status status = budget_check_bucket(heap, pointer, class);
    TAU_ASSERT(status != TAU_OK || class->used_count > 0);
    if (status == TAU_OK && is_kept) {
        TAU_PORT_TRACE(heap, pointer, pointer, size_bytes, TAU_ALIGNMENT);
    }
    TAU_PORT_UNLOCK(heap);
    if (status != TAU_OK) {
        (void)budget_misused(heap, pointer, status);
        return NULL;
    }
    return is_kept ? pointer : budget_move(heap, pointer, class->bucket_bytes, size_bytes);
}

// ---- Looking at a heap -------------------------------------------------------------------------

size_t tau_budget_usable_size(const struct tau_budget *heap, const void *pointer) {
    uintptr_t offset;
    if (!budget_is_dedicated(heap, pointer, &offset)) {
        const struct tau_tlsf *const shared = budget_shared_of(heap);
        return shared != NULL ? tau_tlsf_usable_size(shared, pointer) : 0;
    }
    const struct budget_class *const class = budget_owner_of(heap, pointer, offset);
    TAU_PORT_LOCK(budget_lock_of(heap));
    const enum tau_status status = budget_check_bucket(heap, pointer, class);
    TAU_PORT_UNLOCK(budget_lock_of(heap));
    TAU_ASSERT(class->bucket_bytes != 0);
    return status == TAU_OK ? class->bucket_bytes : 0;
}

const struct tau_tlsf *tau_budget_shared(const struct tau_budget *heap) {
    return budget_shared_of(heap);
}

#if TAU_STATISTICS
struct tau_budget_statistics tau_budget_statistics(const struct tau_budget *heap) {
    const struct budget_fields *const fields = budget_fields_of(heap);
    const uintptr_t lowest =
        (uintptr_t)budget_class_at(heap, fields->classes == 0 ? 0 : fields->classes - 1u);
    struct tau_budget_statistics statistics = {
        .dedicated_bytes = fields->dedicated_bytes,
        .control_bytes = (uintptr_t)tau_link_follow(heap, fields->dedicated) - lowest,
        .classes_count = fields->classes,
    };
    if (fields->shared != 0) {
        statistics.shared = tau_tlsf_statistics(budget_shared_of(heap));
    }
    TAU_PORT_LOCK(budget_lock_of(heap));
    statistics.shared.out_of_memory_count += fields->refused_count;
    TAU_PORT_UNLOCK(budget_lock_of(heap));
    return statistics;
}
#endif

struct tau_budget_class_statistics tau_budget_class_statistics(const struct tau_budget *heap,
                                                               size_t index) {
    if (index >= budget_fields_of(heap)->classes) {
        return (struct tau_budget_class_statistics){0};
    }
    const struct budget_class *const class =
        budget_class_at(heap, heap->owner[budget_fields_of(heap)->order + index]);
    TAU_ASSERT(class->bucket_bytes != 0);
    TAU_PORT_LOCK(budget_lock_of(heap));
    TAU_ASSERT(class->used_count <= class->fresh_count);
    const struct tau_budget_class_statistics statistics = {
        .size_bytes = (uint32_t) class->bucket_bytes,
        .count = (uint32_t) class->count,
        .used_count = (uint32_t) class->used_count,
        .peak_used_count = (uint32_t) class->fresh_count,
    };
    TAU_PORT_UNLOCK(budget_lock_of(heap));
    return statistics;
}

bool tau_budget_invariants_hold(const struct tau_budget *heap) {
    TAU_ASSERT(heap != NULL);
    TAU_ASSERT(((uintptr_t)heap & (sizeof(tau_word) - 1)) == 0);
    TAU_PORT_LOCK(budget_lock_of(heap));
    bool is_sound = budget_classes_hold(heap);
    for (size_t index = 0; index < budget_fields_of(heap)->classes; index++) {
        const struct budget_class *const class = budget_class_at(heap, index);
        is_sound = is_sound && budget_candidate(heap, class->bucket_bytes) == class;
    }
    TAU_PORT_UNLOCK(budget_lock_of(heap));
    return is_sound && (budget_fields_of(heap)->shared == 0 ||
                        tau_tlsf_invariants_hold(budget_shared_of(heap)));
}

// ---- Making a heap -----------------------------------------------------------------------------

enum tau_status tau_budget_init(struct tau_budget **heap, void *memory, size_t size_bytes,
                                const struct tau_budget_class *classes, size_t count) {
    struct budget_layout layout;
    // A TLSF that was built with other options does not link: it has no constant of this name.
    TAU_ASSERT(TAU_TLSF_BUILT == TAU_CHECK_LEVEL);
    if (heap == NULL || TAU_TLSF_BUILT != TAU_CHECK_LEVEL) {
        return TAU_BAD_ARGUMENT;
    }
    enum tau_status status = budget_lay_out(&layout, classes, count);
    if (status == TAU_OK) {
        status = budget_make(heap, memory, size_bytes, &layout);
    }
    if (status != TAU_OK) {
        return status;
    }
    struct budget_fields *const fields = budget_fields_of(*heap);
    fields->multiplier = layout.multiplier;
    fields->hash_shift = (uint8_t)(32 - layout.hash_log2);
    for (size_t index = 0; index < count; index++) {  // bound: TAU_BUDGET_CLASSES_MAX
        const uint32_t slot = budget_hash_of(budget_class_at(*heap, index)->bucket_bytes,
                                             fields->multiplier, fields->hash_shift);
        (*heap)->owner[fields->sizes + slot] = (uint8_t)index;
    }
    TAU_ASSERT(budget_classes_hold(*heap));
    return TAU_OK;
}

size_t tau_budget_size(const struct tau_budget_class *classes, size_t count, size_t shared_bytes) {
    struct budget_layout layout;
    if (budget_lay_out(&layout, classes, count) != TAU_OK) {
        return 0;
    }
    size_t total_bytes;
    return __builtin_add_overflow(budget_fixed_bytes(&layout), shared_bytes, &total_bytes)
               ? 0
               : total_bytes;
}
