// What the host commands and what it gets back; tool/tautochrone/tile.py is the other side.
#ifndef TAU_REPLAY_COMMANDS_H
#define TAU_REPLAY_COMMANDS_H

#include <stdint.h>

// The first byte of a command's first word. The rest of it: the second byte is an alignment as a
// power of two, or granules; then the flags. Word 1 is the object's slot.
enum replay_op {
    REPLAY_MALLOC = 0,         // word 2: bytes; with an alignment, aligned
    REPLAY_CALLOC = 1,         // the same, and cleared
    REPLAY_REALLOC = 2,        // word 2: bytes, word 3: bytes before
    REPLAY_ALIGNED_ALLOC = 3,  // as malloc
    REPLAY_FREE = 4,
    REPLAY_TOUCH = 5,    // word 2: offset in bytes of the first granule, word 3: of the last byte
    REPLAY_START = 16,   // word 1: slots, word 2: pages of the heap, word 3: frames
    REPLAY_SPACE = 17,   // a space without a heap; word 3: frames
    REPLAY_REGION = 18,  // word 1: first page, word 2: pages, word 3: pages to map; then unmapped
};

#define REPLAY_ALIGN_LOG2_SHIFT 8
#define REPLAY_STORES (1u << 16)     // a touch writes, else it reads
#define REPLAY_ALL_PAGES (1u << 17)  // what is new is touched, a word a page
#define REPLAY_BEFORE (1u << 16)     // a region of one page lies in front of a measured region
#define REPLAY_BEHIND (1u << 17)     // and behind it
#define REPLAY_GRANULE_BYTES 16u

// Channels of results: `tag` is the number of the command since the start, the word that was sent
// is the number of mapped pages afterwards.
enum replay_channel {
    REPLAY_CALLED_MALLOC = 0,
    REPLAY_CALLED_ALIGNED_ALLOC = 1,
    REPLAY_CALLED_RESIZE = 2,
    REPLAY_CALLED_FREE = 3,
    REPLAY_FAULTED =
        4,  // the faults before this record are the command's own; its cycles mean nothing
    REPLAY_MAPPED_REGION = 5,
    REPLAY_UNMAPPED_REGION = 6,
    REPLAY_END = 7,  // the value is an enum replay_end; at the start: what measuring nothing takes
};

enum replay_end {
    REPLAY_COMPLETED = 0,
    REPLAY_NO_MEMORY = 1,
    REPLAY_START_FAILED = 2,  // the high half is the enum tau_status
    REPLAY_NO_FRAME = 13,
    REPLAY_EMPTY = 0xFFFF,  // the record of an empty measurement
};

#endif
