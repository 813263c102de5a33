// The pass over a recording that the survey and the reduction share (profile_pass.h).
#include <stdlib.h>
#include <string.h>

#include "tool/native/plan/profile_pass.h"

// ---- sizes ----

bool tau_profile_grow(void **items, size_t *capacity, size_t wanted, size_t item_bytes) {
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

bool tau_profile_table_rebuild(struct tau_profile *profile, size_t size) {
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
    if (profile->entries_count >= SLOT_FREE - 1 ||
        !tau_profile_grow((void **)&profile->entries, &profile->entries_capacity,
                          profile->entries_count + 1, sizeof *profile->entries)) {
        return ID_NONE;
    }
    uint32_t id = (uint32_t)profile->entries_count++;
    profile->entries[id] =
        (struct size_entry){.key = key, .dimension = (uint32_t)profile->reduction.classes_count};
    profile->table[at] = id + 1;
    if (profile->entries_count * 2 > profile->table_size &&
        !tau_profile_table_rebuild(profile, profile->table_size * 2)) {
        return ID_NONE;
    }
    return id;
}

// ---- one pass over a trace ----

static bool slots_reach(struct tau_profile *profile, uint64_t slot) {
    size_t before = profile->slots_capacity;
    if (!tau_profile_grow((void **)&profile->slots, &profile->slots_capacity, (size_t)slot + 1,
                          sizeof *profile->slots)) {
        return false;
    }
    for (size_t i = before; i < profile->slots_capacity; i++) {
        profile->slots[i] = SLOT_FREE;
    }
    return true;
}

// The entry of an object of SIZE_BYTES; of no bytes it is served as one of a byte. False if it is
// too large or memory is short.
static bool identify(struct pass *pass, uint64_t asked_bytes, unsigned align_log2, uint32_t *id) {
    uint64_t granule = pass->profile->granule_bytes;
    const uint64_t size_bytes = asked_bytes == 0 ? 1 : asked_bytes;
    if (size_bytes > TAU_PROFILE_BYTES_MAX) {
        return false;
    }
    uint64_t key = (size_bytes + granule - 1) & ~(granule - 1);
    key |= align_log2 >= 64 || 1ull << align_log2 > granule ? 1u : 0u;
    *id = entry_of(pass->profile, key);
    if (*id == ID_NONE) {
        return false;
    }
    if (pass->is_survey) {
        struct size_entry *entry = &pass->profile->entries[*id];
        entry->allocations++;
        // A TLSF block is the size and half a granule of header, rounded up, and at least two
        // granules.
        entry->grown += (size_bytes - 1) % granule >= granule / 2 || size_bytes <= granule / 2;
    }
    return true;
}

static enum tau_profile_status event_apply(struct pass *pass,
                                           const struct tau_trace_columns *columns, size_t at) {
    struct tau_profile *profile = pass->profile;
    uint8_t op = columns->op[at];
    uint32_t slot = columns->slot[at];
    if (columns->flags[at] != 0 || op == TAU_TRACE_TOUCH) {
        return TAU_PROFILE_OK;  // names an object that is not there, or changes none
    }
    if (slot >= pass->survey->events) {
        return TAU_PROFILE_BAD_SLOT;  // slots are dense, so there are never more of them than
                                      // events
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
    uint32_t old_id = before >= SLOT_FREE ? ID_NONE : before;
    uint32_t new_id = after >= SLOT_FREE ? ID_NONE : after;
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

// Notes what was live at the peak of each prefix that ends before event EVENTS.
static void prefixes_end(struct pass *pass, uint64_t events) {
    struct tau_profile *profile = pass->profile;
    while (pass->prefix < TAU_PROFILE_PREFIXES &&
           events * TAU_PROFILE_PREFIXES >= pass->survey->events * (pass->prefix + 1)) {
        for (size_t i = 0; i < profile->entries_count; i++) {
            struct size_entry *entry = &profile->entries[i];
            uint64_t live = entry->record == pass->record ? entry->live_at_record : entry->live;
            uint64_t *least = &entry->live_at_prefix_peak[pass->prefix];
            *least = profile->traces_count == 0 || live < *least ? live : *least;
        }
        pass->prefix++;
    }
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
            if (pass->is_survey) {
                prefixes_end(pass, event + 1);
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

enum tau_profile_status tau_profile_pass_run(struct pass *pass, struct tau_trace_reader *reader) {
    struct tau_profile *profile = pass->profile;
    *pass->survey = (struct tau_profile_survey){0};
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
    return status;
}
