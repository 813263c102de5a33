// Chunks: the checked pieces that a trace's file is made of. Every multi-byte number is
// little-endian.
//
//   file   = file header, chunk, chunk …, footer chunk, trailer
//   chunk  = magic, kind, count, payload bytes (32 bits each), first, time, checksum (64 bits
//   each), payload
#ifndef TAU_TRACE_CHUNK_H
#define TAU_TRACE_CHUNK_H

#include "tool/native/trace/trace.h"

// The numbers that the footer holds, in the order of SPEC.
#define TAU_TRACE_STORED_TOTALS 23u
// Totals, index count, sizes count, and the raw and stored bytes of the sizes.
#define TAU_TRACE_FOOTER_FIXED_BYTES (8u * TAU_TRACE_STORED_TOTALS + 24u)

struct tau_trace_chunk {
    uint32_t kind;
    uint32_t count;  // events, sites; 0 in the footer
    uint32_t payload_bytes;
    uint64_t first;     // events: index of the first event; sites: index of the first site; footer:
                        // events of the trace
    uint64_t start_ns;  // events: time of the first one; else 0
};

// Where a chunk lies; the footer's index is a list of these.
struct tau_trace_place {
    uint64_t offset;
    struct tau_trace_chunk chunk;  // start_ns is not kept in the index
};

// Writes the chunk's header to BYTES, before its payload, checksum included.
void tau_trace_chunk_seal(const struct tau_trace_chunk *chunk, uint8_t *bytes);
// Reads a chunk's header; false iff the magic is missing. The checksum is not looked at.
bool tau_trace_chunk_header(const uint8_t *bytes, struct tau_trace_chunk *chunk);
// Whether header and payload have not changed since they were sealed.
bool tau_trace_chunk_intact(const uint8_t *bytes, uint32_t payload_bytes);

// The checksum of the file header and of the trailer.
uint64_t tau_trace_header_checksum(const uint8_t *fixed, const uint8_t *json, size_t json_bytes);
uint64_t tau_trace_trailer_checksum(const uint8_t *trailer);

// The totals of the footer, in the order of SPEC.
struct tau_trace_stored_total {
    const char *name;
    size_t offset;             // in struct tau_trace_totals
    bool follows_from_events;  // else it counts chunks, or sites
};

extern const struct tau_trace_stored_total tau_trace_stored_totals[TAU_TRACE_STORED_TOTALS];
uint64_t tau_trace_stored_total(const struct tau_trace_totals *totals, unsigned index);
// Totals to the footer's words, and back.
void tau_trace_totals_store(const struct tau_trace_totals *totals, uint8_t *to);
void tau_trace_totals_load(struct tau_trace_totals *totals, const uint8_t *from);

#endif
