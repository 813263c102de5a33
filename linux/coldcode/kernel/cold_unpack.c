// SPDX-License-Identifier: GPL-2.0-only
// An LZ4 block is a sequence of: token, literals, distance, match. A token's halves are the two
// lengths; 15 means that bytes follow which add to it. The last sequence ends behind its literals.
#include "cold_unpack.h"

#define LENGTH_MORE 15u
#define BYTE_MORE 255u
#define MATCH_BYTES_MIN 4u

struct source {
    const uint8_t *next;
    const uint8_t *end;
};

static inline bool read_length(struct source *source, uint32_t *length) {
    uint8_t byte = BYTE_MORE;
    if (*length != LENGTH_MORE) {
        return true;
    }
    while (byte == BYTE_MORE) {
        if (source->next == source->end) {
            return false;
        }
        byte = *source->next++;
        *length += byte;
    }
    return true;
}

bool tau_cold_unpack(const uint8_t *packed, uint32_t packed_bytes, uint8_t *page) {
    struct source source = {packed, packed + packed_bytes};
    uint32_t done = 0;
    while (source.next != source.end) {
        const uint8_t token = *source.next++;
        uint32_t literals = token >> 4;
        uint32_t matched = token & LENGTH_MORE;
        if (!read_length(&source, &literals) || literals > (size_t)(source.end - source.next) ||
            literals > TAU_COLD_PAGE_BYTES - done) {
            return false;
        }
        for (uint32_t index = 0; index < literals; index++) {
            page[done++] = *source.next++;
        }
        if (done == TAU_COLD_PAGE_BYTES) {
            return true;
        }
        if (source.end - source.next < 2) {
            return false;
        }
        const uint32_t distance = source.next[0] | (uint32_t)source.next[1] << 8;
        source.next += 2;
        if (!read_length(&source, &matched) || distance == 0 || distance > done ||
            matched + MATCH_BYTES_MIN > TAU_COLD_PAGE_BYTES - done) {
            return false;
        }
        // One by one: a match may overlap its own output.
        for (uint32_t index = 0; index < matched + MATCH_BYTES_MIN; index++) {
            page[done] = page[done - distance];
            done++;
        }
    }
    return false;
}
