// Byte planes and exceptions; see trace_stream.h for the form and SPEC.md [TRACE] for every byte.
#include "tool/native/trace_stream.h"

#include <stdlib.h>
#include <zstd.h>

#include "tool/native/trace_bytes.h"

// Level 1 was measured against -3 … 3 (DESIGN.md, "The trace"): higher levels gain under 3 % and
// cost half the speed.
#define ZSTD_LEVEL 1
// A plane is dropped when at most one value in this many needs it.
#define EXCEPTION_SHARE 64u

// Where the fields of a directory entry lie; each is a word of 32 bits.
enum entry_field {
    ENTRY_PLANES = 0,
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

// ---- packing --------------------------------------------------------------------------

// The smallest number of planes that leaves few exceptions; values are relative to the base
// already.
static unsigned planes_needed(const uint32_t *values, uint32_t count) {
    uint32_t above[TAU_TRACE_PLANES_MAX] = {0};
    for (uint32_t i = 0; i < count; i++) {
        above[0] += values[i] != 0;
        above[1] += values[i] >= 1u << 8;
        above[2] += values[i] >= 1u << 16;
        above[3] += values[i] >= 1u << 24;
    }
    unsigned planes = 0;
    while (planes < TAU_TRACE_PLANES_MAX && above[planes] > count / EXCEPTION_SHARE) {
        planes++;
    }
    return planes;
}

// Packs COUNT raw bytes to OUT, or copies them if that is not smaller; returns the stored bytes.
// Equal means copied.
static uint32_t pack_bytes(struct tau_trace_packer *packer, const uint8_t *raw, uint32_t count,
                           uint8_t *out) {
    size_t packed = ZSTD_compressCCtx(packer->compressor, out, count, raw, count, ZSTD_LEVEL);
    if (ZSTD_isError(packed) ||
        packed >= count) {  // an error here means: does not fit in COUNT bytes
        memcpy(out, raw, count);
        return count;
    }
    return (uint32_t)packed;
}

static void split_planes(uint8_t *const *planes, unsigned count_planes, const uint32_t *values,
                         uint32_t count) {
    for (unsigned p = 0; p < count_planes; p++) {
        uint8_t *plane = planes[p];
        unsigned shift = 8 * p;
        for (uint32_t i = 0; i < count; i++) {
            plane[i] = (uint8_t)(values[i] >> shift);
        }
    }
}

// Writes (distance to the exception before, what is above the planes) for each value that does not
// fit; returns the bytes.
static uint32_t list_exceptions(uint8_t *out, const uint32_t *values, uint32_t count,
                                unsigned planes, const struct tau_trace_wide *wide,
                                uint32_t wide_count, uint32_t *exceptions) {
    uint8_t *to = out;
    uint32_t before = 0, next_wide = 0, found = 0;
    unsigned shift = 8 * planes;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t value = values[i];
        if (next_wide < wide_count && wide[next_wide].place == i) {
            value |= (uint64_t)wide[next_wide++].high << 32;
        }
        if (value >> shift != 0) {
            to = tau_trace_put_varint(to, i - before);
            to = tau_trace_put_varint(to, value >> shift);
            before = i;
            found++;
        }
    }
    *exceptions = found;
    return (uint32_t)(to - out);
}

size_t tau_trace_stream_pack(struct tau_trace_packer *packer, uint32_t *values, uint32_t count,
                             const struct tau_trace_wide *wide, uint32_t wide_count, uint8_t *entry,
                             uint8_t *out) {
    memset(entry, 0, TAU_TRACE_STREAM_ENTRY_BYTES);
    if (count == 0) {
        return 0;
    }
    uint32_t base = UINT32_MAX, bits = 0;
    for (uint32_t i = 0; i < count; i++) {
        base = values[i] < base ? values[i] : base;
    }
    for (uint32_t i = 0; i < count; i++) {
        values[i] -= base;
        bits |= values[i];
    }
    unsigned planes = planes_needed(values, count);
    uint8_t *to = out;
    tau_trace_store32(entry + ENTRY_PLANES, planes);
    tau_trace_store32(entry + ENTRY_BASE, base);
    if (wide_count > 0 || (planes < 4 && bits >> (8 * planes) != 0)) {
        uint32_t exceptions = 0;
        uint32_t raw = list_exceptions(packer->exceptions, values, count, planes, wide, wide_count,
                                       &exceptions);
        uint32_t stored = pack_bytes(packer, packer->exceptions, raw, to);
        tau_trace_store32(entry + ENTRY_EXCEPTIONS, exceptions);
        tau_trace_store32(entry + ENTRY_EXCEPTIONS_RAW, raw);
        tau_trace_store32(entry + ENTRY_EXCEPTIONS_STORED, stored);
        to += stored;
    }
    split_planes(packer->planes, planes, values, count);
    for (unsigned p = 0; p < planes; p++) {
        uint32_t stored = pack_bytes(packer, packer->planes[p], count, to);
        tau_trace_store32(entry + ENTRY_PLANE_STORED + 4 * p, stored);
        to += stored;
    }
    return (size_t)(to - out);
}

