// Full walk over a plain page table.
#ifndef TAU_CHECK_PAGETABLE_H
#define TAU_CHECK_PAGETABLE_H

#include "peers/conventional/pagetable.h"

// The number of the first broken invariant of docs/spec/conventional.md ("[PT-n]"), 0 if all hold.
// Adds 1 to PLACES, one byte per frame of the machine, for every mapped page's frame. Cost: one
// step a page.
unsigned check_pagetable(const struct tau_pagetable *table, unsigned char *places);

#endif
