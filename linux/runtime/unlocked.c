// A second copy of the core's heaps, without locks, for a lone thread: the hooks of the lock would
// cost it a fifth of a call. Both copies work on the same heaps. Code that needs the heaps' insides
// is here, too.
#define TAU_PORT_UNLOCKED
#define TAU_BUILT_NAME(word, check, fill, optimized) tau_unlocked_tlsf_built
#define tau_tlsf_add_pool tau_unlocked_tlsf_add_pool
#define tau_tlsf_aligned_alloc tau_unlocked_tlsf_aligned_alloc
#define tau_tlsf_alignment tau_unlocked_tlsf_alignment
#define tau_tlsf_calloc tau_unlocked_tlsf_calloc
#define tau_tlsf_check_locked tau_unlocked_tlsf_check_locked
#define tau_tlsf_check_pointer tau_unlocked_tlsf_check_pointer
#define tau_tlsf_control_bytes tau_unlocked_tlsf_control_bytes
#define tau_tlsf_free tau_unlocked_tlsf_free
#define tau_tlsf_init tau_unlocked_tlsf_init
#define tau_tlsf_invariants_hold tau_unlocked_tlsf_invariants_hold
#define tau_tlsf_invariants_hold_locked tau_unlocked_tlsf_invariants_hold_locked
#define tau_tlsf_malloc tau_unlocked_tlsf_malloc
#define tau_tlsf_malloc_or tau_unlocked_tlsf_malloc_or
#define tau_tlsf_realloc tau_unlocked_tlsf_realloc
#define tau_tlsf_resize_in_place tau_unlocked_tlsf_resize_in_place
#define tau_tlsf_resize_last tau_unlocked_tlsf_resize_last
#define tau_tlsf_statistics tau_unlocked_tlsf_statistics
#define tau_tlsf_usable_size tau_unlocked_tlsf_usable_size
#define tau_tlsf_walk tau_unlocked_tlsf_walk
#define tau_budget_aligned_alloc tau_unlocked_budget_aligned_alloc
#define tau_budget_calloc tau_unlocked_budget_calloc
#define tau_budget_class_statistics tau_unlocked_budget_class_statistics
#define tau_budget_free tau_unlocked_budget_free
#define tau_budget_init tau_unlocked_budget_init
#define tau_budget_invariants_hold tau_unlocked_budget_invariants_hold
#define tau_budget_malloc tau_unlocked_budget_malloc
#define tau_budget_realloc tau_unlocked_budget_realloc
#define tau_budget_shared tau_unlocked_budget_shared
#define tau_budget_size tau_unlocked_budget_size
#define tau_budget_statistics tau_unlocked_budget_statistics
#define tau_budget_usable_size tau_unlocked_budget_usable_size
#define tau_pools_aligned_alloc tau_unlocked_pools_aligned_alloc
#define tau_pools_band_statistics tau_unlocked_pools_band_statistics
#define tau_pools_calloc tau_unlocked_pools_calloc
#define tau_pools_free tau_unlocked_pools_free
#define tau_pools_init tau_unlocked_pools_init
#define tau_pools_invariants_hold tau_unlocked_pools_invariants_hold
#define tau_pools_malloc tau_unlocked_pools_malloc
#define tau_pools_realloc tau_unlocked_pools_realloc
#define tau_pools_reason tau_unlocked_pools_reason
#define tau_pools_size tau_unlocked_pools_size
#define tau_pools_statistics tau_unlocked_pools_statistics
#define tau_pools_usable_size tau_unlocked_pools_usable_size

#include "core/tlsf.c"

#include "core/budget.c"

#include "core/pools.c"

#include "linux/runtime/unlocked.h"

_Static_assert(TAU_UNLOCKED_FREE == TLSF_FREE, "the flag is the heap's");

void tau_unlocked_tlsf_extend(struct tau_tlsf *heap, size_t size_bytes) {
    struct tlsf_fields *const fields = tlsf_fields_of(heap);
    TAU_ASSERT(fields->pools == 0 && size_bytes % TAU_ALIGNMENT == 0);
    TAU_ASSERT(tlsf_capacity_bytes(heap) + size_bytes <= tlsf_block_max_bytes(heap));
    fields->wilderness_bytes += size_bytes;
    fields->untouched_bytes += size_bytes;
}

size_t tau_unlocked_tlsf_shorten(struct tau_tlsf *heap, size_t unit_bytes, size_t *peak_bytes) {
    struct tlsf_fields *const fields = tlsf_fields_of(heap);
    const tau_word bytes = fields->wilderness_bytes & ~((tau_word)unit_bytes - 1);
    TAU_ASSERT(fields->pools == 0 && unit_bytes % TAU_ALIGNMENT == 0);
    fields->wilderness_bytes -= bytes;
    fields->untouched_bytes =
        fields->untouched_bytes > bytes ? fields->untouched_bytes - bytes : 0;
    tlsf_note_peak(heap);
    *peak_bytes = fields->peak_used_bytes > *peak_bytes ? fields->peak_used_bytes : *peak_bytes;
    fields->peak_used_bytes = fields->used_bytes;
    return bytes;
}

