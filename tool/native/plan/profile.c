// A profile: its sizes, the pass over a recording, the survey and the reduction. See profile.h.
#include "tool/native/plan/profile.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// The number of kept instants that a new one is compared with. On recorded programs, 8 drops nearly
// as many as 64.
#define REFERENCES 8u
#define ID_NONE UINT32_MAX  // no object
#define TABLE_SIZE_MIN 1024u
#define BUCKET_MIN_BYTES 8u  // two words of 32 bits

// One distinct size; aligned objects have their own, since they can never be a class.
struct size_entry {
    uint64_t key;  // size rounded up, lowest bit set if aligned beyond the granule
    uint64_t allocations, grown, peak_live, live_at_peak;
    uint64_t live_at_prefix_peak[TAU_PROFILE_PREFIXES];
    uint64_t live;
    uint64_t record, live_at_record;  // live when the recording's live bytes last grew to a record
    uint32_t dimension;  // the class in the reduction; classes_count for everything else
};

struct change_list {
    struct tau_profile_change *items;
    size_t count, capacity;
};

// The instants kept so far. A dimension is a class, the last one the bytes of everything else.
struct reduction {
    size_t classes_count;
    uint64_t *sizes_bytes;
    uint64_t *value, *emitted;  // per dimension: now, and at the last kept instant
    uint64_t *reference;        // per dimension, one reference after the other
    struct change_list *changes;
    uint32_t *dirty;  // dimensions changed since the last kept instant
    uint8_t *is_dirty;
    size_t dirty_count;
    // Dimensions in which now is above, below the reference.
    int64_t above[REFERENCES], below[REFERENCES];
    uint64_t reference_instant[REFERENCES];
    unsigned references_count, reference_next;
    uint8_t *dead;  // kept instants that a later one dominates
    size_t instants_count, instants_capacity;
    bool rising;  // a count grew since the last instant that was offered
};

struct tau_profile {
    uint64_t granule_bytes;
    struct size_entry *entries;
    size_t entries_count, entries_capacity;
    uint32_t *table;  // hash table of entry index + 1
    size_t table_size;
    size_t recordings_count;  // surveyed
    struct reduction reduction;
};

// A pass hands over each event as: the object of OLD is gone, the object of NEW is there (ID_NONE:
// there is none).
struct pass {
    struct tau_profile *profile;
    bool (*step)(struct pass *pass, uint32_t old_id, uint32_t new_id);
    bool is_survey;
    uint64_t event, events;
    unsigned prefix;  // how many prefixes have ended
    uint64_t live_bytes, peak_live_bytes;
    uint64_t record;  // how often live_bytes was larger than ever before
};

// Reserves memory for WANTED items of ITEM_BYTES. False if memory is short; then nothing has
// changed.
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

// ---- sizes ----

// The place of KEY in the table, or the empty one where it belongs.
static size_t place_of(const struct tau_profile *profile, uint64_t key) {
    const size_t mask = profile->table_size - 1;
    size_t at = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & mask;
    while (profile->table[at] != 0 && profile->entries[profile->table[at] - 1].key != key) {
        at = (at + 1) & mask;
    }
    return at;
}

// Rebuilds the table with SIZE places, a power of two. False if memory is short.
static bool table_rebuild(struct tau_profile *profile, size_t size) {
    uint32_t *table = calloc(size, sizeof *table);
    if (table == NULL) {
        return false;
    }
    free(profile->table);
    profile->table = table;
    profile->table_size = size;
    for (size_t i = 0; i < profile->entries_count; i++) {
        table[place_of(profile, profile->entries[i].key)] = (uint32_t)i + 1;
    }
    return true;
}

// The entry of KEY, made if it is new; ID_NONE if memory is short.
static uint32_t entry_of(struct tau_profile *profile, uint64_t key) {
    const size_t at = place_of(profile, key);
    if (profile->table[at] != 0) {
        return profile->table[at] - 1;
    }
    if (profile->entries_count >= ID_NONE - 1 ||
        !grow((void **)&profile->entries, &profile->entries_capacity, profile->entries_count + 1,
              sizeof *profile->entries)) {
        return ID_NONE;
    }
    const uint32_t id = (uint32_t)profile->entries_count++;
    profile->entries[id] =
        (struct size_entry){.key = key, .dimension = (uint32_t)profile->reduction.classes_count};
    profile->table[at] = id + 1;
    if (profile->entries_count * 2 > profile->table_size &&
        !table_rebuild(profile, profile->table_size * 2)) {
        return ID_NONE;
    }
    return id;
}

// ---- one pass over a recording ----

