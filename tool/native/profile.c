// The profile of a recording; what it keeps and why is in profile.h.
#include "tool/native/profile.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// How many kept instants a new one is compared with. Measured on recorded programs: 8 drops nearly all that 64 drops.
#define REFERENCES 8u
#define ID_NONE 0xffffffffu   // no object, or an object without bytes
#define SLOT_FREE 0xffffffffu
#define SLOT_EMPTY 0xfffffffeu  // a live object of 0 bytes

// One distinct size; aligned objects have their own, since they can never be a class.
struct size_entry {
    uint64_t key;  // size rounded up, lowest bit set if aligned beyond the granule
    uint64_t allocations, peak_live, live_at_peak;
    uint64_t live;
    uint64_t record, live_at_record;  // what was live when the trace's live bytes last grew to a record
    uint32_t dimension;               // the class in the reduction; classes_count for everything else
};

struct change_list {
    struct tau_profile_change *items;
    size_t count, capacity;
};

// The instants kept so far. A dimension is a class, the last one the bytes of everything else.
struct reduction {
    size_t classes_count;
    uint64_t *sizes_bytes;
    uint64_t *value, *emitted;  // of each dimension: now, and at the last kept instant
    uint64_t *reference;        // REFERENCES values of each dimension
    struct change_list *changes;
    uint32_t *dirty;            // dimensions changed since the last kept instant
    uint8_t *is_dirty;
    size_t dirty_count;
    int64_t above[REFERENCES], below[REFERENCES];  // dimensions in which now is above, below the reference
    uint64_t reference_instant[REFERENCES];
    unsigned references_count, reference_next;
    uint8_t *dead;              // kept instants that a later one dominates
    size_t instants_count, instants_capacity;
    bool rising;  // a count grew since the last instant that was offered
};

struct tau_profile {
    uint64_t granule_bytes;
    struct size_entry *entries;
    size_t entries_count, entries_capacity;
    uint32_t *table;  // hash table of entry index + 1
    size_t table_size;
    uint32_t *slots;
    size_t slots_capacity;
    struct reduction reduction;
};

// A pass hands over each event as: the object of OLD is gone, the object of NEW is there (ID_NONE: there is none).
struct pass {
    struct tau_profile *profile;
    struct tau_profile_survey *survey;
    bool (*step)(struct pass *pass, uint32_t old_id, uint32_t new_id);
    uint64_t live_bytes;
    uint64_t record;  // how often live_bytes was larger than ever before
};

// ---- sizes -----------------------------------------------------------------------------------------------------------

static bool grow(void **items, size_t *capacity, size_t wanted, size_t item_bytes) {
    if (wanted <= *capacity) {
        return true;
    }
    size_t larger = *capacity < 64 ? 64 : *capacity + *capacity / 2;
    larger = larger < wanted ? wanted : larger;
    void *moved = realloc(*items, larger * item_bytes);
    if (moved == NULL) {
        return false;
    }
    *items = moved;
    *capacity = larger;
    return true;
}

static size_t hash_of(uint64_t key) {
    key *= 0x9e3779b97f4a7c15ull;
    return (size_t)(key >> 32);
}

static bool table_rebuild(struct tau_profile *profile, size_t size) {
    uint32_t *table = calloc(size, sizeof *table);
    if (table == NULL) {
        return false;
    }
    for (size_t i = 0; i < profile->entries_count; i++) {
        size_t at = hash_of(profile->entries[i].key) & (size - 1);
        while (table[at] != 0) {
            at = (at + 1) & (size - 1);
        }
        table[at] = (uint32_t)i + 1;
    }
    free(profile->table);
    profile->table = table;
    profile->table_size = size;
    return true;
}

