// The calls of alone.c that are used. The contracts are those of core/budget.h and core/tlsf.h, but
// for extend and shorten. The caller is the only thread and holds the lock by tau_lock_enter_alone,
// or has taken it.
#ifndef TAU_LINUX_RUNTIME_ALONE_H
#define TAU_LINUX_RUNTIME_ALONE_H

#include <stdbool.h>

#include "core/budget.h"
#include "core/tlsf.h"

// Lengthens a heap of one pool by SIZE_BYTES, a multiple of TAU_ALIGNMENT, that lie directly behind
// it, so that objects reach from the old memory into the new. Fails if and only if the header, the
// footer or a link of the last block was overwritten. Constant time.
bool tau_alone_tlsf_extend(struct tau_tlsf *heap, size_t size_bytes);
// Shortens a heap of one pool by as many multiples of UNIT_BYTES, a power of two, as its last block
// has to spare if it is free; returns the bytes, which are the caller's. 0 also if the header, the
// footer or a link of that block was overwritten. Constant time.
size_t tau_alone_tlsf_shorten(struct tau_tlsf *heap, size_t unit_bytes);
void *tau_alone_tlsf_malloc(struct tau_tlsf *heap, size_t size_bytes);
enum tau_status tau_alone_tlsf_free(struct tau_tlsf *heap, void *pointer);
void *tau_alone_budget_malloc(struct tau_budget *heap, size_t size_bytes);
enum tau_status tau_alone_budget_free(struct tau_budget *heap, void *pointer);

#endif
