// Byte planes and exceptions; see stream.h for the form and docs/spec/trace.md for every
// byte.
#include "tool/native/trace/stream.h"

#include <stdlib.h>
#include <zstd.h>

#include "tool/native/trace/bytes.h"

// Level 1 was measured against -3 … 3 (docs/design/trace.md): higher levels gain under 3 % and
// cost half the speed.
#define ZSTD_LEVEL 1
// A plane, or its higher bits, are dropped when at most one value in this many needs them.
#define EXCEPTION_SHARE 64u
// A plane is packed by zstd if that makes it smaller by one part in this many: unpacking costs
// about a nanosecond a byte, leaving it as it is costs nothing.
#define SAVED_BY_ZSTD 8u
// The number of blocks without zstd after it saved too little. Trying it costs more than all the
// rest of a block.
#define BLOCKS_UNTRIED 15u

// Where the fields of a directory entry lie; each is a word of 32 bits.
enum entry_field {
    ENTRY_WIDTH = 0,
    ENTRY_BASE = 4,
    ENTRY_EXCEPTIONS = 8,
    ENTRY_EXCEPTIONS_RAW = 12,
    ENTRY_EXCEPTIONS_STORED = 16,
    ENTRY_PLANE_STORED = 20,
};
_Static_assert(ENTRY_PLANE_STORED + 4 * TAU_TRACE_PLANES_MAX == TAU_TRACE_STREAM_ENTRY_BYTES,
               "[TRACE-9]");

bool tau_trace_packer_open(struct tau_trace_packer *packer, bool for_writing) {
    memset(packer, 0, sizeof *packer);
    bool complete = true;
    for (unsigned p = 0; p < TAU_TRACE_PLANES_MAX; p++) {
        packer->planes[p] = malloc(TAU_TRACE_BLOCK_EVENTS_MAX);
        complete = complete && packer->planes[p] != NULL;
    }
    packer->exceptions = malloc(TAU_TRACE_EXCEPTIONS_BYTES_MAX);
    if (for_writing) {
        packer->compressor = ZSTD_createCCtx();
        complete = complete && packer->compressor != NULL;
    } else {
        packer->decompressor = ZSTD_createDCtx();
        complete = complete && packer->decompressor != NULL;
    }
    return complete && packer->exceptions != NULL;
}

void tau_trace_packer_close(struct tau_trace_packer *packer) {
    for (unsigned p = 0; p < TAU_TRACE_PLANES_MAX; p++) {
        free(packer->planes[p]);
    }
    free(packer->exceptions);
    ZSTD_freeCCtx(packer->compressor);
    ZSTD_freeDCtx(packer->decompressor);
    memset(packer, 0, sizeof *packer);
}

// ---- packing ----------------------------------------------------------------------------

// Makes the values relative to the smallest, which is returned; *SEEN is then the union of their
// bits.
TAU_TRACE_VECTOR static uint32_t subtract_base(uint32_t *values, uint32_t count, uint32_t *seen) {
    uint32_t base = UINT32_MAX, bits = 0;
    for (uint32_t i = 0; i < count; i++) {
        base = values[i] < base ? values[i] : base;
    }
    for (uint32_t i = 0; i < count; i++) {
        values[i] -= base;
        bits |= values[i];
    }
    *seen = bits;
    return base;
}

// The fewest planes that leave few exceptions; values are relative to the base already, SEEN is the
// union of their bits.
TAU_TRACE_VECTOR static unsigned planes_needed(const uint32_t *values, uint32_t count,
                                               uint32_t seen) {
    unsigned planes = seen == 0 ? 0 : (39u - (unsigned)__builtin_clz(seen)) / 8;
    while (planes > 0) {
        uint32_t above = 0;
        unsigned shift = 8 * (planes - 1);
        for (uint32_t i = 0; i < count; i++) {
            above += values[i] >> shift != 0;
        }
        if (above > count / EXCEPTION_SHARE) {
            break;
        }
        planes--;
    }
    return planes;
}