// The entry of KEY, made if it is new; ID_NONE if memory is short.
static uint32_t entry_of(struct tau_profile *profile, uint64_t key) {
    size_t at = hash_of(key) & (profile->table_size - 1);
    while (profile->table[at] != 0) {
        uint32_t id = profile->table[at] - 1;
        if (profile->entries[id].key == key) {
            return id;
        }
        at = (at + 1) & (profile->table_size - 1);
    }
    if (profile->entries_count >= SLOT_EMPTY - 1 ||
        !grow((void **)&profile->entries, &profile->entries_capacity, profile->entries_count + 1,
              sizeof *profile->entries)) {
        return ID_NONE;
    }
    uint32_t id = (uint32_t)profile->entries_count++;
    profile->entries[id] =
        (struct size_entry){.key = key, .dimension = (uint32_t)profile->reduction.classes_count};
    profile->table[at] = id + 1;
    if (profile->entries_count * 2 > profile->table_size &&
        !table_rebuild(profile, profile->table_size * 2)) {
        return ID_NONE;
    }
    return id;
}

// ---- one pass over a trace -------------------------------------------------------------------------------------------

static bool slots_reach(struct tau_profile *profile, uint64_t slot) {
    size_t before = profile->slots_capacity;
    if (!grow((void **)&profile->slots, &profile->slots_capacity, (size_t)slot + 1,
              sizeof *profile->slots)) {
        return false;
    }
    for (size_t i = before; i < profile->slots_capacity; i++) {
        profile->slots[i] = SLOT_FREE;
    }
    return true;
}

// The entry of an object of SIZE_BYTES; SLOT_EMPTY for 0 bytes. False if it is too large or memory is short.
static bool identify(struct pass *pass, uint64_t size_bytes, unsigned align_log2, uint32_t *id) {
    uint64_t granule = pass->profile->granule_bytes;
    if (size_bytes == 0) {
        *id = SLOT_EMPTY;
        return true;
    }
    if (size_bytes > TAU_PROFILE_BYTES_MAX) {
        return false;
    }
    uint64_t key = (size_bytes + granule - 1) & ~(granule - 1);
    key |= align_log2 >= 64 || 1ull << align_log2 > granule ? 1u : 0u;
    *id = entry_of(pass->profile, key);
    return *id != ID_NONE;
}

static enum tau_profile_status event_apply(struct pass *pass, const struct tau_trace_columns *columns,
                                           size_t at) {
    struct tau_profile *profile = pass->profile;
    uint8_t op = columns->op[at];
    uint32_t slot = columns->slot[at];
    if (columns->flags[at] != 0) {
        return TAU_PROFILE_OK;  // names an object that is not there; the totals count it
    }
    if (slot >= pass->survey->events) {
        return TAU_PROFILE_BAD_SLOT;  // slots are dense, so there are never more of them than events
    }
    if (slot >= profile->slots_capacity && !slots_reach(profile, slot)) {
        return TAU_PROFILE_NO_MEMORY;
    }
    uint32_t before = profile->slots[slot];
    uint32_t after = SLOT_FREE;
    bool expects_object = op == TAU_TRACE_FREE || op == TAU_TRACE_REALLOC;
    if (expects_object == (before == SLOT_FREE)) {
        return TAU_PROFILE_BAD_SLOT;
    }
    if (op != TAU_TRACE_FREE &&
        !identify(pass, columns->size_bytes[at], columns->align_log2[at], &after)) {
        return columns->size_bytes[at] > TAU_PROFILE_BYTES_MAX ? TAU_PROFILE_TOO_MANY_BYTES
                                                               : TAU_PROFILE_NO_MEMORY;
    }
    profile->slots[slot] = after;
    uint32_t old_id = before >= SLOT_EMPTY ? ID_NONE : before;
    uint32_t new_id = after >= SLOT_EMPTY ? ID_NONE : after;
    if (new_id != ID_NONE) {
        pass->live_bytes += profile->entries[new_id].key & ~1ull;
    }
    if (old_id != ID_NONE) {
        pass->live_bytes -= profile->entries[old_id].key & ~1ull;
    }
    if (pass->live_bytes > TAU_PROFILE_BYTES_MAX) {
        return TAU_PROFILE_TOO_MANY_BYTES;
    }
    return pass->step(pass, old_id, new_id) ? TAU_PROFILE_OK : TAU_PROFILE_NO_MEMORY;
}

