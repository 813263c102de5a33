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
    TAU_PLAN_INVALID,  // sizes not strictly different, zero, or more than TAU_BUDGET_CLASSES_MAX
};

#endif
