// The reasons an operation of the core can give. Everything but TAU_OK has changed nothing.
#ifndef TAU_STATUS_H
#define TAU_STATUS_H

enum tau_status {
    TAU_OK = 0,
    TAU_BAD_ARGUMENT,        // a null, unaligned or out-of-range argument
    TAU_POOL_TOO_SMALL,      // the memory cannot hold the control block and one block
    TAU_POOL_TOO_LARGE,      // the pool is larger than the heap was initialised for
    TAU_POOL_OVERLAPS,       // the pool overlaps memory that the heap already has
    TAU_NO_MEMORY,           // no free block is large enough
    TAU_MISALIGNED_POINTER,  // not a multiple of the alignment
    TAU_FOREIGN_POINTER,     // outside the heap, or not the start of an object
    TAU_DOUBLE_FREE,         // the object is already free
    TAU_OVERWRITTEN,         // the header of this block or of a neighbour was overwritten
    TAU_PLAN_TOO_LARGE,      // the plan's regions do not fit into the memory
    TAU_PLAN_INVALID,     // sizes not strictly different, zero, or more than TAU_BUDGET_CLASSES_MAX
    TAU_SPACE_TOO_SMALL,  // a space of fewer than 2^TAU_SPACE_PAGES_LOG2_MIN pages
    TAU_SPACE_TOO_LARGE,  // a space of more than 2^TAU_SPACE_PAGES_LOG2_MAX pages
    TAU_PAGE_ZERO,        // page 0 is never used: its sp cannot say that a region is empty
    TAU_PAGE_OUTSIDE,     // the page is beyond the space
    TAU_PAGE_MAPPED,      // the page is mapped already
    TAU_REGION_TOO_LARGE,  // the region reaches beyond the space
    TAU_REGION_OVERLAPS,   // some page of it belongs to a region
    TAU_NOT_A_REGION,      // no region starts at this page
    TAU_NOT_IN_REGION,     // the page belongs to no region, or to free memory of a heap
    TAU_REGION_IN_HEAP,    // the region belongs to a heap, which alone may unmap it
    TAU_ACCESS_DENIED,     // the region's rights do not allow this access
    TAU_NO_FRAME,          // no frame is left
    TAU_NO_TABLE,          // no record or frame for a part of the tables is left
    TAU_NOT_ADMITTED,      // the space's reserved frames would not hold it
    TAU_FRAME_OUTSIDE,     // the frame is not in the table
    TAU_FRAME_TWICE,       // the frame was handed in before
};

#endif
