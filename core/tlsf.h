// Two-level segregated fit: malloc and free in constant time over memory that the caller gives.
//
// Source: M. Masmano et al., "TLSF: a New Dynamic Memory Allocator for Real-Time Systems", ECRTS
// 2004; what differs from it is in docs/design/tlsf.md. Layout, invariants and
// bounds are docs/spec/tlsf.md; a test fails when one instruction more than a stated bound is seen.
//
// No function loops (walk and init excepted, as stated there), recurses, or touches memory outside
// the pools. With the port's lock (core/port.h) every function that takes a heap is safe for
// threads and interrupts, without it none is. Alignment of every object: TAU_ALIGNMENT (8 on
// 32-bit, 16 on 64-bit).
#ifndef TAU_TLSF_H
#define TAU_TLSF_H

#include <stdbool.h>
#include <stddef.h>

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tau_tlsf;  // lives at the start of the memory given to tau_tlsf_init; never copied

struct tau_tlsf_statistics {
    size_t capacity_bytes;   // all blocks, headers included, of all pools
    size_t used_bytes;       // blocks handed out, headers included
    size_t peak_used_bytes;  // largest used_bytes ever
    size_t free_bytes;       // capacity_bytes - used_bytes
    size_t
        largest_free_bytes;  // lower bound of the largest request that succeeds now, by size class
    size_t out_of_memory_count;  // requests that were refused for want of memory
    size_t control_bytes;        // the control block
};

// Called for each block in address order: PAYLOAD of SIZE_BYTES, IS_FREE. Returns false to stop.
typedef bool (*tau_tlsf_visitor)(void *context, void *payload, size_t size_bytes, bool is_free);

// Makes a heap of SIZE_BYTES at MEMORY, which later pools may extend up to POOL_MAX_BYTES each (0:
// as large as this one). Returns NULL if and only if MEMORY is NULL, SIZE_BYTES is less
// than TAU_TLSF_POOL_MIN_BYTES or than POOL_MAX_BYTES' control block needs, or a pool is beyond
// 2^30 bytes (32-bit words; 64-bit: 2^36, or 2^33 without a count-leading-zeros instruction). Cost:
// proportional to the control block (at most 1000 bytes for 1 MiB), not to SIZE_BYTES; the payload
// is not touched.
struct tau_tlsf *tau_tlsf_init(void *memory, size_t size_bytes, size_t pool_max_bytes);

// Bytes from the start of an aligned MEMORY to the first object of a heap whose pools have at most
// POOL_MAX_BYTES, which init would take.
size_t tau_tlsf_control_bytes(size_t pool_max_bytes);

// Adds SIZE_BYTES at MEMORY. Fails if and only if it is too small for one block, its row of blocks
// is larger than pool_max_bytes, it overlaps, or MEMORY is NULL. Cost: one step a pool.
enum tau_status tau_tlsf_add_pool(struct tau_tlsf *heap, void *memory, size_t size_bytes);

// Returns NULL if and only if SIZE_BYTES is 0 or no free block of its class or a larger one fits.
// The memory is not cleared.
void *tau_tlsf_malloc(struct tau_tlsf *heap, size_t size_bytes);

// As malloc of COUNT * SIZE_BYTES (NULL if that overflows), cleared. Cost: malloc + clearing.
void *tau_tlsf_calloc(struct tau_tlsf *heap, size_t count, size_t size_bytes);

// As malloc, with the address a multiple of ALIGNMENT. NULL also if ALIGNMENT is no power of two.
void *tau_tlsf_aligned_alloc(struct tau_tlsf *heap, size_t alignment, size_t size_bytes);

// Resizes POINTER's object to SIZE_BYTES, in place where it can (the next block, then the previous
// one), keeping the alignment that it was asked with. realloc(NULL, n) is malloc; realloc(p, 0)
// frees and returns NULL. On NULL with SIZE_BYTES > 0 the object is as it was.
void *tau_tlsf_realloc(struct tau_tlsf *heap, void *pointer, size_t size_bytes);

// Gives the object back and merges it with free neighbours. NULL is allowed. Misuse that is found
// returns its reason and changes nothing; what each check level finds, and what passes for an
// object, is docs/spec/tlsf.md, "Checks". Level 0 finds nothing.
enum tau_status tau_tlsf_free(struct tau_tlsf *heap, void *pointer);

// Bytes that the object may use (at least those asked for); 0 for NULL and for what is not an
// object.
size_t tau_tlsf_usable_size(const struct tau_tlsf *heap, const void *pointer);

// The alignment that the object was asked with, at least TAU_ALIGNMENT; 0 for NULL and for what is
// not an object.
size_t tau_tlsf_alignment(const struct tau_tlsf *heap, const void *pointer);

// What free would answer for POINTER, without freeing. Constant time.
enum tau_status tau_tlsf_check_pointer(const struct tau_tlsf *heap, const void *pointer);

// Visits every block of every pool, holding the lock: VISIT must not call this heap. Cost: one step
// a block.
void tau_tlsf_walk(const struct tau_tlsf *heap, tau_tlsf_visitor visit, void *context);

// Constant time.
struct tau_tlsf_statistics tau_tlsf_statistics(const struct tau_tlsf *heap);

// Constant-time self test of the control block; meant to be called in production. The full walk is
// core/tests/checks/check_tlsf.c.
bool tau_tlsf_invariants_hold(const struct tau_tlsf *heap);

#ifdef __cplusplus
}
#endif

#endif
