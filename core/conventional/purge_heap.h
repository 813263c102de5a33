// The conventional heap with our policy: free gives every page back that becomes wholly free, at
// once and anywhere in the heap. An ablation: it separates what that policy saves from what the
// real-time MMU saves, which gives the same pages back in constant time.
#ifndef TAU_PURGE_HEAP_H
#define TAU_PURGE_HEAP_H

#include "core/conventional/break_heap.h"

#ifdef __cplusplus
extern "C" {
#endif

// As tau_break_heap_free, and every page of the block is unmapped that no header of a block needs.
// All other calls are those of the conventional heap; no object of HEAP may be freed by
// tau_break_heap_free. A page of a free block below the break can be mapped by a late access: the
// table does not know whose it is.
// Cost: linear in the pages of the block.
enum tau_status tau_purge_heap_free(struct tau_break_heap *heap, void *pointer);

#ifdef __cplusplus
}
#endif

#endif
