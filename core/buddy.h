// A buddy allocator of frames with four buddies: blocks of 4^k frames, k = 0 ... 7.
//
// A block of order k is 4^k frames in a row whose first number is a multiple of 4^k: with frames of
// 1 KiB the pages of 1 KiB ... 16 MiB that one entry of the composable MMU can map [P2-14]. A block
// splits into its four siblings, and four free siblings are one block again. The free blocks of an
// order are kept by groups of siblings, so that a split or a merge is one step of one list. Layout
// and invariants are docs/spec/buddy.md, the reasons docs/design/buddy.md.
//
// Which block is taken follows from the calls made before and from nothing else. The caller holds
// the lock, if there is one to hold. A refused call has changed nothing.
#ifndef TAU_BUDDY_H
#define TAU_BUDDY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/page.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TAU_BUDDY_ARITY 4u
#define TAU_BUDDY_ORDERS 8u
#define TAU_BUDDY_FRAMES_MAX (UINT32_C(1) << 17)  // the number of a group has 16 bits

// Frames of a block of ORDER.
#define TAU_BUDDY_BLOCK_FRAMES(order) (UINT32_C(1) << 2 * (order))

// Groups of four siblings of ORDER that FRAMES_COUNT frames have, the last one perhaps in part.
#define TAU_BUDDY_GROUPS(frames_count, order)                                                      \
    (((frames_count) + TAU_BUDDY_BLOCK_FRAMES((order) + 1) - 1) >> 2 * ((order) + 1))

// Bytes of state for FRAMES_COUNT frames, a constant if that is one: 27,342 for 16 MiB of 1 KiB.
#define TAU_BUDDY_SIZE_BYTES(frames_count)                                                         \
    (TAU_BUDDY_ORDERS * sizeof(union tau_buddy_link) +                                             \
     (sizeof(union tau_buddy_link) + 1) *                                                          \
         (size_t)(TAU_BUDDY_GROUPS(frames_count, 0) + TAU_BUDDY_GROUPS(frames_count, 1) +          \
                  TAU_BUDDY_GROUPS(frames_count, 2) + TAU_BUDDY_GROUPS(frames_count, 3) +          \
                  TAU_BUDDY_GROUPS(frames_count, 4) + TAU_BUDDY_GROUPS(frames_count, 5) +          \
                  TAU_BUDDY_GROUPS(frames_count, 6) + TAU_BUDDY_GROUPS(frames_count, 7)))

// The neighbors of a group in the list of its order.
union tau_buddy_link {
    uint16_t at[2];  // the next, the previous
    uint32_t both;
};

struct tau_buddy_order {
    uint32_t free_count;    // free blocks of this order
    uint32_t groups_first;  // number of its first group
};

struct tau_buddy {
    union tau_buddy_link *links;  // the head of each order's list, then one per group
    uint8_t *members;             // per group a nibble of free blocks, and above it one of taken
    uint32_t frames_count;
    uint32_t frames_end;  // one after the highest frame that was handed in
    struct tau_buddy_order orders[TAU_BUDDY_ORDERS];
};

// Makes an allocator of the frames 0 ... FRAMES_COUNT - 1 that has none yet, with its state at
// MEMORY. Fails if and only if FRAMES_COUNT is 0 or above TAU_BUDDY_FRAMES_MAX, MEMORY is NULL or
// no multiple of 4, or SIZE_BYTES is less than TAU_BUDDY_SIZE_BYTES(FRAMES_COUNT)
// (TAU_BAD_ARGUMENT). Cost: one store per group.
enum tau_status tau_buddy_init(struct tau_buddy *buddy, void *memory, size_t size_bytes,
                               uint32_t frames_count);

// Hands in COUNT frames from FIRST on; frames that are never handed in are reserved. Ranges are
// handed in by ascending numbers. Fails if and only if COUNT is 0 (TAU_BAD_ARGUMENT), one of the
// frames is beyond the table (TAU_FRAME_OUTSIDE), or FIRST is below a frame that was handed in
// before (TAU_FRAME_TWICE). Cost: one give per block that the range is made of.
enum tau_status tau_buddy_add(struct tau_buddy *buddy, struct tau_frame first, uint32_t count);

// Takes a block of ORDER and stores its first frame at FRAME. It is taken from the smallest order
// with a free block: the lowest of the group listed last. A split uses the lowest quarter.
// Fails if and only if ORDER is not an order (TAU_BAD_ARGUMENT) or no free block is large enough
// (TAU_NO_FRAME).
// Cost: 198 instructions (198 with Zbb), 68 accesses.
enum tau_status tau_buddy_take(struct tau_buddy *buddy, unsigned order, struct tau_frame *frame);

// Takes COUNTS[k] blocks of each order k, or none; stores their first frames at FRAMES, the
// largest order first. FRAMES has room for all. Fails if and only if the free blocks cannot be
// split into these (TAU_NO_FRAME); larger blocks are never replaced by smaller ones. Cost: one take
// per block.
enum tau_status tau_buddy_take_mix(struct tau_buddy *buddy, const uint32_t counts[TAU_BUDDY_ORDERS],
                                   struct tau_frame *frames);

// Gives back the block of ORDER that starts at FRAME, and merges free blocks.
// Fails if and only if:
// - ORDER is not an order (TAU_BAD_ARGUMENT)
// - FRAME is beyond the table or was never handed in (TAU_FRAME_OUTSIDE)
// - FRAME is free (TAU_FRAME_FREE)
// - the taken block that holds FRAME has another order or start (TAU_FRAME_ORDER)
// Cost: 247 instructions (246 with Zbb), 81 accesses.
enum tau_status tau_buddy_give(struct tau_buddy *buddy, struct tau_frame frame, unsigned order);

// Free blocks of exactly ORDER, which is one.
uint32_t tau_buddy_free_count(const struct tau_buddy *buddy, unsigned order);

// Frames in the free blocks of all orders. Cost: one step per order.
uint32_t tau_buddy_free_frames_count(const struct tau_buddy *buddy);

// Stores the largest order of which a block is free at ORDER. False: none is. Cost: as above.
bool tau_buddy_largest(const struct tau_buddy *buddy, unsigned *order);

// Bounded self test: one step per order. The full walk is core/tests/checks/check_buddy.c.
bool tau_buddy_invariants_hold(const struct tau_buddy *buddy);

#ifdef __cplusplus
}
#endif

#endif