// The fewest bits (1, 2, 4 or 8) of a plane that leave few exceptions.
TAU_TRACE_VECTOR static unsigned bits_needed(const uint8_t *plane, uint32_t count,
                                             uint32_t exceptions_max) {
    uint32_t above[3] = {0};
    for (uint32_t i = 0; i < count; i++) {
        above[0] += plane[i] >= 2;
        above[1] += plane[i] >= 4;
        above[2] += plane[i] >= 16;
    }
    unsigned step = 0;
    while (step < 3 && above[step] > exceptions_max) {
        step++;
    }
    return 1u << step;
}

// How many bytes COUNT values of BITS bits take when left as they are.
static uint32_t plain_bytes(uint32_t count, unsigned bits) {
    uint32_t values_a_byte = 8 / bits;
    return (count + values_a_byte - 1) / values_a_byte;
}

// Puts 8 / BITS values into a byte. Those of one byte lie a whole run apart, not side by side, so
// that both directions are plain loops over vectors.
TAU_TRACE_VECTOR static void pack_bits(const uint8_t *plane, uint32_t count, unsigned bits,
                                       uint8_t *out) {
    uint32_t run = plain_bytes(count, bits);
    uint8_t mask = (uint8_t)((1u << bits) - 1);
    for (uint32_t i = 0; i < run; i++) {
        out[i] = plane[i] & mask;
    }
    for (unsigned part = 1; part < 8 / bits; part++) {
        unsigned shift = bits * part;
        uint32_t from = run * part;
        uint32_t stop = from >= count ? 0 : (count - from < run ? count - from : run);
        for (uint32_t i = 0; i < stop; i++) {
            out[i] = (uint8_t)(out[i] | (plane[from + i] & mask) << shift);
        }
    }
}

// Packs COUNT bytes to OUT, or copies them if that is not smaller by at least one in SAVED; returns
// the stored bytes. Equal means copied.
static uint32_t pack_bytes(struct tau_trace_packer *packer, const uint8_t *raw, uint32_t count,
                           uint32_t saved, uint8_t *out) {
    size_t room = count - count / saved;
    size_t packed = ZSTD_compressCCtx(packer->compressor, out, room, raw, count, ZSTD_LEVEL);
    if (ZSTD_isError(packed) || packed >= count) {  // an error here means: does not fit in the room
        memcpy(out, raw, count);
        return count;
    }
    return (uint32_t)packed;
}

// Packs one plane, of which NEEDED bits of 8 matter; *BITS is the number that it got.
static uint32_t pack_plane(struct tau_trace_packer *packer, uint8_t *untried, const uint8_t *plane,
                           uint32_t count, unsigned needed, unsigned *bits, uint8_t *out) {
    uint32_t plain = plain_bytes(count, needed);
    *bits = 8;
    if (*untried == 0 || count < TAU_TRACE_BLOCK_EVENTS_MAX / 8) {
        size_t room = needed == 8 ? count - count / SAVED_BY_ZSTD : plain / 2;
        size_t packed = ZSTD_compressCCtx(packer->compressor, out, room, plane, count, ZSTD_LEVEL);
        if (!ZSTD_isError(packed)) {
            return (uint32_t)packed;
        }
        *untried = BLOCKS_UNTRIED;
    } else {
        (*untried)--;
    }
    *bits = needed;
    if (needed == 8) {
        memcpy(out, plane, count);
    } else {
        pack_bits(plane, count, needed, out);
    }
    return plain;
}

TAU_TRACE_VECTOR static void split_plane(uint8_t *plane, const uint32_t *values, uint32_t count,
                                         unsigned shift) {
    for (uint32_t i = 0; i < count; i++) {
        plane[i] = (uint8_t)(values[i] >> shift);
    }
}

