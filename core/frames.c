// Frames in pools. The list operations are inlined in frames_inline.h. This file has the calls that
// no deadline waits for.
#include "core/frames.h"

#include "core/port.h"
#include "core/private/memory.h"
#include "core/private/pages/frames_inline.h"

_Static_assert(TAU_FRAMES_MAX < FRAMES_ABSENT, "no frame has the number that says there is none");
_Static_assert(sizeof(struct tau_frame) == sizeof(uint32_t), "a link is a frame's number");

static void frames_zero(const struct tau_frames *frames, uint32_t frame) {
    TAU_ASSERT(frame < frames->frames_count);
    TAU_ASSERT(frames->links[frame] != FRAMES_ABSENT);
    if (frames->memory != NULL) {
        TAU_PORT_FILL(frames->memory + ((size_t)frame << TAU_PAGE_LOG2), 0, TAU_PAGE_BYTES);
    }
}

enum tau_status tau_frames_init(struct tau_frames *frames, uint32_t *links, uint32_t frames_count,
                                void *memory) {
    if (frames_count == 0 || frames_count > TAU_FRAMES_MAX ||
        !memory_holds(links, frames_count * sizeof *links) ||
        (memory != NULL &&
         ((uint64_t)frames_count << TAU_PAGE_LOG2) - 1 > UINTPTR_MAX - (uintptr_t)memory)) {
        return TAU_BAD_ARGUMENT;
    }
    for (uint32_t frame = 0; frame < frames_count; frame++) {  // bound: frames_count
        links[frame] = FRAMES_ABSENT;
    }
    *frames = (struct tau_frames){.links = links, .frames_count = frames_count, .memory = memory};
    frames->released = &frames->dirty;
    TAU_ASSERT(tau_frames_invariants_hold(frames));
    return TAU_OK;
}

enum tau_status tau_frames_add(struct tau_frames *frames, struct tau_frame first, uint32_t count) {
    TAU_INVARIANT(tau_frames_invariants_hold(frames));
    if (count == 0 || frames->released != &frames->dirty) {
        return TAU_BAD_ARGUMENT;
    }
    if (first.number >= frames->frames_count || count > frames->frames_count - first.number) {
        return TAU_FRAME_OUTSIDE;
    }
    for (uint32_t i = 0; i < count; i++) {  // bound: count
        if (frames->links[first.number + i] != FRAMES_ABSENT) {
            return TAU_FRAME_TWICE;
        }
    }
    TAU_ASSERT(first.number + count > first.number);
    for (uint32_t i = count; i > 0; i--) {  // bound: count; the lowest frame is taken first
        const uint32_t frame = first.number + i - 1;
        frames_splice(frames, &frames->dirty, frame, frame, 1);
    }
    TAU_ASSERT(frames->dirty.count >= count);
    return TAU_OK;
}

bool tau_frames_clean_one(struct tau_frames *frames) {
    TAU_INVARIANT(tau_frames_invariants_hold(frames));
    if (frames->dirty.count == 0) {
        return false;
    }
    const uint32_t frame = frames->dirty.head;
    TAU_ASSERT(frame < frames->frames_count);
    frames->dirty.head = frames->links[frame];
    frames->dirty.count--;
    frames_splice(frames, &frames->ready, frame, frame, 1);
    frames_zero(frames, frame);
    return true;
}

enum tau_status tau_frames_reserve(struct tau_frames *frames, struct tau_frames *reserved,
                                   uint32_t count) {
    TAU_INVARIANT(tau_frames_invariants_hold(frames));
    TAU_ASSERT(reserved != frames);
    if (frames->released != &frames->dirty) {
        return TAU_BAD_ARGUMENT;
    }
    if (count > tau_frames_free_count(frames)) {
        return TAU_NO_FRAME;
    }
    *reserved = (struct tau_frames){
        .links = frames->links, .frames_count = frames->frames_count, .memory = frames->memory};
    reserved->released = &reserved->ready;
    for (uint32_t i = 0; i < count; i++) {  // bound: count
        if (frames->ready.count == 0) {
            (void)tau_frames_clean_one(frames);
        }
        const uint32_t frame = frames_take(frames);
        frames_splice(reserved, &reserved->ready, frame, frame, 1);
    }
    TAU_ASSERT(reserved->ready.count == count);
    return TAU_OK;
}

void tau_frames_return(struct tau_frames *frames, struct tau_frames *reserved) {
    TAU_INVARIANT(tau_frames_invariants_hold(reserved));
    TAU_ASSERT(frames->links == reserved->links);
    const uint32_t count = reserved->ready.count;
    for (uint32_t i = 0; i < count; i++) {  // bound: the frames of the pool
        const uint32_t frame = frames_take(reserved);
        frames_splice(frames, &frames->dirty, frame, frame, 1);
    }
    TAU_ASSERT(reserved->ready.count == 0);
}

uint32_t tau_frames_free_count(const struct tau_frames *frames) {
    return frames->ready.count + frames->dirty.count;
}

bool tau_frames_invariants_hold(const struct tau_frames *frames) {
    TAU_ASSERT(frames != NULL);
    const bool is_reserved = frames->released == &frames->ready;
    if (frames->links == NULL || frames->frames_count > TAU_FRAMES_MAX ||
        (!is_reserved && frames->released != &frames->dirty) ||
        (is_reserved && frames->dirty.count != 0)) {
        return false;
    }
    return tau_frames_free_count(frames) <= frames->frames_count &&
           (frames->ready.count == 0 || frames->ready.head < frames->frames_count) &&
           (frames->dirty.count == 0 || frames->dirty.head < frames->frames_count);
}
