// One event as a row in a chunk. Row format: core/ports/record_row.h; this is its fast writer for a
// little-endian host.
//
// A field of n bytes is written as one unaligned 8-byte store whose upper bytes are 0, so whatever
// follows a row is 0, and the tag is stored last: a row is there whole or not at all, even for kill
// -9 between any two instructions.
#ifndef TAU_LINUX_RECORDER_ENCODE_H
#define TAU_LINUX_RECORDER_ENCODE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/ports/record_row.h"
#include "facts/recording.h"
#include "linux/interpose/machine.h"

// A writer's slack: the longest row and one store's spill.
#define TAU_ENCODE_SLACK_BYTES 64u
_Static_assert(TAU_RECORD_ROW_BYTES_MAX + 8u <= TAU_ENCODE_SLACK_BYTES,
               "a row and a spill fit in the slack");

// What the rows of one chunk are written against.
struct tau_encode {
    uint8_t *at;  // where the next row starts
    uint64_t last_ticks;
    uint64_t last_address;
    uint64_t last_site;  // the last that was written out
    uint64_t sites[TAU_RECORD_SITES];
};

static inline unsigned int tau_encode_bytes_of(uint64_t value) {
    return (71u - (unsigned int)__builtin_clzll(value | 1u)) >> 3;
}

static inline uint8_t *tau_encode_put(uint8_t *at, uint64_t value, unsigned int bytes) {
    memcpy(at, &value, sizeof(value));
    return at + bytes;
}

// A size: one byte up to 127, two up to 16383, four up to 2^29 - 1, else eight.
static inline uint8_t *tau_encode_put_size(uint8_t *at, uint64_t value) {
    if (__builtin_expect(value < 1u << 14, 1)) {
        // Without a branch: which of the two it is cannot be foreseen.
        const unsigned int two = value >= 1u << 7;
        return tau_encode_put(at, value << (1u + two) | two, 1u + two);
    }
    if (value < 1u << 29) {
        return tau_encode_put(at, value << 3 | 3u, 4);
    }
    return tau_encode_put(at, value << 3 | 7u, 8);
}

// Whether SITE is in the chunk's cache, at *index.
static inline bool tau_encode_knows_site(const struct tau_encode *encode, uint64_t site,
                                         unsigned int *index) {
    unsigned int hash = (unsigned int)(site * 0x9e3779b97f4a7c15u >> 56);
    *index = hash == TAU_RECORD_SITE_LITERAL ? 1u : hash;
    return encode->sites[*index] == site;
}

// Writes the row of an event: OP with TICKS and ADDRESS; SIZE_BYTES unless it is the end of an
// object; ALIGN_LOG2 for an aligned one; SITE with what tau_encode_knows_site told of it. The
// caller has made sure that TAU_ENCODE_SLACK_BYTES are left.
static inline __attribute__((always_inline)) void
tau_encode_row(struct tau_encode *encode, enum tau_record_op op, uint64_t ticks, uint64_t address,
               uint64_t size_bytes, unsigned int align_log2, uint64_t site, unsigned int site_index,
               bool site_is_known) {
    uint8_t *tag_at = encode->at;
    uint8_t *at = tag_at + 1;
    uint64_t elapsed = ticks > encode->last_ticks ? ticks - encode->last_ticks : 0;
    unsigned int time_bytes = tau_encode_bytes_of(elapsed);
    unsigned int time_code = time_bytes > 3 ? 3 : time_bytes - 1;
    at = tau_encode_put(at, elapsed, time_bytes > 3 ? 8 : time_bytes);
    encode->last_ticks += elapsed;

    unsigned int address_code = TAU_RECORD_ADDRESS_WHOLE;
    if (__builtin_expect((address & ((1u << TAU_MACHINE_MALLOC_SHIFT) - 1u)) == 0, 1)) {
        int64_t step = (int64_t)(address - encode->last_address) >> TAU_MACHINE_MALLOC_SHIFT;
        uint64_t folded = (uint64_t)step << 1 ^ (uint64_t)(step >> 63);
        unsigned int address_bytes = tau_encode_bytes_of(folded);
        address_code = address_bytes - 1;
        at = tau_encode_put(at, folded, address_bytes);
        encode->last_address = address;
    } else {
        at = tau_encode_put(at, address, 8);
    }
    if (op != TAU_RECORD_FREE && op != TAU_RECORD_REALLOC_BEGIN) {
        at = tau_encode_put_size(at, size_bytes);
    }
    if (op == TAU_RECORD_ALIGNED_ALLOC) {
        at = tau_encode_put(at, align_log2, 1);
    }
    if (__builtin_expect(site_is_known, 1)) {
        at = tau_encode_put(at, site_index, 1);
    } else {
        encode->sites[site_index] = site;
        at = tau_encode_put(at, TAU_RECORD_SITE_LITERAL | site_index << 8, 2);
        const int64_t step = (int64_t)(site - encode->last_site);
        at = tau_encode_put_size(at, (uint64_t)step << 1 ^ (uint64_t)(step >> 63));
        encode->last_site = site;
    }
    encode->at = at;
    __asm__ volatile("" ::: "memory");
    *tag_at = (uint8_t)((unsigned int)op | time_code << 3 | address_code << 5);
}

// Writes a control row: CODE, and with TAU_RECORD_THREAD the number of the thread that all
// following rows are of.
static inline void tau_encode_control(struct tau_encode *encode, enum tau_record_control code,
                                      uint32_t thread) {
    uint8_t *tag_at = encode->at;
    uint8_t *at = tag_at + 1;
    if (code == TAU_RECORD_THREAD) {
        at = tau_encode_put(at, thread, 4);
    }
    encode->at = at;
    __asm__ volatile("" ::: "memory");
    *tag_at = (uint8_t)((unsigned int)TAU_RECORD_CONTROL | (unsigned int)code << 3);
}

#endif