static enum tau_profile_status blocks_apply(struct pass *pass, struct tau_trace_reader *reader,
                                            const struct tau_trace_columns *columns) {
    uint64_t blocks = tau_trace_reader_totals(reader)->blocks;
    uint64_t event = 0;
    for (uint64_t block = 0; block < blocks; block++) {
        size_t count = 0;
        enum tau_trace_status read = tau_trace_reader_block(reader, block, columns, &count);
        if (read != TAU_TRACE_OK) {
            pass->survey->event = event;
            pass->survey->trace_status = (uint64_t)read;
            return TAU_PROFILE_TRACE_FAILED;
        }
        for (size_t at = 0; at < count; at++, event++) {
            enum tau_profile_status status = event_apply(pass, columns, at);
            if (status != TAU_PROFILE_OK) {
                pass->survey->event = event;
                return status;
            }
            if (pass->live_bytes > pass->survey->peak_live_bytes) {
                pass->survey->peak_live_bytes = pass->live_bytes;
                pass->survey->peak_event = event;
            }
        }
    }
    return TAU_PROFILE_OK;
}

static void totals_copy(struct tau_profile_survey *survey, const struct tau_trace_totals *totals) {
    survey->events = totals->events;
    survey->unknown_count = totals->unknown_count;
    survey->unknown_first_event = totals->unknown_first_event;
    survey->double_free_count = totals->double_free_count;
    survey->double_free_first_event = totals->double_free_first_event;
    survey->inherited_count = totals->inherited_count;
}

static enum tau_profile_status pass_run(struct pass *pass, const char *path) {
    struct tau_profile *profile = pass->profile;
    enum tau_trace_status opened = TAU_TRACE_OK;
    *pass->survey = (struct tau_profile_survey){0};
    struct tau_trace_reader *reader = tau_trace_reader_open(path, &opened);
    if (reader == NULL) {
        pass->survey->trace_status = (uint64_t)opened;
        return TAU_PROFILE_TRACE_FAILED;
    }
    totals_copy(pass->survey, tau_trace_reader_totals(reader));
    for (size_t i = 0; i < profile->slots_capacity; i++) {
        profile->slots[i] = SLOT_FREE;
    }
    const size_t row_bytes = sizeof(uint64_t) + sizeof(uint32_t) + 3;
    uint8_t *buffer = malloc(TAU_TRACE_BLOCK_EVENTS_MAX * row_bytes);
    enum tau_profile_status status = TAU_PROFILE_NO_MEMORY;
    if (buffer != NULL) {
        struct tau_trace_columns columns = {.size_bytes = (uint64_t *)(void *)buffer};
        columns.slot = (uint32_t *)(void *)(columns.size_bytes + TAU_TRACE_BLOCK_EVENTS_MAX);
        columns.op = (uint8_t *)(columns.slot + TAU_TRACE_BLOCK_EVENTS_MAX);
        columns.flags = columns.op + TAU_TRACE_BLOCK_EVENTS_MAX;
        columns.align_log2 = columns.flags + TAU_TRACE_BLOCK_EVENTS_MAX;
        status = blocks_apply(pass, reader, &columns);
    }
    free(buffer);
    tau_trace_reader_close(reader);
    return status;
}

// ---- pass 1: the survey ----------------------------------------------------------------------------------------------

// Remembers what was live at the last record before a count changes.
static void entry_touch(struct pass *pass, struct size_entry *entry) {
    if (entry->record != pass->record) {
        entry->record = pass->record;
        entry->live_at_record = entry->live;
    }
}

static bool survey_step(struct pass *pass, uint32_t old_id, uint32_t new_id) {
    struct size_entry *entries = pass->profile->entries;
    if (old_id != ID_NONE) {
        entry_touch(pass, &entries[old_id]);
        entries[old_id].live--;
    }
    if (new_id != ID_NONE) {
        struct size_entry *entry = &entries[new_id];
        entry_touch(pass, entry);
        entry->allocations++;
        entry->live++;
        if (entry->live > entry->peak_live) {
            entry->peak_live = entry->live;
        }
    }
    if (pass->live_bytes > pass->survey->peak_live_bytes) {
        pass->record++;
    }
    return true;
}

