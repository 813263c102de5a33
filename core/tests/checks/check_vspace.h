// Full walk over an address space: its regions, its pages validity array, its counts.
#ifndef TAU_CHECK_VSPACE_H
#define TAU_CHECK_VSPACE_H

#include "core/vspace.h"

// What check_vspace adds to the number of a broken [PVA-n].
#define CHECK_VSPACE_VALIDITY 100u

// The number of the first broken invariant of docs/spec/vspace.md ("[VSP-n]"; [PVA-n] plus 100), 0
// if all hold. Adds 1 to PLACES, one byte per frame of the machine or NULL, for every mapped page's
// frame. Cost: a few steps a page.
unsigned check_vspace(const struct tau_vspace *space, unsigned char *places);

#endif
