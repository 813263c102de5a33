// A hash table of 16-byte entries. A freed object's entry stays, to distinguish a second free from
// a free of an unknown object. If there are over a million freed entries, and more than live ones,
// the next growth drops them all instead of growing.
#include "tool/native/convert/objects.h"

#include <stdlib.h>
#include <string.h>

#define FREED_MAX (1u << 20)
#define ROOM_FIRST (1u << 12)
#define SLOT_EMPTY TAU_TRACE_SLOT_NONE

struct tau_trace_object {
    uint64_t low;
    uint32_t high;
    uint32_t slot;  // SLOT_EMPTY: no entry; TAU_TRACE_OBJECT_FREED: known, not live
};

void tau_trace_objects_close(struct tau_trace_objects *objects) {
    free(objects->entries);
    free(objects->free_slots);
    memset(objects, 0, sizeof *objects);
}

// The entry of KEY, or the empty one where it belongs.
static struct tau_trace_object *entry_of(struct tau_trace_object *entries, size_t room,
                                         struct tau_trace_object_key key) {
    uint64_t hash = (key.low ^ key.high) * 0x9E3779B97F4A7C15ull;
    size_t at = (size_t)(hash >> 20) & (room - 1);
    // bound: the table is at most half full
    while (entries[at].slot != SLOT_EMPTY &&
           (entries[at].low != key.low || entries[at].high != key.high)) {
        at = (at + 1) & (room - 1);
    }
    return &entries[at];
}

uint32_t tau_trace_objects_find(const struct tau_trace_objects *objects,
                                struct tau_trace_object_key key) {
    return objects->room == 0 ? TAU_TRACE_OBJECT_UNKNOWN
                              : entry_of(objects->entries, objects->room, key)->slot;
}

// Reserves memory for one more entry. False iff memory is short.
static bool grow(struct tau_trace_objects *objects) {
    if (objects->used + 1 < objects->room / 2) {
        return true;
    }
    bool drop = objects->freed > FREED_MAX && objects->freed > objects->used / 2;
    size_t room = objects->room == 0 ? ROOM_FIRST : (drop ? objects->room : objects->room * 2);
    struct tau_trace_object *entries = malloc(room * sizeof *entries);
    if (entries == NULL) {
        return false;
    }
    memset(entries, 0xff, room * sizeof *entries);
    size_t used = 0;
    for (size_t i = 0; i < objects->room; i++) {
        struct tau_trace_object *old = &objects->entries[i];
        if (old->slot != SLOT_EMPTY && !(drop && old->slot == TAU_TRACE_OBJECT_FREED)) {
            *entry_of(entries, room,
                      (struct tau_trace_object_key){.low = old->low, .high = old->high}) = *old;
            used++;
        }
    }
    free(objects->entries);
    objects->entries = entries;
    objects->room = room;
    objects->used = used;
    objects->freed = drop ? 0 : objects->freed;
    return true;
}

uint32_t tau_trace_objects_take(struct tau_trace_objects *objects,
                                struct tau_trace_object_key key) {
    if (!grow(objects)) {
        return TAU_TRACE_SLOT_NONE;
    }
    struct tau_trace_object *entry = entry_of(objects->entries, objects->room, key);
    objects->used += entry->slot == SLOT_EMPTY;
    objects->freed -= entry->slot == TAU_TRACE_OBJECT_FREED;
    uint32_t slot = objects->free_count > 0 ? objects->free_slots[--objects->free_count]
                                            : objects->slots_count++;
    *entry = (struct tau_trace_object){.low = key.low, .high = key.high, .slot = slot};
    return slot;
}

uint32_t tau_trace_objects_give(struct tau_trace_objects *objects,
                                struct tau_trace_object_key key) {
    if (objects->free_count == objects->free_room) {
        size_t room = objects->free_room == 0 ? 1024 : objects->free_room * 2;
        uint32_t *slots = realloc(objects->free_slots, room * sizeof *slots);
        if (slots == NULL) {
            return TAU_TRACE_SLOT_NONE;
        }
        objects->free_slots = slots;
        objects->free_room = room;
    }
    struct tau_trace_object *entry = entry_of(objects->entries, objects->room, key);
    uint32_t slot = entry->slot;
    entry->slot = TAU_TRACE_OBJECT_FREED;
    objects->freed++;
    objects->free_slots[objects->free_count++] = slot;
    return slot;
}