enum tau_profile_status tau_profile_survey(struct tau_profile *profile, const char *path,
                                           struct tau_profile_survey *survey) {
    struct pass pass = {.profile = profile, .survey = survey, .step = survey_step};
    for (size_t i = 0; i < profile->entries_count; i++) {
        profile->entries[i].live = 0;
        profile->entries[i].live_at_record = 0;
        profile->entries[i].record = 0;
    }
    enum tau_profile_status status = pass_run(&pass, path);
    for (size_t i = 0; i < profile->entries_count; i++) {
        struct size_entry *entry = &profile->entries[i];
        uint64_t at_peak = entry->record == pass.record ? entry->live_at_record : entry->live;
        if (at_peak > entry->live_at_peak) {
            entry->live_at_peak = at_peak;
        }
    }
    return status;
}

size_t tau_profile_sizes_count(const struct tau_profile *profile) {
    return profile->entries_count;
}

void tau_profile_sizes(const struct tau_profile *profile, struct tau_profile_size *sizes) {
    for (size_t i = 0; i < profile->entries_count; i++) {
        const struct size_entry *entry = &profile->entries[i];
        sizes[i] = (struct tau_profile_size){
            .size_bytes = entry->key & ~1ull,
            .aligned = entry->key & 1u,
            .allocations = entry->allocations,
            .peak_live = entry->peak_live,
            .live_at_peak = entry->live_at_peak,
        };
    }
}

static void reduction_free(struct reduction *reduction) {
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

struct tau_profile *tau_profile_new(uint64_t granule_bytes) {
    if (granule_bytes < 2 || granule_bytes > 4096 || (granule_bytes & (granule_bytes - 1)) != 0) {
        return NULL;
    }
    struct tau_profile *profile = calloc(1, sizeof *profile);
    if (profile == NULL) {
        return NULL;
    }
    profile->granule_bytes = granule_bytes;
    if (!table_rebuild(profile, 1024)) {
        free(profile);
        return NULL;
    }
    return profile;
}

void tau_profile_delete(struct tau_profile *profile) {
    if (profile == NULL) {
        return;
    }
    reduction_free(&profile->reduction);
    free(profile->entries);
    free(profile->table);
    free(profile->slots);
    free(profile);
}

// ---- pass 2: the instants that can bind --------------------------------------------------------------------------------

// What one object of dimension D weighs: classes count objects, the last dimension counts bytes.
static uint64_t dimension_step(const struct reduction *reduction, size_t dimension, uint64_t key) {
    return dimension == reduction->classes_count ? key & ~1ull : 1;
}

static void dimension_set(struct reduction *reduction, size_t dimension, uint64_t after) {
    uint64_t before = reduction->value[dimension];
    const uint64_t *reference = &reduction->reference[dimension * REFERENCES];
    for (unsigned k = 0; k < REFERENCES; k++) {
        reduction->above[k] += (after > reference[k]) - (before > reference[k]);
        reduction->below[k] += (after < reference[k]) - (before < reference[k]);
    }
    reduction->value[dimension] = after;
    if (!reduction->is_dirty[dimension]) {
        reduction->is_dirty[dimension] = 1;
        reduction->dirty[reduction->dirty_count++] = (uint32_t)dimension;
    }
}

static bool instant_append(struct reduction *reduction) {
    uint64_t instant = reduction->instants_count;
    if (!grow((void **)&reduction->dead, &reduction->instants_capacity, instant + 1, 1)) {
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
        if (!grow((void **)&list->items, &list->capacity, list->count + 1, sizeof *list->items)) {
            return false;
        }
        reduction->emitted[dimension] = reduction->value[dimension];
        list->items[list->count++] =
            (struct tau_profile_change){.instant = instant, .count = reduction->value[dimension]};
    }
    reduction->dirty_count = 0;
    return true;
}

// Keeps what is live now, unless a reference is nowhere below it; drops the references that it is nowhere below.
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
    for (size_t i = 0; i <= reduction->classes_count; i++) {
        reduction->reference[i * REFERENCES + place] = reduction->value[i];
    }
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

// Renumbers the instants from FIRST on without the dead ones; a change moves to the next instant that is left.
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
    reduction_free(reduction);
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
        reduction_free(reduction);
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

enum tau_profile_status tau_profile_reduce(struct tau_profile *profile, const char *path,
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
        reduction->is_dirty[i] = 1;  // the first instant of a trace names every dimension that differs
        reduction->dirty[reduction->dirty_count++] = (uint32_t)i;
    }
    enum tau_profile_status status = pass_run(&pass, path);
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
