// One block of events: columns to the eight streams of a chunk's payload and back.
#ifndef TAU_TRACE_BLOCK_H
#define TAU_TRACE_BLOCK_H

#include "tool/native/trace/stream.h"
#include "tool/native/trace/trace.h"

// Scratch memory of a writer or reader: about 2 MiB.
struct tau_trace_block_coder {
    struct tau_trace_packer packer;
    uint32_t *values;       // one stream's low halves
    uint32_t *more_values;  // a second stream's, where two are made in one pass
    struct tau_trace_wide *wide;
    uint32_t
        *free_slots;  // the block's own stack of freed slots, after the explicit prediction at [0]
    uint8_t *op_bytes;  // op + 8 * flags
};

// The bounds that every decoded event keeps.
struct tau_trace_bounds {
    uint64_t slots_count;
    uint64_t sites_count;
};

// False iff memory is short; close in both cases.
bool tau_trace_block_coder_open(struct tau_trace_block_coder *coder, bool for_writing);
void tau_trace_block_coder_close(struct tau_trace_block_coder *coder);

// Packs COUNT events (1 … TAU_TRACE_BLOCK_EVENTS_MAX), which keep the rules of SPEC, to PAYLOAD,
// which has room for TAU_TRACE_BLOCK_BYTES_MAX. site and align_log2 may be NULL. Returns the bytes
// written. About 10 ns an event.
size_t tau_trace_block_pack(struct tau_trace_block_coder *coder,
                            const struct tau_trace_columns *columns, uint32_t count,
                            uint8_t *payload);

// The reverse; columns that are NULL are skipped. START_NS is the time of the block's first event.
// False iff the payload is not what a writer makes or an event breaks BOUNDS; COLUMNS may then hold
// anything.
bool tau_trace_block_unpack(struct tau_trace_block_coder *coder, const uint8_t *payload,
                            size_t payload_bytes, uint32_t count, uint64_t start_ns,
                            const struct tau_trace_bounds *bounds,
                            const struct tau_trace_columns *columns);

#endif
