// The second pass of a profile: which instants are kept, and why, is in profile.h.
#include <stdlib.h>
#include <string.h>

#include "tool/native/plan/profile_pass.h"

void tau_profile_reduction_free(struct reduction *reduction) {
    for (size_t i = 0; reduction->changes != NULL && i <= reduction->classes_count; i++) {
        free(reduction->changes[i].items);
    }
    free(reduction->changes);
    free(reduction->sizes_bytes);
    free(reduction->value);
    free(reduction->emitted);
    free(reduction->reference);
    free(reduction->dirty);
    free(reduction->is_dirty);
    free(reduction->dead);
    *reduction = (struct reduction){0};
}

// The weight of an object in dimension D: classes count objects, the last dimension counts bytes.
static uint64_t dimension_step(const struct reduction *reduction, size_t dimension, uint64_t key) {
    return dimension == reduction->classes_count ? key & ~1ull : 1;
}

static void dimension_set(struct reduction *reduction, size_t dimension, uint64_t after) {
    uint64_t before = reduction->value[dimension];
    const uint64_t *reference = &reduction->reference[dimension];
    for (unsigned k = 0; k < REFERENCES; k++, reference += reduction->classes_count + 1) {
        reduction->above[k] += (after > *reference) - (before > *reference);
        reduction->below[k] += (after < *reference) - (before < *reference);
    }
    reduction->value[dimension] = after;
    if (!reduction->is_dirty[dimension]) {
        reduction->is_dirty[dimension] = 1;
        reduction->dirty[reduction->dirty_count++] = (uint32_t)dimension;
    }
}

static bool instant_append(struct reduction *reduction) {
    uint64_t instant = reduction->instants_count;
    if (!tau_profile_grow((void **)&reduction->dead, &reduction->instants_capacity, instant + 1,
                          1)) {
        return false;
    }
    reduction->dead[instant] = 0;
    reduction->instants_count++;
    for (size_t i = 0; i < reduction->dirty_count; i++) {
        uint32_t dimension = reduction->dirty[i];
        struct change_list *list = &reduction->changes[dimension];
        reduction->is_dirty[dimension] = 0;
        if (list->count != 0 && reduction->emitted[dimension] == reduction->value[dimension]) {
            continue;
        }
        if (!tau_profile_grow((void **)&list->items, &list->capacity, list->count + 1,
                              sizeof *list->items)) {
            return false;
        }
        reduction->emitted[dimension] = reduction->value[dimension];
        list->items[list->count++] =
            (struct tau_profile_change){.instant = instant, .count = reduction->value[dimension]};
    }
    reduction->dirty_count = 0;
    return true;
}

// Keeps what is live now, unless a reference is nowhere below it; drops the references that it is
// nowhere below.
static bool instant_offer(struct reduction *reduction) {
    reduction->rising = false;
    unsigned place = REFERENCES;
    for (unsigned k = 0; k < reduction->references_count; k++) {
        if (reduction->above[k] == 0) {
            return true;
        }
        if (reduction->below[k] == 0) {
            reduction->dead[reduction->reference_instant[k]] = 1;
            place = k;
        }
    }
    if (place == REFERENCES) {
        place = reduction->reference_next;
        reduction->reference_next = (place + 1) % REFERENCES;
        if (reduction->references_count < REFERENCES) {
            reduction->references_count++;
        }
    }
    reduction->reference_instant[place] = reduction->instants_count;
    const size_t dimensions = reduction->classes_count + 1;
    memcpy(&reduction->reference[place * dimensions], reduction->value,
           dimensions * sizeof *reduction->value);
    reduction->above[place] = 0;
    reduction->below[place] = 0;
    return instant_append(reduction);
}

static bool reduce_step(struct pass *pass, uint32_t old_id, uint32_t new_id) {
    struct reduction *reduction = &pass->profile->reduction;
    const struct size_entry *entries = pass->profile->entries;
    if (old_id != ID_NONE) {
        const struct size_entry *entry = &entries[old_id];
        if (reduction->rising && !instant_offer(reduction)) {
            return false;
        }
        uint64_t less = dimension_step(reduction, entry->dimension, entry->key);
        dimension_set(reduction, entry->dimension, reduction->value[entry->dimension] - less);
    }
    if (new_id != ID_NONE) {
        const struct size_entry *entry = &entries[new_id];
        uint64_t more = dimension_step(reduction, entry->dimension, entry->key);
        dimension_set(reduction, entry->dimension, reduction->value[entry->dimension] + more);
        reduction->rising = true;
    }
    return true;
}

