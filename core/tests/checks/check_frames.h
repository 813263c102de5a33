// Full walk over a pool of frames.
#ifndef TAU_CHECK_FRAMES_H
#define TAU_CHECK_FRAMES_H

#include "core/frames.h"

// The number of the first broken invariant of docs/spec/vspace.md ("[FRM-n]"), 0 if all hold. Adds
// 1 to PLACES, one byte per frame of the machine, for every place where a frame is found: what
// several pools and spaces share is sound if each frame that was handed in has one place in the
// end. PLACES may be NULL. Cost: one step a frame, and the bytes of those that are to be zero.
unsigned check_frames(const struct tau_frames *frames, unsigned char *places);

#endif
