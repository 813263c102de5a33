// A heap's layout: the control block, the blocks, their headers. Only core/tlsf.c, the heaps on
// pages, linux/runtime and tests include this. docs/spec/tlsf.md draws a block and numbers the
// invariants.
#ifndef TAU_TLSF_BLOCK_H
#define TAU_TLSF_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/config.h"
#include "core/port.h"
#include "core/private/bits_map.h"
#include "core/private/check.h"
#include "core/private/inline.h"
#include "core/private/link.h"
#include "core/status.h"
#include "core/tlsf.h"

#define TLSF_WORD_BYTES sizeof(tau_word)
#define TLSF_BLOCK_MIN_BYTES ((tau_word)(4 * TLSF_WORD_BYTES))
#define TLSF_KEY_MIN ((TLSF_BLOCK_MIN_BYTES >> TAU_ALIGNMENT_LOG2) - 1)
#define TLSF_CANARY ((tau_word)0x7a75c0de5aa5f00dULL)
#define TLSF_CANARY_BYTES (TAU_CHECK_LEVEL >= 2 ? TLSF_WORD_BYTES : 0u)
#define TLSF_WORDS_MAX 32u

// At check level 0 the links of a list form a ring: its last block's `next` is its first one's
// `back`. One comparison then tells the only block of a list. From level 1 on the list ends with 0,
// so that the checks need not tell heads from blocks. So it does on big-endian machines, where the
// word before the handle is not negative (TLSF_NO_ROOM).
#define TLSF_IS_RING (TAU_CHECK_LEVEL == 0 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
// `back` leads beyond the word that it names by so many bytes: the fields. So the handle less the
// class gives the `back` of a list's first block, and no instruction is spent on the fields. A
// `back` must never equal a block's address, which is a multiple of the alignment.
#define TLSF_FIELDS_BYTES sizeof(struct tlsf_fields)
#define TLSF_BEYOND_BYTES                                                                          \
    (TLSF_IS_RING && TLSF_FIELDS_BYTES % TAU_ALIGNMENT != 0 ? TLSF_FIELDS_BYTES : 0u)

// Makes the word before the handle a negative header. So an empty list's head, which leads to the
// handle, leads to a block without room.
#define TLSF_NO_ROOM 0x80u

// Header flags.
#define TLSF_FREE ((tau_word)1)
#define TLSF_PREVIOUS_FREE ((tau_word)2)
#define TLSF_ALIGNED (TAU_ALIGNMENT >= 8 ? (tau_word)4 : (tau_word)1 << 31)  // pools have < 2^31
#define TLSF_FLAGS (TLSF_FREE | TLSF_PREVIOUS_FREE | TLSF_ALIGNED)
#define TLSF_SIZE_MASK (~((tau_word)(TAU_ALIGNMENT - 1) | TLSF_ALIGNED))
#define TLSF_NO_BLOCK (TLSF_FREE | TLSF_PREVIOUS_FREE)  // two neighbors are never both free

#if TAU_WORD_BITS == 64
#define TLSF_POOL_MAX_BYTES ((tau_word)1 << (TAU_BITS_SCAN ? 36 : 33))
#else
#define TLSF_POOL_MAX_BYTES ((tau_word)1 << 30)
#endif

// The handle points at the bitmap. The rest of the control block lies before it: first the
// fields, then the list heads, with class 1 next to the fields. So every field and head is at a
// fixed distance from the handle, although the numbers of words and classes vary.
struct tau_tlsf {
    uint32_t bitmap[TLSF_WORDS_MAX];  // only `tlsf_words_of` exist
};

struct tlsf_fields {
    tau_word used_bytes;
    tau_word peak_used_bytes;  // as of the last free: see tlsf_note_peak
    tau_word out_of_memory_count;
    tau_word range_bytes;      // from the smallest block to the largest that a pool can hold
    tau_word lowest;           // link: lowest payload address of all pools
    tau_word span_bytes;       // from there to the highest sentinel's payload
    tau_word wilderness_bytes;  // behind that sentinel; 0 with several pools
    tau_word untouched_bytes;   // the fewest that these ever were
    tau_word pools;            // link: the newest added pool's descriptor
    uint32_t summary;          // bit w is set if bitmap word w is not 0
    uint16_t classes;          // the highest class + 1
    uint8_t leading_zeros;     // of the key 2^level, in a word
    uint8_t turns;             // that shift left by the level | TLSF_NO_ROOM
};

// Descriptor before an added pool's first block. It lies so that its middle word is where a
// header would be. No call accepts a header with these flags.
struct tlsf_pool {
    tau_word older;      // link
    tau_word row_bytes;  // + TLSF_NO_BLOCK
    tau_word capacity_before_bytes;
};

_Static_assert(sizeof(struct tlsf_fields) == 9 * TLSF_WORD_BYTES + 2 * sizeof(uint32_t),
               "no padding in the control block");
_Static_assert((TLSF_SIZE_MASK & TLSF_FLAGS) == 0, "a size and the flags share no bit");

TAU_INLINE struct tlsf_fields *tlsf_fields_of(const struct tau_tlsf *heap) {
    return (struct tlsf_fields *)(uintptr_t)heap - 1;
}

// The heap as an argument of the port's lock, which takes no const pointer.
TAU_INLINE struct tau_tlsf *tlsf_lock_of(const struct tau_tlsf *heap) {
    return (struct tau_tlsf *)(uintptr_t)heap;
}

// ---- Links and headers -------------------------------------------------------------------------

TAU_INLINE tau_word *tlsf_at(const struct tau_tlsf *heap, tau_word link) {
    return tau_link_follow(heap, link);
}

TAU_INLINE tau_word tlsf_link_to(const struct tau_tlsf *heap, const void *address) {
    return tau_link_to(heap, address);
}

