// Calls of a lone thread, without locks. malloc and free have the contracts of core/budget.h,
// core/pools.h and core/tlsf.h. The caller is the only thread and holds the lock by
// tau_lock_enter_alone, or has taken it.
#ifndef TAU_LINUX_RUNTIME_UNLOCKED_H
#define TAU_LINUX_RUNTIME_UNLOCKED_H

#include <stdbool.h>
#include <stdint.h>

#include "core/budget.h"
#include "core/pools.h"
#include "core/tlsf.h"

// In a block's header: the block is free.
#define TAU_UNLOCKED_FREE ((uintptr_t)1)

// Lengthens a heap of one pool by SIZE_BYTES, a multiple of TAU_ALIGNMENT, that lie directly after
// it, so that objects reach from the old memory into the new. Constant time.
void tau_unlocked_tlsf_extend(struct tau_tlsf *heap, size_t size_bytes);
// Shortens a heap of one pool by the free memory at its end, in multiples of UNIT_BYTES, a power of
// two. Returns the bytes, which are the caller's. The heap's peak, which may be more than it has
// left, starts again; *PEAK_BYTES becomes at least as much. Constant time.
size_t tau_unlocked_tlsf_shorten(struct tau_tlsf *heap, size_t unit_bytes, size_t *peak_bytes);
// Takes the first free block of the largest class out of the heap, which does not count as used.
// *SIZE_BYTES is its usable size. NULL if it has fewer than LEAST_BYTES, or was overwritten.
void *tau_unlocked_tlsf_hold(struct tau_tlsf *heap, size_t least_bytes, size_t *size_bytes);
// The same with the start of the wilderness, up to where memory was ever touched.
void *tau_unlocked_tlsf_hold_wild(struct tau_tlsf *heap, size_t least_bytes, size_t *size_bytes);
// Frees such a block.
void tau_unlocked_tlsf_unhold(struct tau_tlsf *heap, void *pointer);
size_t tau_unlocked_tlsf_used_bytes(const struct tau_tlsf *heap);
void *tau_unlocked_tlsf_malloc(struct tau_tlsf *heap, size_t size_bytes);
// Makes COUNT used blocks that follow each other, each of BLOCK_BYTES with its header, the last one
// perhaps a little larger. Returns the first object, or NULL if there is no room for all of them.
void *tau_unlocked_tlsf_carve(struct tau_tlsf *heap, size_t block_bytes, size_t count);
// Frees used blocks that follow each other as one of BYTES. All headers after the first have
// TAU_UNLOCKED_FREE by now, so that no object in the free block is freed twice.
void tau_unlocked_tlsf_free_row(struct tau_tlsf *heap, void *first, size_t bytes);
enum tau_status tau_unlocked_tlsf_free(struct tau_tlsf *heap, void *pointer);
void *tau_unlocked_budget_malloc(struct tau_budget *heap, size_t size_bytes);
// Also frees blocks of pools.
enum tau_status tau_unlocked_budget_free(struct tau_budget *heap, void *pointer);
void *tau_unlocked_pools_malloc(struct tau_pools *heap, size_t size_bytes);

// These three need no lock.

// The most bytes that a TLSF of this machine can have.
size_t tau_unlocked_pool_max_bytes(void);

// Bytes of the in-use bits of a budget with these classes, which check levels 1 and 2 have; 0 if
// the classes are invalid.
size_t tau_unlocked_budget_bits_bytes(const struct tau_budget_class *classes, size_t classes_count);
// Bytes of the live object at POINTER: a bucket of PLANNED, which may be NULL, or a block of a
// TLSF. Nobody else changes them.
size_t tau_unlocked_usable_bytes(const struct tau_budget *planned, const void *pointer);

#endif
