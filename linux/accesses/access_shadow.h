// The state of each 16-byte granule of the heap: its object, and whether it was touched.
//
// Each granule has two bits and a word, in chunks of 64 MiB of address space that are allocated
// when the heap reaches them. The allocator leaves at least one granule between two objects, so the
// bits alone show where an object ends.
//
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef TAU_ACCESS_SHADOW_H
#define TAU_ACCESS_SHADOW_H

#include "facts/accesses.h"
#include "pub_tool_basics.h"

#define GRANULE_LOG2 TAU_ACCESSES_GRANULE_LOG2
#define GRANULE_BYTES (1ul << GRANULE_LOG2)
#define CHUNK_LOG2 26
#define CHUNK_GRANULES (1ul << (CHUNK_LOG2 - GRANULE_LOG2))
// User addresses of x86-64 have 47 bits.
#define ADDRESS_BITS 47
#define OBJECT_NONE 0xffffffffu

// 64 granules each; side by side, since one access needs both.
struct shadow_word {
    ULong heap;       // the granule belongs to a live object
    ULong untouched;  // and no access was seen yet
};

struct shadow_chunk {
    struct shadow_word words[CHUNK_GRANULES / 64];
    // The object's number at its first granule and at the first granule of each page that it
    // covers; elsewhere anything.
    UInt owner[CHUNK_GRANULES];
};

struct shadow_object {
    Addr start;
    SizeT size_bytes;
    UInt slot;  // OBJECT_NONE: of the process that this one was forked from
};

extern struct shadow_chunk *shadow_chunks[1ul << (ADDRESS_BITS - CHUNK_LOG2)];
// The heap lies in [shadow_low, shadow_low + shadow_span), not all of which is heap.
extern Addr shadow_low;
extern UWord shadow_span;

static inline struct shadow_word *shadow_word(Addr address) {
    struct shadow_chunk *chunk = shadow_chunks[address >> CHUNK_LOG2];
    UWord granule = (address & ((1ul << CHUNK_LOG2) - 1)) >> GRANULE_LOG2;
    return chunk == NULL ? NULL : &chunk->words[granule / 64];
}

static inline UWord shadow_bit(Addr address) {
    return (address >> GRANULE_LOG2) & 63;
}

// Whether the address lies in the last granule-wise extent of a live object.
Bool shadow_is_heap(Addr address);
Bool shadow_is_untouched(Addr address);
void shadow_set_touched(Addr address);

// A new object at START, all its granules untouched. Returns its number; it has a slot of its own.
UInt shadow_add(Addr start, SizeT size_bytes);
// Forgets a live object; its slot is the next to be given out.
void shadow_remove(UInt object);
// The live object that starts at ADDRESS, or OBJECT_NONE.
UInt shadow_starting_at(Addr address);
// The object whose granule ADDRESS lies in, which must be one.
UInt shadow_owner(Addr address);
struct shadow_object *shadow_object(UInt object);
// The object was resized where it is, or moved to START; it keeps what of it was touched. OLD_START
// must still be its place.
void shadow_resize(UInt object, Addr new_start, SizeT new_bytes);
// In a forked child: all objects become the parent's, and slots are numbered from 0 again.
void shadow_inherit(void);

#endif