// The entry of OP's object; ID_NONE if memory is short.
static uint32_t identify(struct pass *pass, const struct tau_replay_op *op) {
    const uint64_t granule = pass->profile->granule_bytes;
    const uint64_t size_bytes = op->size_bytes;
    uint64_t key = (size_bytes + granule - 1) & ~(granule - 1);
    if (size_bytes != 0 && key < BUCKET_MIN_BYTES) {
        key = BUCKET_MIN_BYTES;
    }
    key |= tau_replay_alignment(op, granule) > granule ? 1u : 0u;
    const uint32_t id = entry_of(pass->profile, key);
    if (id != ID_NONE && pass->is_survey) {
        struct size_entry *entry = &pass->profile->entries[id];
        entry->allocations++;
        // A TLSF block is the size and a word of header, rounded up, and at least four words. The
        // granule is two words, or one.
        entry->grown += granule < BUCKET_MIN_BYTES || (size_bytes - 1) % granule >= granule / 2 ||
                        size_bytes <= granule / 2;
    }
    return id;
}

static enum tau_profile_status apply(struct pass *pass, const struct tau_replay_op *op,
                                     uint32_t *slots) {
    const struct size_entry *entries = NULL;
    const uint32_t old_id = slots[op->slot];
    uint32_t new_id = ID_NONE;
    if (op->op != TAU_TRACE_FREE) {
        if (op->size_bytes > TAU_PROFILE_BYTES_MAX) {
            return TAU_PROFILE_TOO_MANY_BYTES;
        }
        new_id = identify(pass, op);
        if (new_id == ID_NONE) {
            return TAU_PROFILE_NO_MEMORY;
        }
    }
    slots[op->slot] = new_id;
    entries = pass->profile->entries;
    pass->live_bytes += new_id != ID_NONE ? entries[new_id].key & ~UINT64_C(1) : 0;
    pass->live_bytes -= old_id != ID_NONE ? entries[old_id].key & ~UINT64_C(1) : 0;
    if (pass->live_bytes > TAU_PROFILE_BYTES_MAX) {
        return TAU_PROFILE_TOO_MANY_BYTES;
    }
    if (!pass->step(pass, old_id, new_id)) {
        return TAU_PROFILE_NO_MEMORY;
    }
    if (pass->live_bytes > pass->peak_live_bytes) {
        pass->peak_live_bytes = pass->live_bytes;
    }
    return TAU_PROFILE_OK;
}

// How many objects of a size were live when the recording's live bytes were largest so far.
static uint64_t live_at_peak(const struct pass *pass, const struct size_entry *entry) {
    return entry->record == pass->record ? entry->live_at_record : entry->live;
}

// Notes the objects live at the peak of each prefix that ends before event EVENTS.
static void prefixes_end(struct pass *pass, uint64_t events) {
    struct tau_profile *profile = pass->profile;
    while (pass->prefix < TAU_PROFILE_PREFIXES &&
           events * TAU_PROFILE_PREFIXES >= pass->events * (pass->prefix + 1)) {
        for (size_t i = 0; i < profile->entries_count; i++) {
            struct size_entry *entry = &profile->entries[i];
            const uint64_t live = live_at_peak(pass, entry);
            uint64_t *least = &entry->live_at_prefix_peak[pass->prefix];
            *least = profile->recordings_count == 0 || live < *least ? live : *least;
        }
        pass->prefix++;
    }
}

// Passes every operation to the pass's step.
static enum tau_profile_status pass_run(struct pass *pass, struct tau_replay *replay) {
    const struct tau_replay_facts *facts = tau_replay_facts(replay);
    const size_t slots_bytes = (facts->slots_count + 1) * sizeof(uint32_t);
    uint32_t *slots = malloc(slots_bytes);
    if (slots == NULL) {
        return TAU_PROFILE_NO_MEMORY;
    }
    memset(slots, 0xff, slots_bytes);  // ID_NONE
    pass->events = facts->events;
    enum tau_profile_status status = TAU_PROFILE_OK;
    struct tau_replay_walk walk = tau_replay_walk(replay);
    const struct tau_replay_op *op = NULL;
    while (status == TAU_PROFILE_OK && (op = tau_replay_next(&walk)) != NULL) {
        status = tau_replay_passes_over(op) ? TAU_PROFILE_OK : apply(pass, op, slots);
        if (status == TAU_PROFILE_OK) {
            pass->event++;
            if (pass->is_survey) {
                prefixes_end(pass, pass->event);
            }
        }
    }
    free(slots);
    return walk.has_failed ? TAU_PROFILE_TRACE_FAILED : status;
}

// ---- the survey ----