// Writes (distance to the exception before, the bits above the planes) for each value that does not
// fit; returns the bytes.
static uint32_t list_exceptions(uint8_t *out, const uint32_t *values, uint32_t count,
                                unsigned width, const struct tau_trace_wide *wide,
                                uint32_t wide_count, uint32_t *exceptions) {
    uint8_t *to = out;
    uint32_t before = 0, next_wide = 0, found = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t value = values[i];
        if (next_wide < wide_count && wide[next_wide].place == i) {
            value |= (uint64_t)wide[next_wide++].high << 32;
        }
        if (value >> width != 0) {
            to = tau_trace_put_varint(to, i - before);
            to = tau_trace_put_varint(to, value >> width);
            before = i;
            found++;
        }
    }
    *exceptions = found;
    return (uint32_t)(to - out);
}

size_t tau_trace_stream_pack(struct tau_trace_packer *packer, unsigned stream, uint32_t *values,
                             uint32_t count, const struct tau_trace_wide *wide, uint32_t wide_count,
                             uint8_t *entry, uint8_t *out) {
    memset(entry, 0, TAU_TRACE_STREAM_ENTRY_BYTES);
    if (count == 0) {
        return 0;
    }
    uint32_t seen = 0, base = subtract_base(values, count, &seen);
    unsigned planes = planes_needed(values, count, seen), width = 0;
    uint8_t *to = out;
    for (unsigned p = 0; p < planes; p++) {
        unsigned bits;
        split_plane(packer->planes[p], values, count, 8 * p);
        unsigned needed =
            p + 1 == planes ? bits_needed(packer->planes[p], count, count / EXCEPTION_SHARE) : 8;
        uint32_t stored = pack_plane(packer, &packer->untried[stream][p], packer->planes[p], count,
                                     needed, &bits, to);
        tau_trace_store32(entry + ENTRY_PLANE_STORED + 4 * p, stored);
        width += bits;
        to += stored;
    }
    tau_trace_store32(entry + ENTRY_WIDTH, width);
    tau_trace_store32(entry + ENTRY_BASE, base);
    if (wide_count > 0 || (width < 32 && seen >> width != 0)) {
        uint32_t exceptions = 0;
        uint32_t raw = list_exceptions(packer->exceptions, values, count, width, wide, wide_count,
                                       &exceptions);
        uint32_t stored = pack_bytes(packer, packer->exceptions, raw, raw, to);
        tau_trace_store32(entry + ENTRY_EXCEPTIONS, exceptions);
        tau_trace_store32(entry + ENTRY_EXCEPTIONS_RAW, raw);
        tau_trace_store32(entry + ENTRY_EXCEPTIONS_STORED, stored);
        to += stored;
    }
    return (size_t)(to - out);
}

size_t tau_trace_stream_pack_bytes(struct tau_trace_packer *packer, unsigned stream,
                                   const uint8_t *bytes, uint32_t count, uint8_t *entry,
                                   uint8_t *out) {
    unsigned bits;
    uint32_t stored = pack_plane(packer, &packer->untried[stream][0], bytes, count,
                                 bits_needed(bytes, count, 0), &bits, out);
    memset(entry, 0, TAU_TRACE_STREAM_ENTRY_BYTES);
    tau_trace_store32(entry + ENTRY_WIDTH, bits);
    tau_trace_store32(entry + ENTRY_PLANE_STORED, stored);
    return stored;
}

// ---- unpacking --------------------------------------------------------------------------

// The bits of plane P of a stream that is WIDTH bits wide: 8, but for the highest.
static unsigned plane_bits(uint32_t width, unsigned p) {
    return width >= 8 * (p + 1) ? 8 : width - 8 * p;
}

