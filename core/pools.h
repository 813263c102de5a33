// Pools for bands of sizes: a heap that cannot fail while no band holds more than its limit.
//
// A band is a range of sizes: those that are larger than the next smaller band's. Its pool has one
// block for each object that may live at the same time, large enough for any size of the band. So
// no order of calls, and no past, makes a call fail: every request within the limits is served. The
// limits come from a plan (`tau plan --guarantee`) or from the user.
//
//   guarantee   malloc(n) succeeds if and only if n has a band, fewer than the band's count of its
//               objects are alive, and no free block was overwritten.
//
// Prior art: a pool for each exact size is static allocation [P1-25]; Appel and Naumann (ISMM 2020)
// prove for a free list per size class when malloc must succeed. Here the bands' borders are chosen
// so that the whole arena is smallest.
//
// Blocks, their checks and the search for an address's pool: see core/budget.h. A heap with more
// memory than its pools need has a TLSF behind them, which serves and counts requests beyond a
// limit. It makes an exceeded limit visible instead of fatal; no promise covers it.
//
// A port (core/port.h) may define TAU_PORT_PEAK(heap, size_bytes, count, limit_count). It is called
// when more objects of a band are alive than ever before: COUNT of at most LIMIT_COUNT, in blocks
// of SIZE_BYTES. It is called outside the lock, once for each COUNT. So a port warns once per band,
// at 80 % of its limit, if it tests COUNT == LIMIT_COUNT - LIMIT_COUNT / 5.
#ifndef TAU_POOLS_H
#define TAU_POOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/budget.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tau_pools;  // lives in the memory given to tau_pools_init

struct tau_pools_band_statistics {
    uint32_t size_bytes;  // each block's: the band's largest size, rounded up to TAU_ALIGNMENT
    uint32_t limit_count;
    uint32_t used_count;
    uint32_t peak_used_count;
    uint32_t exceeded_count;  // requests beyond the limit; does not wrap around
};

// Makes a heap in SIZE_BYTES at MEMORY with COUNT bands and sets *HEAP. BANDS has the largest size
// of each band in increasing order, and its limit. A block whose size is a multiple of a power of
// two up to ALIGNMENT_BYTES starts at a multiple of it. ALIGNMENT_BYTES is 0 or a power of two;
// less than TAU_ALIGNMENT means TAU_ALIGNMENT. The memory behind the pools becomes the overflow
// heap, if it is large enough for one (TAU_TLSF_POOL_MIN_BYTES). Fails if and only if:
// - HEAP or MEMORY is NULL, the end of MEMORY wraps around, ALIGNMENT_BYTES is above 4096 or
//   neither 0 nor a power of two, or it is above TAU_ALIGNMENT and MEMORY is not a multiple of it
//   (TAU_BAD_ARGUMENT)
// - COUNT is 0 or above TAU_BUDGET_CLASSES_MAX, a size is 0 or above 1 GiB, a limit is 0, sizes do
//   not increase after rounding up to TAU_ALIGNMENT, or two borders lie in one step of sizes, 1/512
//   to 1/256 of their size wide (TAU_PLAN_INVALID)
// - the pools do not fit, or have 2^27 * TAU_ALIGNMENT bytes (TAU_PLAN_TOO_LARGE)
// Cost: linear in the tables (at most 8 KiB). It does not depend on the limits. Stack on 32-bit
// targets: at most 600 bytes. Ports make the heap in the first malloc.
enum tau_status tau_pools_init(struct tau_pools **heap, void *memory, size_t size_bytes,
                               const struct tau_budget_class *bands, size_t count,
                               size_t alignment_bytes);

// Bytes that tau_pools_init needs for BANDS, with OVERFLOW_BYTES behind the pools. 0 if the bands
// are invalid, or if no address space has so many.
size_t tau_pools_size(const struct tau_budget_class *bands, size_t count, size_t alignment_bytes,
                      size_t overflow_bytes);

// Takes a block of the one band that holds SIZE_BYTES, never of another one. Without a block, the
// overflow heap serves the request, and the band counts it. A block that was overwritten is
// reported instead of counted. Returns NULL if and only if SIZE_BYTES is 0, or neither serves it;
// tau_pools_reason says why. Constant time for any number of bands.
void *tau_pools_malloc(struct tau_pools *heap, size_t size_bytes);
// As malloc, cleared. A product that wraps around is above all bands.
void *tau_pools_calloc(struct tau_pools *heap, size_t count, size_t size_bytes);
// The object belongs to the band of SIZE_BYTES rounded up to ALIGNMENT, if that band's blocks have
// the alignment. Returns NULL too if ALIGNMENT is not a power of two.
void *tau_pools_aligned_alloc(struct tau_pools *heap, size_t alignment, size_t size_bytes);
// Keeps the block as long as the new size is in its band. Otherwise the object moves to the new
// size's band, also when it shrinks: it no longer counts against the larger band's limit. As in C,
// the new place has the usual alignment, whatever the old one had. An object of the overflow heap
// that cannot move to a block counts as another request beyond the limit. NULL and 0 as in
// tau_tlsf_realloc. If it returns NULL for another size, the object is unchanged.
void *tau_pools_realloc(struct tau_pools *heap, void *pointer, size_t size_bytes);
// The contracts of tau_budget_free and tau_budget_usable_size.
enum tau_status tau_pools_free(struct tau_pools *heap, void *pointer);
size_t tau_pools_usable_size(const struct tau_pools *heap, const void *pointer);

// Whether the pools would serve SIZE_BYTES now: TAU_OK, TAU_LIMIT_REACHED or TAU_ABOVE_BANDS.
// TAU_OVERWRITTEN if malloc would find the block that it takes overwritten (level 1 and above).
// TAU_BAD_ARGUMENT for 0 bytes. Constant time.
enum tau_status tau_pools_reason(const struct tau_pools *heap, size_t size_bytes);

#if TAU_STATISTICS
struct tau_pools_statistics {
    size_t pools_bytes;    // all blocks, and gaps that alignment causes
    size_t control_bytes;  // tables
    size_t bands_count;
    uint32_t exceeded_count;              // requests beyond a band's limit, in all bands
    uint32_t above_bands_count;           // requests larger than the largest band
    struct tau_tlsf_statistics overflow;  // the heap behind the pools; all zero without one
};
struct tau_pools_statistics tau_pools_statistics(const struct tau_pools *heap);
#endif
// INDEX is the place in the bands given to init. Returns all zeros if and only if it is outside.
struct tau_pools_band_statistics tau_pools_band_statistics(const struct tau_pools *heap,
                                                           size_t index);
// Self test of bands and blocks' counts, and of the overflow heap.
bool tau_pools_invariants_hold(const struct tau_pools *heap);

#ifdef __cplusplus
}
#endif

#endif
