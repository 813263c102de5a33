// See check_frames.h.
#include "core/tests/checks/check_frames.h"

#include <stdlib.h>

#include "core/private/pages/frames_inline.h"

static bool is_zero(const struct tau_frames *frames, uint32_t frame) {
    const unsigned char *bytes = frames->memory + ((size_t)frame << TAU_PAGE_LOG2);
    for (size_t i = 0; i < TAU_PAGE_BYTES; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    return true;
}

// [FRM-1] and [FRM-2] for one list; IS_CLEAN: its frames are to be zero [FRM-3].
static unsigned list_broken(const struct tau_frames *frames, const struct tau_frame_list *list,
                            bool is_clean, unsigned char *seen) {
    uint32_t frame = list->head;
    if (list->count > frames->frames_count) {
        return 1;
    }
    for (uint32_t i = 0; i < list->count; i++) {  // bound: frames_count
        if (frame >= frames->frames_count || frames->links[frame] == FRAMES_ABSENT) {
            return 1;
        }
        if (seen[frame]++ != 0) {
            return 2;
        }
        if (is_clean && frames->memory != NULL && !is_zero(frames, frame)) {
            return 3;
        }
        frame = frames->links[frame];
    }
    return 0;
}

unsigned check_frames(const struct tau_frames *frames, unsigned char *places) {
    const bool is_reserved = frames->released == &frames->ready;
    if (frames->links == NULL || (!is_reserved && frames->released != &frames->dirty) ||
        (is_reserved && frames->dirty.count != 0)) {
        return 4;
    }
    unsigned char *const seen = calloc(frames->frames_count, 1);
    if (seen == NULL) {
        abort();
    }
    unsigned broken = list_broken(frames, &frames->ready, !is_reserved, seen);
    if (broken == 0) {
        broken = list_broken(frames, &frames->dirty, false, seen);
    }
    for (uint32_t frame = 0; places != NULL && frame < frames->frames_count; frame++) {
        places[frame] = (unsigned char)(places[frame] + seen[frame]);
    }
    free(seen);
    return broken;
}
