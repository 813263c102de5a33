// Full walk over hierarchical tables, chunk by chunk and page by page.
#ifndef TAU_CHECK_HIERARCHY_H
#define TAU_CHECK_HIERARCHY_H

#include "core/hierarchy.h"

// Result of a walk. The arrays are the caller's, one byte per record and one per frame; 1 is added
// for every chunk that has the record, and for every mapped page's frame.
struct check_hierarchy_places {
    unsigned char *records;
    unsigned char *frames;
    uint32_t promised;  // records that faults in this space may still take, if it commits
};

// The number of the first broken invariant of docs/spec/hierarchy.md ("[HIER-n]"), 0 if all hold.
// Cost: a few steps a page.
unsigned check_hierarchy(const struct tau_hierarchy *space, struct check_hierarchy_places *places);

#endif
