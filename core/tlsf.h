// Two-level segregated fit (TLSF): malloc and free in constant time, in memory that the caller
// provides.
//
// Source: M. Masmano et al., "TLSF: a New Dynamic Memory Allocator for Real-Time Systems", ECRTS
// 2004. Differences from the paper: docs/design/tlsf.md. Layout and invariants: docs/spec/tlsf.md.
// Bounds: docs/spec/bounds.md; a test fails if a call takes one instruction more.
//
// No function recurses or touches memory outside the pools. Only walk, init and add_pool loop, as
// their contracts state. With the port's lock (core/port.h), threads and interrupts may call every
// function that takes a heap. Without the lock, no function is reentrant. Every object is aligned
// to TAU_ALIGNMENT: 8 bytes on 32-bit machines (4 if built so), 16 on 64-bit machines.
#ifndef TAU_TLSF_H
#define TAU_TLSF_H

#include <stdbool.h>
#include <stddef.h>

#include "core/config.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// Smallest memory that can hold a heap, control block included.
#define TAU_TLSF_POOL_MIN_BYTES 256u

struct tau_tlsf;  // lives at the start of the memory given to tau_tlsf_init; never copied

// The options of this build, in a name (core/config.h). The value is the check level.
extern const unsigned char TAU_TLSF_BUILT;

// Called for each block in address order, with its PAYLOAD of SIZE_BYTES. Returns false to stop.
typedef bool (*tau_tlsf_visitor)(void *context, void *payload, size_t size_bytes, bool is_free);

// Makes a heap of SIZE_BYTES at MEMORY. Pools of up to POOL_MAX_BYTES each can be added later. A
// POOL_MAX_BYTES of 0 allows pools as large as this one.
// Returns NULL if and only if:
// - MEMORY is NULL, or its end wraps around
// - SIZE_BYTES is less than TAU_TLSF_POOL_MIN_BYTES, or too small for the control block that
//   POOL_MAX_BYTES needs
// - a pool is larger than 2^30 bytes (32-bit words), 2^36 bytes (64-bit words), or 2^33 bytes
//   (64-bit words without a count-leading-zeros instruction)
// Cost: linear in the control block, which has at most 1000 bytes for 1 MiB. It does not depend on
// SIZE_BYTES, and the payload is not touched.
struct tau_tlsf *tau_tlsf_init(void *memory, size_t size_bytes, size_t pool_max_bytes);

// Bytes from the start of an aligned MEMORY to the first object of a heap that init would make for
// POOL_MAX_BYTES.
size_t tau_tlsf_control_bytes(size_t pool_max_bytes);

// Adds a pool of SIZE_BYTES at MEMORY.
// Fails if and only if:
// - MEMORY is NULL, or its end wraps around
// - SIZE_BYTES is too small for one block
// - the pool's row of blocks is larger than pool_max_bytes
// - the pool overlaps memory of the heap
// - what describes an added pool was overwritten
// Cost: one step per pool.
enum tau_status tau_tlsf_add_pool(struct tau_tlsf *heap, void *memory, size_t size_bytes);

// Returns NULL if and only if SIZE_BYTES is 0, or no free block of the size's class or of a larger
// class fits and the memory behind all blocks is too small. The memory is not cleared.
// Where an object lies does not depend on how much memory is behind. So a heap of one pool that
// serves a program does it in every larger size too, if pool_max_bytes is the same, no alignment
// above TAU_ALIGNMENT is asked, and no realloc moved the last object because too little was behind
// it (docs/design/tlsf.md).
void *tau_tlsf_malloc(struct tau_tlsf *heap, size_t size_bytes);

// As malloc of COUNT * SIZE_BYTES, cleared. Returns NULL also if the product overflows.
// Cost: malloc, and the clearing.
void *tau_tlsf_calloc(struct tau_tlsf *heap, size_t count, size_t size_bytes);

// As malloc, at a multiple of ALIGNMENT. Returns NULL also if ALIGNMENT is not a power of two.
void *tau_tlsf_aligned_alloc(struct tau_tlsf *heap, size_t alignment, size_t size_bytes);

// Resizes POINTER's object to SIZE_BYTES and keeps the alignment that it was requested with. The
// object grows in place into the next block if it can, else into the previous one. Otherwise it is
// copied.
// - realloc(NULL, n) is malloc.
// - realloc(p, 0) frees the object and returns NULL.
// - If the result is NULL and SIZE_BYTES is not 0, the object is unchanged.
// From check level 1 on, an overwritten alignment of the object is reported, and the result is
// NULL.
void *tau_tlsf_realloc(struct tau_tlsf *heap, void *pointer, size_t size_bytes);

// Frees the object and merges its block with free neighbors. NULL is allowed. Detected misuse
// changes nothing, and the call returns the reason. Check level 0 detects nothing.
// docs/spec/tlsf.md, "Checks", says what each level detects and what passes for an object.
enum tau_status tau_tlsf_free(struct tau_tlsf *heap, void *pointer);

// Bytes that the object may use, at least the size requested. 0 for NULL and for a pointer that
// is not an object.
size_t tau_tlsf_usable_size(const struct tau_tlsf *heap, const void *pointer);

// Alignment that the object was requested with, at least TAU_ALIGNMENT. 0 for NULL and for a
// pointer that is not an object.
size_t tau_tlsf_alignment(const struct tau_tlsf *heap, const void *pointer);

// Returns what free would return for POINTER, without freeing it.
// Cost: constant time.
enum tau_status tau_tlsf_check_pointer(const struct tau_tlsf *heap, const void *pointer);

// Visits every block of every pool. It holds the lock, so VISIT must not call this heap. In a pool
// with an overwritten header it ends there, and so do the pools at one whose description was
// overwritten.
// Cost: one step per block.
void tau_tlsf_walk(const struct tau_tlsf *heap, tau_tlsf_visitor visit, void *context);

#if TAU_STATISTICS
struct tau_tlsf_statistics {
    size_t capacity_bytes;       // all blocks of all pools, with headers
    size_t used_bytes;           // allocated blocks, with headers
    size_t peak_used_bytes;      // largest used_bytes ever
    size_t free_bytes;           // capacity_bytes - used_bytes
    size_t largest_free_bytes;   // lower bound, by class, of the largest request that succeeds now
    size_t out_of_memory_count;  // requests refused for want of memory
    size_t control_bytes;        // the control block
    // Bytes at the end of the only pool that no object ever had. A heap smaller by as many would
    // have placed every object in the same place, if its pool_max_bytes were the same.
    size_t untouched_bytes;
};

// Cost: constant time.
struct tau_tlsf_statistics tau_tlsf_statistics(const struct tau_tlsf *heap);
#endif

// Constant-time self test of the control block, meant for production too.
// core/tests/checks/check_tlsf.c checks the whole heap.
bool tau_tlsf_invariants_hold(const struct tau_tlsf *heap);

#ifdef __cplusplus
}
#endif

#endif