bool tau_trace_stream_size(const uint8_t *entry, uint32_t count, size_t *bytes) {
    uint32_t width = tau_trace_load32(entry + ENTRY_WIDTH);
    uint32_t exceptions = tau_trace_load32(entry + ENTRY_EXCEPTIONS);
    uint32_t raw = tau_trace_load32(entry + ENTRY_EXCEPTIONS_RAW);
    uint32_t stored = tau_trace_load32(entry + ENTRY_EXCEPTIONS_STORED);
    uint32_t odd_bits = width % 8;
    if (width > 8 * TAU_TRACE_PLANES_MAX || (odd_bits & (odd_bits - 1)) != 0 ||
        exceptions > count || raw > TAU_TRACE_EXCEPTIONS_BYTES_MAX || stored > raw) {
        return false;
    }
    size_t total = stored;
    for (unsigned p = 0; p < TAU_TRACE_PLANES_MAX; p++) {
        uint32_t plane = tau_trace_load32(entry + ENTRY_PLANE_STORED + 4 * p);
        uint32_t plain = 8 * p < width ? plain_bytes(count, plane_bits(width, p)) : 0;
        bool exact = 8 * p < width && plane_bits(width, p) < 8;
        if (plane > plain || (exact && plane != plain)) {
            return false;
        }
        total += plane;
    }
    *bytes = total;
    return true;
}

const uint8_t *tau_trace_unpack_bytes(const struct tau_trace_packer *packer, const uint8_t *from,
                                      uint32_t stored, uint8_t *to, uint32_t raw) {
    if (stored == raw) {
        return from;
    }
    size_t unpacked = ZSTD_decompressDCtx(packer->decompressor, to, raw, from, stored);
    return ZSTD_isError(unpacked) || unpacked != raw ? NULL : to;
}

// The reverse of pack_bits.
TAU_TRACE_VECTOR static void unpack_bits(const uint8_t *packed, uint32_t count, unsigned bits,
                                         uint8_t *plane) {
    uint32_t run = plain_bytes(count, bits);
    uint8_t mask = (uint8_t)((1u << bits) - 1);
    for (unsigned part = 0; part < 8 / bits; part++) {
        unsigned shift = bits * part;
        uint32_t to = run * part;
        uint32_t stop = to >= count ? 0 : (count - to < run ? count - to : run);
        for (uint32_t i = 0; i < stop; i++) {
            plane[to + i] = (uint8_t)(packed[i] >> shift) & mask;
        }
    }
}

// One plane as bytes, at TO or where it lies.
static const uint8_t *unpack_plane(struct tau_trace_packer *packer, const uint8_t *from,
                                   uint32_t stored, unsigned bits, uint8_t *to, uint32_t count) {
    if (bits == 8) {
        return tau_trace_unpack_bytes(packer, from, stored, to, count);
    }
    unpack_bits(from, count, bits, to);
    return to;
}

TAU_TRACE_VECTOR static void join_planes(const uint8_t *const *planes, unsigned count_planes,
                                         uint32_t base, uint32_t *values, uint32_t count) {
    const uint8_t *low = planes[0], *high = planes[1];
    if (count_planes == 0) {
        for (uint32_t i = 0; i < count; i++) {
            values[i] = base;
        }
    } else if (count_planes == 1) {
        for (uint32_t i = 0; i < count; i++) {
            values[i] = base + low[i];
        }
    } else {
        for (uint32_t i = 0; i < count; i++) {
            values[i] = base + (low[i] | (uint32_t)high[i] << 8);
        }
    }
    for (unsigned p = 2; p < count_planes; p++) {
        const uint8_t *plane = planes[p];
        unsigned shift = 8 * p;
        for (uint32_t i = 0; i < count; i++) {
            values[i] += (uint32_t)plane[i] << shift;
        }
    }
}

