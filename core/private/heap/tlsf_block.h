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
#include "core/private/bits.h"
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
    uint32_t bitmap[TLSF_WORDS_MAX];  // only `words` of them exist
};

struct tlsf_fields {
    tau_word used_bytes;
    tau_word peak_used_bytes;  // as of the last free: see tlsf_note_peak
    tau_word out_of_memory_count;
    tau_word block_max_bytes;  // no pool can hold a larger block
    tau_word lowest;           // link: lowest payload address of all pools
    tau_word span_bytes;       // from there to the highest sentinel's payload
    tau_word pools;            // link: the newest added pool's descriptor
    uint16_t classes;          // the highest class + 1
    uint8_t second_level_bits;
    uint8_t words;
    uint32_t summary;  // bit w is set if bitmap word w is not 0
};

// Descriptor before an added pool's first block. It lies so that its middle word is where a
// header would be. No call accepts a header with these flags.
struct tlsf_pool {
    tau_word older;      // link
    tau_word row_bytes;  // + TLSF_NO_BLOCK
    tau_word capacity_before_bytes;
};

_Static_assert(sizeof(struct tlsf_fields) == 7 * TLSF_WORD_BYTES + 2 * sizeof(uint32_t),
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

// The class whose list head is SLOT. If SLOT is not a head, the result is not a class: the rotation
// makes an offset that is not a multiple of a word too large.
TAU_INLINE uintptr_t tlsf_class_of_head(const struct tau_tlsf *heap, const tau_word *slot) {
    const uintptr_t bytes = (uintptr_t)tlsf_head_of(heap, 0) - (uintptr_t)slot;
    return bytes / TLSF_WORD_BYTES | bytes << (8 * sizeof bytes - (TLSF_WORD_BYTES == 4 ? 2 : 3));
}

TAU_INLINE struct tlsf_pool *tlsf_pool_at(const struct tau_tlsf *heap, tau_word link) {
    return (struct tlsf_pool *)(void *)tlsf_at(heap, link);
}

#endif
