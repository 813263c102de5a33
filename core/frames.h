// Frames: the machine's physical pages, in pools that address spaces take them from.
//
// One table holds a link a frame; a pool is two lists in it. `ready` frames may be handed out as
// they are; `dirty` ones hold what some address space left and are zeroed first, one an operation.
// What a space releases is one chain of links, which goes onto a list in constant time however long
// it is [P0-10, P0-23]. A reserved pool belongs to one space: faults there cannot fail for want of
// frames as long as no more is admitted than it has [P0-45], and its frames need no zeroing
// between two uses.
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

#define TAU_FRAMES_MAX TAU_NUMBER_MASK  // the highest number is no frame

// A chain of frames, linked through the table.
struct tau_frame_list {
    uint32_t head;  // meaningless if count is 0
    uint32_t count;
};

struct tau_frames {
    uint32_t *links;  // one a frame of the machine, shared by all pools of it
    uint32_t frames_count;
    struct tau_frame_list ready;
    struct tau_frame_list dirty;
    struct tau_frame_list *released;  // where given-up frames go: ready if reserved, else dirty
    unsigned char *memory;            // frame 0's first byte; NULL: nothing is zeroed here
};

// Makes an empty shared pool over LINKS, one word for each of the machine's FRAMES_COUNT frames,
// whose bytes start at MEMORY (NULL: the machine hands out zeroed frames by itself). Fails if and
// only if LINKS is NULL, or FRAMES_COUNT is 0 or above TAU_FRAMES_MAX (TAU_BAD_ARGUMENT). Cost: one
// store a frame.
enum tau_status tau_frames_init(struct tau_frames *frames, uint32_t *links, uint32_t frames_count,
                                void *memory);

// Hands COUNT frames from FIRST on in. Fails, with nothing handed in, if and only if COUNT is 0 or
// FRAMES a reserved pool (TAU_BAD_ARGUMENT), one of them is beyond the table (TAU_FRAME_OUTSIDE) or
// was handed in before (TAU_FRAME_TWICE). Cost: two steps a frame.
enum tau_status tau_frames_add(struct tau_frames *frames, struct tau_frame first, uint32_t count);

// Makes RESERVED a pool of its own with COUNT frames of FRAMES, zeroed. Fails, with nothing
// changed, if and only if FRAMES is a reserved pool itself (TAU_BAD_ARGUMENT) or fewer are free
// (TAU_NO_FRAME). Cost: one step a frame and its zeroing; meant for admission, not for a deadline.
enum tau_status tau_frames_reserve(struct tau_frames *frames, struct tau_frames *reserved,
                                   uint32_t count);

// Gives all frames that RESERVED holds free back to FRAMES. Cost: one step a frame.
void tau_frames_return(struct tau_frames *frames, struct tau_frames *reserved);

// Zeroes one dirty frame and makes it ready. False: there is none. Cost: one page. Run it when
// idle: while a ready frame is left, no fault zeroes.
bool tau_frames_clean_one(struct tau_frames *frames);

// Frames that can be taken now.
uint32_t tau_frames_free_count(const struct tau_frames *frames);

// Constant-time self test.
bool tau_frames_invariants_hold(const struct tau_frames *frames);

#ifndef __cplusplus  // which has no compound literals
// Makes FRAMES a reserved pool of the machine's frames 0 ... COUNT - 1, at least one, all ready and
// zeroed, with a word for each at LINKS: what tau_frames_init, _add and _reserve would make
// together, at one store a frame. Fails if and only if COUNT is above TAU_FRAMES_MAX
// (TAU_BAD_ARGUMENT).
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
