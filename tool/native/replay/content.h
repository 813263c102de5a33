// Checks the objects of an allocator: their places, and whether their content stays as written.
//
// One bit for each 4 bytes of the arena says whether they belong to a live object, so an overlap is
// found when the second object appears. The first and the last 8 bytes of each object (fewer if it
// is shorter) hold a word that depends on the slot. The word is compared when the object is freed
// or resized, which finds an allocator that writes into a live object. A block of 2 MiB inside one
// object is marked as a whole, without its bits. Cost: one bit operation for each 512 bytes of an
// object below 4 MiB, and one step for each 2 MiB beyond.
#ifndef TAU_CONTENT_H
#define TAU_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/native/replay/replay.h"

struct tau_content_object {
    uint8_t *pointer;  // NULL: not live, or of size 0
    uint64_t size_bytes;
    uint64_t alignment;
};

struct tau_content {
    uint8_t *arena;
    uint64_t arena_bytes;
    uint64_t *live;          // the bits
    uint64_t live_capacity;  // words allocated
    // A block: how many objects have bits in it, or UINT32_MAX: one has it wholly.
    uint32_t *blocks;
    uint64_t blocks_capacity;
    uint64_t placement_hash;  // hash of all pairs of event and offset
};

// An allocator's answer to the request of an event.
struct tau_content_answer {
    uint64_t event;
    uint64_t offset;     // the object's offset in the arena; any number
    uint64_t alignment;  // that it must have
    bool is_cleared;     // its bytes must be 0
};

// Forgets all objects and prepares for an arena. False: no memory.
bool tau_content_start(struct tau_content *content, uint8_t *arena, uint64_t arena_bytes);
void tau_content_release(struct tau_content *content);

// Makes OBJECT the one that OP asked for and ANSWER placed. Returns the fault that it shows.
enum tau_replay_fault tau_content_take(struct tau_content *content,
                                       struct tau_content_object *object,
                                       const struct tau_replay_op *op,
                                       const struct tau_content_answer *answer);
// A new object: returns the fault that it shows, and writes the words at its ends.
enum tau_replay_fault tau_content_add(struct tau_content *content,
                                      const struct tau_content_object *object, uint32_t slot,
                                      bool is_cleared);
// Removes the object. False: its words have changed.
bool tau_content_remove(struct tau_content *content, const struct tau_content_object *object,
                        uint32_t slot);
// Whether SIZE_BYTES at POINTER lie in the arena.
bool tau_content_has_room(const struct tau_content *content, const uint8_t *pointer,
                          uint64_t size_bytes);
// Whether POINTER holds what an object of OLD_BYTES had, as far as NEW_BYTES reach.
bool tau_content_survives(const struct tau_content *content, const uint8_t *pointer,
                          uint64_t old_bytes, uint64_t new_bytes, uint32_t slot);

#endif
