// A hash map with linear probing and backward-shift deletion (no tombstones, so it never has to be
// cleaned), and the stack of free slots.
#include "tool/native/record/merge_objects.h"

#include <stdlib.h>
#include <string.h>

#define PLACES_FIRST 4096u
#define RECENT_PLACES 65536u

static uint64_t hash_of(uint64_t address) {
    const uint64_t mixed = address * 0x9e3779b97f4a7c15u;
    return mixed ^ mixed >> 32;
}

// ---- The map ----

static size_t place_of(const struct tau_merge_objects *objects, uint64_t address) {
    size_t place = (size_t)hash_of(address) & (objects->places - 1);
    while (objects->addresses[place] != 0 && objects->addresses[place] != address) {
        place = (place + 1) & (objects->places - 1);
    }
    return place;
}

static bool map_grow(struct tau_merge_objects *objects) {
    const size_t places = objects->places * 2;
    uint64_t *addresses = calloc(places, sizeof(*addresses));
    uint32_t *slots = calloc(places, sizeof(*slots));
    if (addresses == NULL || slots == NULL) {
        free(addresses);
        free(slots);
        return false;
    }
    struct tau_merge_objects old = *objects;
    objects->addresses = addresses;
    objects->slots = slots;
    objects->places = places;
    for (size_t i = 0; i < old.places; i++) {
        if (old.addresses[i] != 0) {
            const size_t place = place_of(objects, old.addresses[i]);
            addresses[place] = old.addresses[i];
            slots[place] = old.slots[i];
        }
    }
    free(old.addresses);
    free(old.slots);
    return true;
}

static bool map_put(struct tau_merge_objects *objects, uint64_t address, uint32_t slot) {
    if (objects->used * 10 >= objects->places * 7 && !map_grow(objects)) {
        return false;
    }
    const size_t place = place_of(objects, address);
    objects->addresses[place] = address;
    objects->slots[place] = slot;
    objects->used++;
    return true;
}

static void map_take(struct tau_merge_objects *objects, uint64_t address) {
    const size_t mask = objects->places - 1;
    size_t hole = place_of(objects, address);
    if (objects->addresses[hole] == 0) {
        return;
    }
    for (size_t next = (hole + 1) & mask; objects->addresses[next] != 0; next = (next + 1) & mask) {
        const size_t home = (size_t)hash_of(objects->addresses[next]) & mask;
        // The hole is between the entry's home and its place, so the entry moves into the hole.
        if (((next - home) & mask) >= ((next - hole) & mask)) {
            objects->addresses[hole] = objects->addresses[next];
            objects->slots[hole] = objects->slots[next];
            hole = next;
        }
    }
    objects->addresses[hole] = 0;
    objects->used--;
}

// ---- Slots ----

static bool slots_grow(struct tau_merge_objects *objects) {
    const size_t room = objects->slots_room == 0 ? 1024 : objects->slots_room * 2;
    uint64_t *address = realloc(objects->slot_address, room * sizeof(*address));
    if (address != NULL) {
        objects->slot_address = address;
    }
    uint64_t *size_bytes = realloc(objects->slot_size_bytes, room * sizeof(*size_bytes));
    if (size_bytes != NULL) {
        objects->slot_size_bytes = size_bytes;
    }
    uint32_t *free_slots = realloc(objects->free_slots, room * sizeof(*free_slots));
    if (free_slots != NULL) {
        objects->free_slots = free_slots;
    }
    if (address == NULL || size_bytes == NULL || free_slots == NULL) {
        return false;
    }
    objects->slots_room = room;
    return true;
}

// ---- Public ----

bool tau_merge_objects_open(struct tau_merge_objects *objects) {
    memset(objects, 0, sizeof(*objects));
    objects->places = PLACES_FIRST;
    objects->addresses = calloc(objects->places, sizeof(*objects->addresses));
    objects->slots = calloc(objects->places, sizeof(*objects->slots));
    objects->recently_freed = calloc(RECENT_PLACES, sizeof(*objects->recently_freed));
    return objects->addresses != NULL && objects->slots != NULL && objects->recently_freed != NULL;
}

void tau_merge_objects_close(struct tau_merge_objects *objects) {
    free(objects->addresses);
    free(objects->slots);
    free(objects->slot_address);
    free(objects->slot_size_bytes);
    free(objects->free_slots);
    free(objects->recently_freed);
    memset(objects, 0, sizeof(*objects));
}

uint32_t tau_merge_objects_find(const struct tau_merge_objects *objects, uint64_t address) {
    const size_t place = place_of(objects, address);
    return objects->addresses[place] == 0 ? TAU_MERGE_SLOT_NONE : objects->slots[place];
}

bool tau_merge_objects_add(struct tau_merge_objects *objects, uint64_t address, uint64_t size_bytes,
                           uint32_t *slot) {
    if (objects->free_slots_count > 0) {
        *slot = objects->free_slots[--objects->free_slots_count];
    } else {
        if (objects->slots_count == TAU_MERGE_SLOT_NONE ||
            (objects->slots_count == objects->slots_room && !slots_grow(objects))) {
            return false;
        }
        *slot = objects->slots_count++;
    }
    return tau_merge_objects_attach(objects, *slot, address, size_bytes);
}

void tau_merge_objects_detach(struct tau_merge_objects *objects, uint64_t address) {
    const uint32_t slot = tau_merge_objects_find(objects, address);
    if (slot != TAU_MERGE_SLOT_NONE) {
        objects->slot_address[slot] = 0;
        map_take(objects, address);
    }
}

bool tau_merge_objects_attach(struct tau_merge_objects *objects, uint32_t slot, uint64_t address,
                              uint64_t size_bytes) {
    objects->slot_size_bytes[slot] = size_bytes;
    objects->slot_address[slot] = address;
    uint64_t *freed = &objects->recently_freed[hash_of(address) & (RECENT_PLACES - 1)];
    if (*freed == address) {
        *freed = 0;
    }
    return map_put(objects, address, slot);
}

void tau_merge_objects_remove(struct tau_merge_objects *objects, uint32_t slot) {
    if (objects->slot_address[slot] != 0) {
        map_take(objects, objects->slot_address[slot]);
    }
    objects->slot_address[slot] = 0;
    // The stack cannot overflow, because no slot is in it twice.
    objects->free_slots[objects->free_slots_count++] = slot;
}

void tau_merge_objects_note_freed(struct tau_merge_objects *objects, uint64_t address) {
    objects->recently_freed[hash_of(address) & (RECENT_PLACES - 1)] = address;
}

bool tau_merge_objects_was_freed(const struct tau_merge_objects *objects, uint64_t address) {
    return objects->recently_freed[hash_of(address) & (RECENT_PLACES - 1)] == address;
}
