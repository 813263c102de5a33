// The live objects during a merge: address → slot. Memory is proportional to the peak of live
// objects.
#ifndef TAU_MERGE_OBJECTS_H
#define TAU_MERGE_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAU_MERGE_SLOT_NONE 0xffffffffu

struct tau_merge_objects {
    // Open addressing, linear probing; address 0 marks a free place.
    uint64_t *addresses;
    uint32_t *slots;
    size_t places;  // a power of two
    size_t used;
    // Per slot.
    uint64_t *slot_address;  // 0 = the slot is free or its object is between two addresses
    uint64_t *slot_size_bytes;
    uint32_t *free_slots;  // a stack: the slot freed last is taken first
    size_t slots_room;
    uint32_t slots_count;  // ever given
    uint32_t free_slots_count;
    // The latest frees, by a hash of the address: a second free of one of them is a double free.
    uint64_t *recently_freed;
};

// False if memory is short, as below.
bool tau_merge_objects_open(struct tau_merge_objects *objects);
void tau_merge_objects_close(struct tau_merge_objects *objects);
// The slot of the object at ADDRESS, or TAU_MERGE_SLOT_NONE.
uint32_t tau_merge_objects_find(const struct tau_merge_objects *objects, uint64_t address);
// Adds an object at ADDRESS, which must be free; *slot is its name.
bool tau_merge_objects_add(struct tau_merge_objects *objects, uint64_t address, uint64_t size_bytes,
                           uint32_t *slot);
// Detaches the object at ADDRESS: it keeps its slot and size, but has no address.
void tau_merge_objects_detach(struct tau_merge_objects *objects, uint64_t address);
// Attaches a detached object at ADDRESS, which must be free.
bool tau_merge_objects_attach(struct tau_merge_objects *objects, uint32_t slot, uint64_t address,
                              uint64_t size_bytes);
// Removes the object of SLOT, attached or not. Its slot is the next to be reused.
void tau_merge_objects_remove(struct tau_merge_objects *objects, uint32_t slot);
void tau_merge_objects_note_freed(struct tau_merge_objects *objects, uint64_t address);
bool tau_merge_objects_was_freed(const struct tau_merge_objects *objects, uint64_t address);

#endif