void *tau_unlocked_tlsf_hold(struct tau_tlsf *heap, size_t least_bytes, size_t *size_bytes) {
    const struct tlsf_fields *const fields = tlsf_fields_of(heap);
    if (fields->summary == 0) {
        return NULL;
    }
    const unsigned index = tau_bits_last(fields->summary);
    const unsigned class = index * 32u + tau_bits_last(heap->bitmap[index]);
    tau_word *const payload = tlsf_at(heap, *tlsf_head_of(heap, class));
    TAU_ASSERT(*tlsf_head_of(heap, class) != 0);
    if (tlsf_size_of(payload) < least_bytes + TLSF_BLOCK_MIN_BYTES ||
        !tlsf_is_sound(heap, payload, payload[-1], TLSF_BLOCK_MIN_BYTES) ||
        !tlsf_unlink_checked(heap, payload)) {
        return NULL;
    }
    payload[-1] &= ~TLSF_FREE;
    tlsf_after(payload, tlsf_size_of(payload))[-1] &= ~TLSF_PREVIOUS_FREE;
    *size_bytes = tlsf_usable_bytes(payload);
    return payload;
}

void *tau_unlocked_tlsf_hold_wild(struct tau_tlsf *heap, size_t least_bytes, size_t *size_bytes) {
    const struct tlsf_fields *const fields = tlsf_fields_of(heap);
    const tau_word touched_bytes = fields->wilderness_bytes - fields->untouched_bytes;
    enum tau_status reason = TAU_NO_MEMORY;
    TAU_ASSERT(TAU_STATISTICS && fields->untouched_bytes <= fields->wilderness_bytes);
    if (touched_bytes < least_bytes + TLSF_BLOCK_MIN_BYTES) {
        return NULL;
    }
    tau_word *const payload = tlsf_end(heap);
    if (!tlsf_take_wild(heap, touched_bytes, &reason)) {
        return NULL;
    }
    payload[-1] = touched_bytes;
    *size_bytes = tlsf_usable_bytes(payload);
    return payload;
}

void tau_unlocked_tlsf_unhold(struct tau_tlsf *heap, void *pointer) {
    struct tlsf_fields *const fields = tlsf_fields_of(heap);
    tlsf_note_peak(heap);
    const tau_word peak = fields->peak_used_bytes;
    fields->used_bytes += tlsf_size_of(pointer);
    (void)tau_unlocked_tlsf_free(heap, pointer);
    fields->peak_used_bytes = peak;
    tau_high_water.calls_count--;
}

size_t tau_unlocked_tlsf_used_bytes(const struct tau_tlsf *heap) {
    return __atomic_load_n(&tlsf_fields_of(heap)->used_bytes, __ATOMIC_RELAXED);
}

void *tau_unlocked_tlsf_carve(struct tau_tlsf *heap, size_t block_bytes, size_t count) {
    tau_word *const first =
        tau_unlocked_tlsf_malloc(heap, block_bytes * count - TLSF_WORD_BYTES);
    TAU_ASSERT(block_bytes >= TLSF_BLOCK_MIN_BYTES && block_bytes % TAU_ALIGNMENT == 0);
    if (first == NULL) {
        return NULL;
    }
    tau_word rest = tlsf_size_of(first);
    tau_word *payload = first;
    for (; count > 1; count--) {  // bound: COUNT
        payload[-1] = block_bytes | (payload[-1] & TLSF_FLAGS);
        payload = tlsf_after(payload, block_bytes);
        rest -= block_bytes;
        payload[-1] = rest;
    }
    return first;
}

void tau_unlocked_tlsf_free_row(struct tau_tlsf *heap, void *first, size_t bytes) {
    tau_word *const payload = first;
    payload[-1] = (payload[-1] & TLSF_PREVIOUS_FREE) + bytes;
    (void)tau_unlocked_tlsf_free(heap, payload);
    if (payload[-1] != 0) {  // else the wilderness starts here now
        payload[-1] |= TAU_UNLOCKED_FREE;  // it may have joined the block before it
    }
}

size_t tau_unlocked_pool_max_bytes(void) {
    return TLSF_POOL_MAX_BYTES;
}

size_t tau_unlocked_budget_bits_bytes(const struct tau_budget_class *classes,
                                      size_t classes_count) {
    struct budget_layout layout;
    if (budget_lay_out(&layout, classes, classes_count) != TAU_OK) {
        return 0;
    }
    return layout.dedicated - ((layout.bits + TAU_ALIGNMENT - 1) & ~(size_t)(TAU_ALIGNMENT - 1));
}

// Usable bytes of a block: all but its header, and the last word if it is aligned.
static size_t block_usable(const tau_word *payload) {
    return tlsf_size_of(payload) - TLSF_WORD_BYTES -
           ((payload[-1] & TLSF_ALIGNED) != 0 ? TLSF_WORD_BYTES : 0);
}

size_t tau_unlocked_usable_bytes(const struct tau_budget *planned, const void *pointer) {
    uintptr_t offset;
    return planned != NULL && budget_is_dedicated(planned, pointer, &offset)
               ? budget_owner_of(planned, pointer, offset)->bucket_bytes
               : block_usable(pointer);
}