// Adds the exceptions to the values; the parts above 32 bits go to WIDE.
static bool apply_exceptions(const uint8_t *from, uint32_t raw, uint32_t exceptions, unsigned width,
                             uint32_t *values, uint32_t count, struct tau_trace_wide *wide,
                             uint32_t *wide_count) {
    const uint8_t *end = from + raw;
    uint64_t place = 0;
    for (uint32_t i = 0; i < exceptions; i++) {
        uint64_t gap, above;
        if (!tau_trace_get_varint(&from, end, &gap) || !tau_trace_get_varint(&from, end, &above)) {
            return false;
        }
        if (gap >= count - place || (gap == 0 && i > 0) || above == 0) {
            return false;
        }
        place += gap;
        if (width > 0 && above >> (64 - width) != 0) {
            return false;
        }
        // The low half may carry into the high one, so the sum is taken in 64 bits.
        uint64_t value = values[place] + (above << width);
        values[place] = (uint32_t)value;
        if (value >> 32 != 0) {
            if (wide == NULL) {
                return false;
            }
            wide[(*wide_count)++] =
                (struct tau_trace_wide){.place = (uint32_t)place, .high = (uint32_t)(value >> 32)};
        }
    }
    return from == end;
}

bool tau_trace_stream_unpack(struct tau_trace_packer *packer, const uint8_t *entry,
                             const uint8_t *stored, uint32_t count, uint32_t *values,
                             struct tau_trace_wide *wide, uint32_t *wide_count) {
    uint32_t width = tau_trace_load32(entry + ENTRY_WIDTH);
    uint32_t base = tau_trace_load32(entry + ENTRY_BASE);
    uint32_t exceptions = tau_trace_load32(entry + ENTRY_EXCEPTIONS);
    uint32_t raw = tau_trace_load32(entry + ENTRY_EXCEPTIONS_RAW);
    uint32_t stored_exceptions = tau_trace_load32(entry + ENTRY_EXCEPTIONS_STORED);
    const uint8_t *from = stored;
    const uint8_t *plane[TAU_TRACE_PLANES_MAX] = {NULL, NULL, NULL, NULL};
    unsigned planes = 0;
    for (; 8 * planes < width; planes++) {
        uint32_t bytes = tau_trace_load32(entry + ENTRY_PLANE_STORED + 4 * planes);
        plane[planes] = unpack_plane(packer, from, bytes, plane_bits(width, planes),
                                     packer->planes[planes], count);
        if (plane[planes] == NULL) {
            return false;
        }
        from += bytes;
    }
    join_planes(plane, planes, base, values, count);
    if (wide_count != NULL) {
        *wide_count = 0;
    }
    if (exceptions == 0) {
        return raw == 0;
    }
    const uint8_t *list =
        tau_trace_unpack_bytes(packer, from, stored_exceptions, packer->exceptions, raw);
    return list != NULL &&
           apply_exceptions(list, raw, exceptions, width, values, count, wide, wide_count);
}

bool tau_trace_stream_unpack_bytes(struct tau_trace_packer *packer, const uint8_t *entry,
                                   const uint8_t *stored, uint32_t count, uint8_t *bytes,
                                   uint32_t *words) {
    uint32_t width = tau_trace_load32(entry + ENTRY_WIDTH);
    bool plain = width > 0 && width <= 8 && tau_trace_load32(entry + ENTRY_BASE) == 0 &&
                 tau_trace_load32(entry + ENTRY_EXCEPTIONS) == 0 &&
                 tau_trace_load32(entry + ENTRY_EXCEPTIONS_RAW) == 0;
    if (plain) {
        uint32_t plane_bytes = tau_trace_load32(entry + ENTRY_PLANE_STORED);
        const uint8_t *plane = unpack_plane(packer, stored, plane_bytes, width, bytes, count);
        if (plane == stored) {
            memcpy(bytes, stored, count);
        }
        return plane != NULL;
    }
    if (!tau_trace_stream_unpack(packer, entry, stored, count, words, NULL, NULL)) {
        return false;
    }
    uint32_t seen = 0;
    for (uint32_t i = 0; i < count; i++) {
        seen |= words[i];
        bytes[i] = (uint8_t)words[i];
    }
    return seen < 256;
}
