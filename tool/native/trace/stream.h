// One stream of a block: a column of numbers as byte planes, packed by zstd if that saves enough.
//
// A value is taken relative to the stream's smallest (its base). Its lowest WIDTH bits go to
// planes: plane p holds byte p of every value, so that noise in a low byte does not hide the order
// of a high one. The width is the smallest that few values exceed (one in 64 per plane). A list of
// exceptions holds the higher bits of these values. A stream whose values are all equal has width
// 0. Each whole plane is packed by zstd or, if that saves too little, stored unchanged. The highest
// plane may have 1, 2 or 4 bits per value instead of 8; then it is stored unchanged.
//
//   value = base + (bits of the planes) + (exception << width)
#ifndef TAU_TRACE_STREAM_H
#define TAU_TRACE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/native/trace/trace.h"

// The bits of one value above the 32nd; a list of these goes with each array of low halves, in the
// order of their places.
struct tau_trace_wide {
    uint32_t place;
    uint32_t high;
};

// Scratch memory and the zstd contexts; one for each writer or reader.
struct tau_trace_packer {
    struct ZSTD_CCtx_s *compressor;    // NULL in a reader
    struct ZSTD_DCtx_s *decompressor;  // NULL in a writer
    uint8_t *planes[TAU_TRACE_PLANES_MAX];
    uint8_t *exceptions;
    // For each plane of each stream: in how many more blocks zstd is not tried, because it last did
    // not pay.
    uint8_t untried[TAU_TRACE_STREAMS_COUNT][TAU_TRACE_PLANES_MAX];
};

// The most bytes that one stream, and all streams of a block with their directory, can take.
#define TAU_TRACE_EXCEPTIONS_BYTES_MAX (TAU_TRACE_BLOCK_EVENTS_MAX * 13u)
#define TAU_TRACE_STREAM_BYTES_MAX                                                                 \
    (TAU_TRACE_EXCEPTIONS_BYTES_MAX + TAU_TRACE_PLANES_MAX * TAU_TRACE_BLOCK_EVENTS_MAX)
#define TAU_TRACE_BLOCK_BYTES_MAX                                                                  \
    (TAU_TRACE_STREAMS_COUNT * (TAU_TRACE_STREAM_ENTRY_BYTES + TAU_TRACE_STREAM_BYTES_MAX))

// False iff memory is short. Free with tau_trace_packer_close in both cases.
bool tau_trace_packer_open(struct tau_trace_packer *packer, bool for_writing);
void tau_trace_packer_close(struct tau_trace_packer *packer);

// Unpacks STORED bytes to exactly RAW bytes at TO and returns TO, or FROM itself if the bytes were
// only copied (STORED equals RAW). NULL if they are damaged.
const uint8_t *tau_trace_unpack_bytes(const struct tau_trace_packer *packer, const uint8_t *from,
                                      uint32_t stored, uint8_t *to, uint32_t raw);

// Packs COUNT values of stream STREAM (low halves, and WIDE_COUNT high parts) to OUT, which has
// room for TAU_TRACE_STREAM_BYTES_MAX, and describes them in ENTRY (TAU_TRACE_STREAM_ENTRY_BYTES).
// VALUES is overwritten. Returns the bytes written.
size_t tau_trace_stream_pack(struct tau_trace_packer *packer, unsigned stream, uint32_t *values,
                             uint32_t count, const struct tau_trace_wide *wide, uint32_t wide_count,
                             uint8_t *entry, uint8_t *out);

// The same for a stream of bytes with base 0 and no
// exceptions. BYTES stays.
size_t tau_trace_stream_pack_bytes(struct tau_trace_packer *packer, unsigned stream,
                                   const uint8_t *bytes, uint32_t count, uint8_t *entry,
                                   uint8_t *out);

// How many bytes the stream that ENTRY describes takes; false iff ENTRY breaks a limit for COUNT
// values.
bool tau_trace_stream_size(const uint8_t *entry, uint32_t count, size_t *bytes);

// The reverse of tau_trace_stream_pack: COUNT low halves to VALUES; the high parts, at most COUNT,
// to WIDE (may be NULL if the stream may have none). False iff the bytes are not what a writer
// makes. STORED has the bytes that tau_trace_stream_size told.
bool tau_trace_stream_unpack(struct tau_trace_packer *packer, const uint8_t *entry,
                             const uint8_t *stored, uint32_t count, uint32_t *values,
                             struct tau_trace_wide *wide, uint32_t *wide_count);

// The same for a stream of bytes: none of its values is above 255. WORDS is scratch for COUNT
// values.
bool tau_trace_stream_unpack_bytes(struct tau_trace_packer *packer, const uint8_t *entry,
                                   const uint8_t *stored, uint32_t count, uint8_t *bytes,
                                   uint32_t *words);

#endif
