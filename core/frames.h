// Frames: the machine's physical pages, in pools from which address spaces take them.
//
// One table holds one link per frame. A pool is two lists in it. `ready` frames can be used as they
// are. `dirty` frames hold data of an earlier space and must be zeroed first, one frame per
// operation. The frames that a space releases form one chain of links. Any chain is put onto a list
// in constant time [P0-10, P0-23].
//
// A reserved pool belongs to one space. A fault there cannot fail for want of a frame while the
// space admits no more pages than the pool has frames [P0-45]. The frames of a reserved pool are
// not zeroed between two uses.
#ifndef TAU_FRAMES_H
#define TAU_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/page.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TAU_FRAMES_MAX TAU_NUMBER_MASK  // the highest number denotes no frame

// A chain of frames, linked through the table.
struct tau_frame_list {
    uint32_t head;  // meaningless if count is 0
    uint32_t count;
};

struct tau_frames {
    uint32_t *links;  // one per frame of the machine, shared by all its pools
    uint32_t frames_count;
    struct tau_frame_list ready;
    struct tau_frame_list dirty;
    struct tau_frame_list *released;  // list of released frames: ready if reserved, else dirty
    unsigned char *memory;            // first byte of frame 0; NULL: no frame is zeroed here
};

// Makes an empty shared pool. LINKS has one word for each of the machine's FRAMES_COUNT frames. The
// frames' bytes start at MEMORY. A NULL MEMORY says that the machine provides zeroed frames by
// itself.
// Fails if and only if any of these holds (TAU_BAD_ARGUMENT):
// - LINKS is NULL or not a multiple of 4
// - FRAMES_COUNT is 0 or above TAU_FRAMES_MAX
// - the links or the frames' bytes reach beyond the end of the address space
// Cost: one store per frame.
enum tau_status tau_frames_init(struct tau_frames *frames, uint32_t *links, uint32_t frames_count,
                                void *memory);

// Adds the COUNT frames from FIRST on to the pool.
// Fails, with no frame added, if and only if:
// - COUNT is 0, or FRAMES is a reserved pool (TAU_BAD_ARGUMENT)
// - a frame is outside the table (TAU_FRAME_OUTSIDE)
// - a frame was added before (TAU_FRAME_TWICE)
// Cost: two steps per frame.
enum tau_status tau_frames_add(struct tau_frames *frames, struct tau_frame first, uint32_t count);

// Makes RESERVED a reserved pool of COUNT zeroed frames, taken from FRAMES.
// Fails, with nothing changed, if and only if:
// - FRAMES is itself a reserved pool (TAU_BAD_ARGUMENT)
// - fewer than COUNT frames are free (TAU_NO_FRAME)
// Cost: one step per frame, and zeroing it. Meant for admission, not before a deadline.
enum tau_status tau_frames_reserve(struct tau_frames *frames, struct tau_frames *reserved,
                                   uint32_t count);

// Returns all free frames of RESERVED to FRAMES.
// Cost: one step per frame.
void tau_frames_return(struct tau_frames *frames, struct tau_frames *reserved);

// Zeroes one dirty frame and makes it ready. Returns false if there is none. Meant for idle time:
// no fault zeroes a frame while one is ready.
// Cost: one page.
bool tau_frames_clean_one(struct tau_frames *frames);

// Frames that can be taken now.
uint32_t tau_frames_free_count(const struct tau_frames *frames);

// Constant-time self test.
bool tau_frames_invariants_hold(const struct tau_frames *frames);

#ifndef __cplusplus  // C++ has no compound literals
// Makes FRAMES a reserved pool of the machine's frames 0 … COUNT - 1, at least one, all ready and
// zeroed. LINKS has one word for each. The result is as after tau_frames_init, _add and _reserve.
// Fails if and only if COUNT is above TAU_FRAMES_MAX (TAU_BAD_ARGUMENT).
// Cost: one store per frame.
static inline enum tau_status tau_frames_init_ready(struct tau_frames *frames, uint32_t *links,
                                                    uint32_t count) {
    for (uint32_t frame = 0; frame < count; frame++) {  // bound: count
        links[frame] = frame + 1;
    }
    *frames = (struct tau_frames){
        .links = links,
        .frames_count = count,
        .ready = {.head = 0, .count = count},
        .released = &frames->ready,
    };
    return tau_frames_invariants_hold(frames) ? TAU_OK : TAU_BAD_ARGUMENT;
}
#endif

#ifdef __cplusplus
}
#endif

#endif
