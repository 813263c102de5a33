// Maps named objects to slots, for importers whose input names objects by text or address.
#ifndef TAU_TRACE_OBJECTS_H
#define TAU_TRACE_OBJECTS_H

#include "tool/native/trace/trace.h"

// An object's name as a number: an address, or a hash of 96 bits of its text.
struct tau_trace_object_key {
    uint64_t low;
    uint32_t high;
};

// The state of an object that is not live.
#define TAU_TRACE_OBJECT_FREED 0xfffffffeu
#define TAU_TRACE_OBJECT_UNKNOWN TAU_TRACE_SLOT_NONE

struct tau_trace_object;

// A zeroed table is empty and needs no opening.
struct tau_trace_objects {
    struct tau_trace_object *entries;  // open addressing, at most half full
    size_t room, used, freed;
    uint32_t *free_slots;  // a stack: the slot freed last is taken first
    size_t free_count, free_room;
    uint32_t slots_count;
};

void tau_trace_objects_close(struct tau_trace_objects *objects);
// The object's slot, TAU_TRACE_OBJECT_FREED or TAU_TRACE_OBJECT_UNKNOWN. O(1) expected.
uint32_t tau_trace_objects_find(const struct tau_trace_objects *objects,
                                struct tau_trace_object_key key);
// Gives an object that is not live a slot. TAU_TRACE_SLOT_NONE iff memory is short.
uint32_t tau_trace_objects_take(struct tau_trace_objects *objects, struct tau_trace_object_key key);
// Ends a live object and returns the slot it had. TAU_TRACE_SLOT_NONE iff memory is short.
uint32_t tau_trace_objects_give(struct tau_trace_objects *objects, struct tau_trace_object_key key);

#endif