TAU_INLINE tau_word *tlsf_after(const tau_word *payload, tau_word bytes) {
    return (tau_word *)((uintptr_t)payload + bytes);
}

TAU_INLINE tau_word *tlsf_before(const tau_word *payload, tau_word bytes) {
    return (tau_word *)((uintptr_t)payload - bytes);
}

TAU_INLINE tau_word tlsf_size_of(const tau_word *payload) {
    return payload[-1] & TLSF_SIZE_MASK;
}

TAU_INLINE tau_word tlsf_key_of(tau_word size) {
    return (size >> TAU_ALIGNMENT_LOG2) - 1;
}

TAU_INLINE tau_word *tlsf_head_of(const struct tau_tlsf *heap, uintptr_t class) {
    return (tau_word *)((uintptr_t)tlsf_fields_of(heap) - class * TLSF_WORD_BYTES);
}

// What the head of an empty list holds: 0. At level 0 it leads to the handle, a block without room.
TAU_INLINE tau_word tlsf_no_block(const struct tau_tlsf *heap) {
    return TLSF_IS_RING ? tlsf_link_to(heap, heap) : 0;
}

// Where the links to the head of CLASS lead: beyond it, see TLSF_BEYOND_BYTES.
TAU_INLINE tau_word *tlsf_end_of(const struct tau_tlsf *heap, uintptr_t class) {
    return (tau_word *)((uintptr_t)heap - sizeof(struct tlsf_fields) + TLSF_BEYOND_BYTES -
                        class * TLSF_WORD_BYTES);
}

// A free block's `back` if SLOT is the link that leads to the block.
TAU_INLINE tau_word tlsf_back_to(const struct tau_tlsf *heap, const tau_word *slot) {
    return tlsf_link_to(heap, (const void *)((uintptr_t)slot + TLSF_BEYOND_BYTES));
}

// The word that such a link leads to: END is a list's end, or the address in a `back`.
TAU_INLINE tau_word *tlsf_slot_before(tau_word *end) {
    return (tau_word *)((uintptr_t)end - TLSF_BEYOND_BYTES);
}

TAU_INLINE tau_word *tlsf_slot_at(const struct tau_tlsf *heap, tau_word back) {
    return tlsf_slot_before(tlsf_at(heap, back));
}

// The class whose list head BACK leads to. If it leads to another word, the result is not a class:
// the rotation makes an offset that is not a multiple of a word too large.
TAU_INLINE uintptr_t tlsf_class_at(const struct tau_tlsf *heap, tau_word back) {
    const uintptr_t bytes = (uintptr_t)tlsf_end_of(heap, 0) - (uintptr_t)tlsf_at(heap, back);
    return bytes / TLSF_WORD_BYTES | bytes << (8 * sizeof bytes - (TLSF_WORD_BYTES == 4 ? 2 : 3));
}

// Whether BACK leads to the head of a list.
TAU_INLINE bool tlsf_is_first(const struct tau_tlsf *heap, tau_word back) {
    return tlsf_class_at(heap, back) < tlsf_fields_of(heap)->classes;
}

// The `next` of the last block in the list that ends at END: 0. At level 0 it is the `back` of the
// list's first block, so equal links tell the only block of a list from all others.
TAU_INLINE tau_word tlsf_last_link(const struct tau_tlsf *heap, const tau_word *end) {
    return TLSF_IS_RING ? tlsf_link_to(heap, end) : 0;
}

TAU_INLINE bool tlsf_is_last(const struct tau_tlsf *heap, tau_word next) {
    return TLSF_IS_RING ? tlsf_is_first(heap, next) : next == 0;
}

// Words of the bitmap.
TAU_INLINE unsigned tlsf_words_of(const struct tau_tlsf *heap) {
    return tlsf_fields_of(heap)->classes / 32u + 1;
}

// The number of second-level bits.
TAU_INLINE unsigned tlsf_level_of(const struct tau_tlsf *heap) {
    return tau_bits_turns(tlsf_fields_of(heap)->turns) & 31u;
}

TAU_INLINE tau_word tlsf_block_max_bytes(const struct tau_tlsf *heap) {
    return tlsf_fields_of(heap)->range_bytes + TLSF_BLOCK_MIN_BYTES;
}

// Of a word that is not 0.
TAU_INLINE unsigned tlsf_leading_zeros(tau_word word) {
    return (unsigned)(TAU_WORD_BITS == 64 ? __builtin_clzll(word) : __builtin_clz(word));
}

// How many low bits of KEY, which is not 0, its class does not depend on.
TAU_INLINE unsigned tlsf_shift_of(const struct tau_tlsf *heap, tau_word key) {
    TAU_ASSERT(tlsf_level_of(heap) >= 2);
    TAU_ASSERT(key != 0);
#if TAU_BITS_SCAN
    return tau_bits_beyond(tlsf_fields_of(heap)->leading_zeros, tlsf_leading_zeros(key));
#else
    return tau_bits_log2(tau_bits_right(key, tlsf_fields_of(heap)->turns));
#endif
}

// The class of a block with KEY. SHIFT is `tlsf_shift_of` it.
TAU_INLINE unsigned tlsf_class_with(const struct tau_tlsf *heap, tau_word key, unsigned shift) {
    return tau_bits_rotated(shift, tlsf_fields_of(heap)->turns) + (unsigned)(key >> shift);
}

TAU_INLINE unsigned tlsf_class_of(const struct tau_tlsf *heap, tau_word key) {
    return tlsf_class_with(heap, key, tlsf_shift_of(heap, key));
}

TAU_INLINE struct tlsf_pool *tlsf_pool_at(const struct tau_tlsf *heap, tau_word link) {
    return (struct tlsf_pool *)(void *)tlsf_at(heap, link);
}

#endif