// Remembers the live objects at the last record before a count changes.
static struct size_entry *entry_touch(struct pass *pass, uint32_t id) {
    struct size_entry *entry = &pass->profile->entries[id];
    if (entry->record != pass->record) {
        entry->record = pass->record;
        entry->live_at_record = entry->live;
    }
    return entry;
}

static bool survey_step(struct pass *pass, uint32_t old_id, uint32_t new_id) {
    if (old_id != ID_NONE) {
        entry_touch(pass, old_id)->live--;
    }
    if (new_id != ID_NONE) {
        struct size_entry *entry = entry_touch(pass, new_id);
        entry->live++;
        if (entry->live > entry->peak_live) {
            entry->peak_live = entry->live;
        }
    }
    pass->record += pass->live_bytes > pass->peak_live_bytes ? 1 : 0;
    return true;
}

enum tau_profile_status tau_profile_survey(struct tau_profile *profile, struct tau_replay *replay,
                                           struct tau_profile_survey *survey) {
    struct pass pass = {.profile = profile, .step = survey_step, .is_survey = true};
    for (size_t i = 0; i < profile->entries_count; i++) {
        profile->entries[i].live = 0;
        profile->entries[i].live_at_record = 0;
        profile->entries[i].record = 0;
    }
    const enum tau_profile_status status = pass_run(&pass, replay);
    for (size_t i = 0; i < profile->entries_count; i++) {
        struct size_entry *entry = &profile->entries[i];
        const uint64_t at_peak = live_at_peak(&pass, entry);
        if (at_peak > entry->live_at_peak) {
            entry->live_at_peak = at_peak;
        }
    }
    profile->recordings_count++;
    *survey = (struct tau_profile_survey){pass.peak_live_bytes, pass.event};
    return status;
}

size_t tau_profile_sizes_count(const struct tau_profile *profile) {
    return profile->entries_count;
}

void tau_profile_sizes(const struct tau_profile *profile, struct tau_profile_size *sizes) {
    for (size_t i = 0; i < profile->entries_count; i++) {
        const struct size_entry *entry = &profile->entries[i];
        sizes[i] = (struct tau_profile_size){
            .size_bytes = entry->key & ~UINT64_C(1),
            .aligned = entry->key & 1u,
            .allocations = entry->allocations,
            .grown = entry->grown,
            .peak_live = entry->peak_live,
            .live_at_peak = entry->live_at_peak,
        };
        memcpy(sizes[i].live_at_prefix_peak, entry->live_at_prefix_peak,
               sizeof entry->live_at_prefix_peak);
    }
}

// ---- the reduction: which instants are kept, and why, is in profile.h ----

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

// Adds an object of ENTRY, or removes one: classes count objects, the last dimension counts bytes.
static void count_object(struct reduction *reduction, const struct size_entry *entry, bool is_new) {
    const size_t dimension = entry->dimension;
    const uint64_t step =
        dimension == reduction->classes_count ? entry->key & ~UINT64_C(1) : UINT64_C(1);
    const uint64_t before = reduction->value[dimension];
    const uint64_t after = is_new ? before + step : before - step;
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

// Keeps the present instant, unless a reference is nowhere below it; drops the references that it
// is nowhere below.
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
        if (reduction->rising && !instant_offer(reduction)) {
            return false;
        }
        count_object(reduction, &entries[old_id], false);
    }
    if (new_id != ID_NONE) {
        count_object(reduction, &entries[new_id], true);
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

enum tau_profile_status tau_profile_reduce(struct tau_profile *profile, struct tau_replay *replay) {
    struct reduction *reduction = &profile->reduction;
    struct pass pass = {.profile = profile, .step = reduce_step};
    size_t first = reduction->instants_count;
    // Each recording starts empty, and its instants are compared with each other only.
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
        // The first instant of a recording names every dimension that differs.
        reduction->is_dirty[i] = 1;
        reduction->dirty[reduction->dirty_count++] = (uint32_t)i;
    }
    enum tau_profile_status status = pass_run(&pass, replay);
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

// ---- making and deleting ----

struct tau_profile *tau_profile_new(uint64_t granule_bytes) {
    if (granule_bytes < 2 || granule_bytes > 4096 || (granule_bytes & (granule_bytes - 1)) != 0) {
        return NULL;
    }
    struct tau_profile *profile = calloc(1, sizeof *profile);
    if (profile != NULL) {
        profile->granule_bytes = granule_bytes;
    }
    if (profile != NULL && !table_rebuild(profile, TABLE_SIZE_MIN)) {
        free(profile);
        return NULL;
    }
    return profile;
}

void tau_profile_delete(struct tau_profile *profile) {
    if (profile != NULL) {
        reduction_free(&profile->reduction);
        free(profile->entries);
        free(profile->table);
    }
    free(profile);
}
