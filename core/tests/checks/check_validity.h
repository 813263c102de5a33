// Full walk over a pages validity array, region by region.
#ifndef TAU_CHECK_VALIDITY_H
#define TAU_CHECK_VALIDITY_H

#include "core/region_tree.h"
#include "core/validity.h"

// The number of the first broken invariant of docs/spec/vspace.md ("[PVA-n]"), 0 if all hold.
// STARTS says where regions start, LINKS and FRAMES_COUNT are the machine's table of frames. Adds 1
// to PLACES, one byte per frame of the machine or NULL, for every mapped page's frame. Touches
// nothing outside the memories, whatever they hold. Cost: a few steps a page.
unsigned check_validity(const struct tau_validity *validity, const struct tau_region_tree *starts,
                        const uint32_t *links, uint32_t frames_count, unsigned char *places);

#endif
