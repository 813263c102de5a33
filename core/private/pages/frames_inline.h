// The lists of frames, inlined, for the mechanisms that take and release frames.
#ifndef TAU_FRAMES_INLINE_H
#define TAU_FRAMES_INLINE_H

#include "core/frames.h"
#include "core/private/check.h"
#include "core/private/inline.h"

// Link of a frame that was never added to a pool.
#define FRAMES_ABSENT UINT32_MAX

// Takes a ready frame. There must be one.
TAU_SHARED uint32_t frames_take(struct tau_frames *frames) {
    const uint32_t frame = frames->ready.head;
    TAU_ASSERT(frames->ready.count != 0);
    TAU_ASSERT(frame < frames->frames_count);
    frames->ready.head = frames->links[frame];
    frames->ready.count--;
    return frame;
}

// Whether a frame is ready. If none is and MAY_CLEAN, it zeroes one.
TAU_SHARED bool frames_is_ready(struct tau_frames *frames, bool may_clean) {
    if (__builtin_expect(frames->ready.count == 0, 0)) {
        return may_clean && tau_frames_clean_one(frames);
    }
    return true;
}

// Takes a ready frame, after zeroing one if none is ready. Returns false if the pool has no frame.
TAU_SHARED bool frames_take_clean(struct tau_frames *frames, uint32_t *frame) {
    if (!frames_is_ready(frames, true)) {
        return false;
    }
    *frame = frames_take(frames);
    return true;
}

// Puts a chain of COUNT frames from NEWEST to OLDEST onto LIST.
TAU_SHARED void frames_splice(struct tau_frames *frames, struct tau_frame_list *list,
                              uint32_t newest, uint32_t oldest, uint32_t count) {
    TAU_ASSERT(newest < frames->frames_count);
    TAU_ASSERT(oldest < frames->frames_count);
    TAU_ASSERT(count != 0);
    frames->links[oldest] = list->head;
    list->head = newest;
    list->count += count;
}

TAU_SHARED void frames_release(struct tau_frames *frames, uint32_t newest, uint32_t oldest,
                               uint32_t count) {
    frames_splice(frames, frames->released, newest, oldest, count);
}

#endif
