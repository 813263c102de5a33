// Steps on regions, inlined, for vspace.c and the heaps that make regions of their own.
#ifndef TAU_VSPACE_INLINE_H
#define TAU_VSPACE_INLINE_H

#include "core/port.h"
#include "core/private/pages/frames_inline.h"
#include "core/private/pages/region_tree_inline.h"
#include "core/private/pages/validity_inline.h"
#include "core/vspace.h"

#ifndef TAU_PORT_FORGET_REGION
#define TAU_PORT_FORGET_REGION(space, start) ((void)(space), (void)(start))
#endif

// Stores TOP as the word of the region that starts at START. This may shorten the region's stack.
// Every store that unmaps a page is this one.
TAU_SHARED void vspace_region_cut(struct tau_vspace *space, uint32_t start, uint32_t top) {
    TAU_ASSERT(start != 0);
    TAU_ASSERT(validity_sp(top) < space->validity.pages_count);
    space->validity.regions[start].top = top;
    TAU_PORT_FORGET_REGION(space, start);
}

// Empties the region that starts at START and gives it FLAGS (state and rights).
TAU_SHARED void vspace_region_empty(struct tau_vspace *space, uint32_t start, uint32_t flags) {
    TAU_ASSERT(start != 0);
    TAU_ASSERT((flags & TAU_NUMBER_MASK) == 0);
    vspace_region_cut(space, start, (start - 1) | flags);
}

// Returns the frames of stack entries FIRST … SP of a region, at least one, to the frame pool. SP
// is the top of the stack. The caller writes the region's word.
TAU_SHARED void vspace_region_release(struct tau_vspace *space, uint32_t first, uint32_t sp) {
    const struct tau_validity *const validity = &space->validity;
    TAU_ASSERT(first <= sp);
    TAU_ASSERT(sp < validity->pages_count);
    const uint32_t count = sp - first + 1;
    frames_release(space->frames, validity_frame_at(validity, sp),
                   validity_frame_at(validity, first), count);
    space->mapped_pages -= count;
}

#endif