// Renumbers the instants from FIRST on without the dead ones; a change moves to the next instant
// that is left.
static void instants_compact(struct reduction *reduction, uint64_t *renumbered, size_t first) {
    uint64_t alive = first;
    for (size_t i = first; i < reduction->instants_count; i++) {
        renumbered[i - first] = alive;
        alive += reduction->dead[i] ? 0 : 1;
    }
    for (size_t i = 0; i <= reduction->classes_count; i++) {
        struct change_list *list = &reduction->changes[i];
        size_t kept = 0;
        for (size_t at = 0; at < list->count; at++) {
            struct tau_profile_change change = list->items[at];
            if (change.instant >= first) {
                change.instant = renumbered[change.instant - first];
            }
            if (kept > 0 && list->items[kept - 1].instant == change.instant) {
                kept--;
            }
            list->items[kept++] = change;
        }
        list->count = kept;
    }
    memset(reduction->dead + first, 0, alive - first);
    reduction->instants_count = alive;
}

enum tau_profile_status tau_profile_reduce_begin(struct tau_profile *profile,
                                                 const uint64_t *sizes_bytes, size_t count) {
    struct reduction *reduction = &profile->reduction;
    tau_profile_reduction_free(reduction);
    for (size_t i = 0; i < count; i++) {
        if (count > TAU_PROFILE_CLASSES_MAX || sizes_bytes[i] == 0 ||
            sizes_bytes[i] % profile->granule_bytes != 0 ||
            (i > 0 && sizes_bytes[i] >= sizes_bytes[i - 1])) {
            return TAU_PROFILE_BAD_ARGUMENT;
        }
    }
    reduction->classes_count = count;
    reduction->sizes_bytes = calloc(count + 1, sizeof *reduction->sizes_bytes);
    reduction->value = calloc(count + 1, sizeof *reduction->value);
    reduction->emitted = calloc(count + 1, sizeof *reduction->emitted);
    reduction->reference = calloc((count + 1) * REFERENCES, sizeof *reduction->reference);
    reduction->changes = calloc(count + 1, sizeof *reduction->changes);
    reduction->dirty = calloc(count + 1, sizeof *reduction->dirty);
    reduction->is_dirty = calloc(count + 1, sizeof *reduction->is_dirty);
    if (reduction->sizes_bytes == NULL || reduction->value == NULL || reduction->emitted == NULL ||
        reduction->reference == NULL || reduction->changes == NULL || reduction->dirty == NULL ||
        reduction->is_dirty == NULL) {
        tau_profile_reduction_free(reduction);
        return TAU_PROFILE_NO_MEMORY;
    }
    memcpy(reduction->sizes_bytes, sizes_bytes, count * sizeof *sizes_bytes);
    for (size_t i = 0; i < profile->entries_count; i++) {
        uint32_t dimension = 0;
        while (dimension < count && sizes_bytes[dimension] != profile->entries[i].key) {
            dimension++;
        }
        profile->entries[i].dimension = dimension;
    }
    return TAU_PROFILE_OK;
}

enum tau_profile_status tau_profile_reduce(struct tau_profile *profile,
                                           struct tau_trace_reader *reader,
                                           struct tau_profile_survey *survey) {
    struct reduction *reduction = &profile->reduction;
    struct pass pass = {.profile = profile, .survey = survey, .step = reduce_step};
    size_t first = reduction->instants_count;
    // Traces are kept apart: each starts empty, and its instants are compared with each other only.
    memset(reduction->value, 0, (reduction->classes_count + 1) * sizeof *reduction->value);
    memset(reduction->above, 0, sizeof reduction->above);
    memset(reduction->below, 0, sizeof reduction->below);
    memset(reduction->reference, 0,
           (reduction->classes_count + 1) * REFERENCES * sizeof *reduction->reference);
    reduction->references_count = 0;
    reduction->reference_next = 0;
    reduction->rising = false;
    reduction->dirty_count = 0;
    for (size_t i = 0; i <= reduction->classes_count; i++) {
        reduction->is_dirty[i] =
            1;  // the first instant of a trace names every dimension that differs
        reduction->dirty[reduction->dirty_count++] = (uint32_t)i;
    }
    enum tau_profile_status status = tau_profile_pass_run(&pass, reader);
    if (status == TAU_PROFILE_OK && reduction->rising && !instant_offer(reduction)) {
        status = TAU_PROFILE_NO_MEMORY;
    }
    size_t added = reduction->instants_count - first;
    if (status == TAU_PROFILE_OK && added != 0) {
        uint64_t *renumbered = malloc(added * sizeof *renumbered);
        if (renumbered == NULL) {
            return TAU_PROFILE_NO_MEMORY;
        }
        instants_compact(reduction, renumbered, first);
        free(renumbered);
    }
    return status;
}

size_t tau_profile_instants_count(const struct tau_profile *profile) {
    return profile->reduction.instants_count;
}

size_t tau_profile_classes_count(const struct tau_profile *profile) {
    return profile->reduction.classes_count;
}

uint64_t tau_profile_class_size(const struct tau_profile *profile, size_t class_index) {
    return profile->reduction.sizes_bytes[class_index];
}

size_t tau_profile_changes_count(const struct tau_profile *profile, size_t class_index) {
    return profile->reduction.changes[class_index].count;
}

const struct tau_profile_change *tau_profile_changes(const struct tau_profile *profile,
                                                     size_t class_index) {
    return profile->reduction.changes[class_index].items;
}
