// See check_budget.h. Written from docs/spec/budget.md. It uses the core's structures, and the two
// lookups, which it compares with the walk.
#include "core/tests/checks/check_budget.h"

#include <stdlib.h>

#include "core/private/heap/budget_table.h"
#include "core/tests/checks/check_tlsf.h"

static const unsigned char *bytes_at(const struct tau_budget *heap, tau_word link) {
    return (const unsigned char *)tau_link_follow(heap, link);
}

static size_t class_bytes(const struct budget_class *class) {
    return class->bucket_bytes;
}

// [BUDGET-2]
static bool counts_hold(const struct budget_class *class) {
    return class->used_count <= class->fresh_count && class->fresh_count <= class->count;
}

// [BUDGET-3]: the regions follow each other, from the tables to the shared region.
static bool regions_hold(const struct tau_budget *heap) {
    const struct budget_fields *fields = budget_fields_of(heap);
    const unsigned char *position = bytes_at(heap, fields->dedicated);
    const unsigned char *tables = &heap->owner[fields->order + fields->classes];
    size_t bytes_before = SIZE_MAX;
    if (position < tables || (uintptr_t)position % TAU_ALIGNMENT != 0) {
        return false;
    }
    for (size_t i = 0; i < fields->classes; i++) {
        const struct budget_class *class = budget_class_at(heap, i);
        size_t bytes = class_bytes(class) * class->count;
        if (bytes_at(heap, class->start) != position || bytes == 0 || bytes > bytes_before) {
            return false;
        }
        position += bytes;
        bytes_before = bytes;
    }
    return position == bytes_at(heap, fields->dedicated) + fields->dedicated_bytes &&
           (fields->shared == 0 || bytes_at(heap, fields->shared) >= position);
}

// [BUDGET-1]: follows the list and marks its buckets. *LISTED says for each bucket whether it is
// in the list.
static bool list_holds(const struct tau_budget *heap, const struct budget_class *class,
                       bool *listed) {
    const unsigned char *start = bytes_at(heap, class->start);
    size_t length = 0;
    for (tau_word link = class->free; link != 0; length++) {  // bound: each bucket is met once
        size_t offset = (size_t)(bytes_at(heap, link) - start);
        size_t index = offset / class_bytes(class);
        if (offset % class_bytes(class) != 0 || index >= class->fresh_count || listed[index]) {
            return false;
        }
        listed[index] = true;
        link = *(const tau_word *)(const void *)(start + offset);
    }
    return length == class->fresh_count - class->used_count;
}

// [BUDGET-6]
static bool bits_hold(const struct tau_budget *heap, const struct budget_class *class,
                      const bool *listed) {
    const uint32_t *words = (const uint32_t *)(const void *)bytes_at(heap, class->bits);
    for (size_t i = 0; TAU_CHECK_LEVEL >= 1 && i < class->count; i++) {
        bool is_used = i < class->fresh_count && !listed[i];
        if ((words[i / 32] >> i % 32 & 1u) != is_used) {
            return false;
        }
    }
    return true;
}

// [BUDGET-4]: each size up to a little more than the largest finds its class, if there is one.
static bool sizes_hold(const struct tau_budget *heap) {
    const struct budget_fields *fields = budget_fields_of(heap);
    const size_t slots = (size_t)1 << (32 - fields->hash_shift);
    for (size_t i = 0; i < fields->classes; i++) {
        const struct budget_class *class = budget_class_at(heap, i);
        if (budget_candidate(heap, class->bucket_bytes) != class) {
            return false;
        }
    }
    for (size_t slot = 0; slot < slots; slot++) {
        uint8_t index = heap->owner[fields->sizes + slot];
        if (index >= (fields->classes > 0 ? fields->classes : 1)) {
            return false;
        }
    }
    return fields->classes > 0 || budget_class_at(heap, 0)->bucket_bytes == 0;
}

// [BUDGET-5]: the first and the last unit of every bucket of small regions, and of some of large
// ones, lead to the bucket's class.
static bool owners_hold(const struct tau_budget *heap) {
    const struct budget_fields *fields = budget_fields_of(heap);
    for (size_t i = 0; i < fields->classes; i++) {
        const struct budget_class *class = budget_class_at(heap, i);
        const unsigned char *start = bytes_at(heap, class->start);
        size_t step = class->count > 512 ? class->count / 512 : 1;
        for (size_t bucket = 0; bucket < class->count; bucket += step) {
            size_t last = class->count - 1 - bucket;
            const unsigned char *places[] = {start + bucket * class_bytes(class),
                                             start + last * class_bytes(class)};
            for (size_t k = 0; k < 2; k++) {
                uintptr_t offset = 0;
                if (!budget_is_dedicated(heap, places[k], &offset) ||
                    budget_owner_of(heap, places[k], offset) != class) {
                    return false;
                }
            }
        }
    }
    return true;
}

// [BUDGET-1] and [BUDGET-6] of every class.
static unsigned buckets_broken(const struct tau_budget *heap) {
    unsigned broken = 0;
    for (size_t i = 0; i < budget_fields_of(heap)->classes; i++) {
        const struct budget_class *class = budget_class_at(heap, i);
        bool *listed = calloc((size_t) class->fresh_count + 1, sizeof *listed);
        if (listed == NULL) {
            abort();
        }
        bool is_list = list_holds(heap, class, listed);
        bool are_bits = is_list && bits_hold(heap, class, listed);
        free(listed);
        if (!is_list) {
            return 1;
        }
        broken = are_bits ? broken : 6;
    }
    return broken;
}

unsigned check_budget(const struct tau_budget *heap) {
    const struct budget_fields *fields = budget_fields_of(heap);
    if (!regions_hold(heap)) {
        return 3;
    }
    for (size_t i = 0; i < fields->classes; i++) {
        if (!counts_hold(budget_class_at(heap, i))) {
            return 2;
        }
    }
    unsigned broken = buckets_broken(heap);
    if (broken == 1) {
        return 1;
    }
    if (!sizes_hold(heap)) {
        return 4;
    }
    if (!owners_hold(heap)) {
        return 5;
    }
    if (broken != 0) {
        return broken;
    }
    return fields->shared != 0 && check_tlsf(tau_budget_shared(heap)) != 0 ? 7 : 0;
}