// ---- unpacking ------------------------------------------------------------------------

bool tau_trace_stream_size(const uint8_t *entry, uint32_t count, size_t *bytes) {
    uint32_t planes = tau_trace_load32(entry + ENTRY_PLANES);
    uint32_t exceptions = tau_trace_load32(entry + ENTRY_EXCEPTIONS);
    uint32_t raw = tau_trace_load32(entry + ENTRY_EXCEPTIONS_RAW);
    uint32_t stored = tau_trace_load32(entry + ENTRY_EXCEPTIONS_STORED);
    if (planes > TAU_TRACE_PLANES_MAX || exceptions > count ||
        raw > TAU_TRACE_EXCEPTIONS_BYTES_MAX || stored > raw) {
        return false;
    }
    size_t total = stored;
    for (unsigned p = 0; p < TAU_TRACE_PLANES_MAX; p++) {
        uint32_t plane = tau_trace_load32(entry + ENTRY_PLANE_STORED + 4 * p);
        if (plane > (p < planes ? count : 0)) {
            return false;
        }
        total += plane;
    }
    *bytes = total;
    return true;
}

// Unpacks STORED bytes to exactly RAW bytes at TO and returns TO, or the stored bytes themselves if
// they were only copied.
static const uint8_t *unpack_bytes(struct tau_trace_packer *packer, const uint8_t *from,
                                   uint32_t stored, uint8_t *to, uint32_t raw) {
    if (stored == raw) {
        return from;
    }
    size_t unpacked = ZSTD_decompressDCtx(packer->decompressor, to, raw, from, stored);
    return ZSTD_isError(unpacked) || unpacked != raw ? NULL : to;
}

static void join_planes(const uint8_t *const *planes, unsigned count_planes, uint32_t base,
                        uint32_t *values, uint32_t count) {
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
static bool apply_exceptions(const uint8_t *from, uint32_t raw, uint32_t exceptions,
                             unsigned planes, uint32_t *values, uint32_t count,
                             struct tau_trace_wide *wide, uint32_t *wide_count) {
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
        if (planes > 0 && above >> (64 - 8 * planes) != 0) {
            return false;
        }
        // The value's own low half may carry into the high one, so the sum is taken in 64 bits.
        uint64_t value = values[place] + (above << (8 * planes));
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
    uint32_t planes = tau_trace_load32(entry + ENTRY_PLANES);
    uint32_t base = tau_trace_load32(entry + ENTRY_BASE);
    uint32_t exceptions = tau_trace_load32(entry + ENTRY_EXCEPTIONS);
    uint32_t raw = tau_trace_load32(entry + ENTRY_EXCEPTIONS_RAW);
    uint32_t stored_exceptions = tau_trace_load32(entry + ENTRY_EXCEPTIONS_STORED);
    const uint8_t *list = unpack_bytes(packer, stored, stored_exceptions, packer->exceptions, raw);
    if (list == NULL) {
        return false;
    }
    const uint8_t *from = stored + stored_exceptions;
    const uint8_t *plane[TAU_TRACE_PLANES_MAX] = {NULL, NULL, NULL, NULL};
    for (unsigned p = 0; p < planes; p++) {
        uint32_t bytes = tau_trace_load32(entry + ENTRY_PLANE_STORED + 4 * p);
        plane[p] = unpack_bytes(packer, from, bytes, packer->planes[p], count);
        if (plane[p] == NULL) {
            return false;
        }
        from += bytes;
    }
    join_planes(plane, planes, base, values, count);
    if (wide_count != NULL) {
        *wide_count = 0;
    }
    return apply_exceptions(list, raw, exceptions, planes, values, count, wide, wide_count);
}
