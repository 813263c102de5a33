// See chunk.h; every byte is in docs/spec/trace.md, "The file".
#include "tool/native/trace/chunk.h"

#include "tool/native/trace/bytes.h"
#include "tool/native/trace/hash.h"

#define CHECKSUM_AT (TAU_TRACE_CHUNK_HEADER_BYTES - 8u)

static uint64_t chunk_checksum(const uint8_t *bytes, uint32_t payload_bytes) {
    uint64_t seed = tau_trace_hash(bytes, CHECKSUM_AT, 0);
    return tau_trace_hash(bytes + TAU_TRACE_CHUNK_HEADER_BYTES, payload_bytes, seed);
}

void tau_trace_chunk_seal(const struct tau_trace_chunk *chunk, uint8_t *bytes) {
    tau_trace_store32(bytes, TAU_TRACE_CHUNK_MAGIC);
    tau_trace_store32(bytes + 4, chunk->kind);
    tau_trace_store32(bytes + 8, chunk->count);
    tau_trace_store32(bytes + 12, chunk->payload_bytes);
    tau_trace_store64(bytes + 16, chunk->first);
    tau_trace_store64(bytes + 24, chunk->start_ns);
    tau_trace_store64(bytes + CHECKSUM_AT, chunk_checksum(bytes, chunk->payload_bytes));
}

bool tau_trace_chunk_header(const uint8_t *bytes, struct tau_trace_chunk *chunk) {
    *chunk = (struct tau_trace_chunk){
        .kind = tau_trace_load32(bytes + 4),
        .count = tau_trace_load32(bytes + 8),
        .payload_bytes = tau_trace_load32(bytes + 12),
        .first = tau_trace_load64(bytes + 16),
        .start_ns = tau_trace_load64(bytes + 24),
    };
    return tau_trace_load32(bytes) == TAU_TRACE_CHUNK_MAGIC;
}

bool tau_trace_chunk_intact(const uint8_t *bytes, uint32_t payload_bytes) {
    return tau_trace_load64(bytes + CHECKSUM_AT) == chunk_checksum(bytes, payload_bytes);
}

uint64_t tau_trace_header_checksum(const uint8_t *fixed, const uint8_t *json, size_t json_bytes) {
    return tau_trace_hash(json, json_bytes,
                          tau_trace_hash(fixed, TAU_TRACE_FILE_HEADER_BYTES - 8u, 0));
}

uint64_t tau_trace_trailer_checksum(const uint8_t *trailer) {
    return tau_trace_hash(trailer, 8, 0);
}

#define TOTAL(name, field)                                                                         \
    { name, offsetof(struct tau_trace_totals, field), true }
#define COUNTED_BY_CHUNKS(name)                                                                    \
    { #name, offsetof(struct tau_trace_totals, name), false }
const struct tau_trace_stored_total tau_trace_stored_totals[TAU_TRACE_STORED_TOTALS] = {
    TOTAL("events", events),
    TOTAL("events of malloc", events_of_op[0]),
    TOTAL("events of calloc", events_of_op[1]),
    TOTAL("events of realloc", events_of_op[2]),
    TOTAL("events of aligned_alloc", events_of_op[3]),
    TOTAL("events of free", events_of_op[4]),
    COUNTED_BY_CHUNKS(blocks),
    TOTAL("peak_live_bytes", peak_live_bytes),
    TOTAL("peak_live_objects", peak_live_objects),
    TOTAL("slots_count_max", slots_count_max),
    TOTAL("duration_ns", duration_ns),
    TOTAL("threads", threads),
    TOTAL("unknown_count", unknown_count),
    TOTAL("unknown_first_event", unknown_first_event),
    TOTAL("inherited_count", inherited_count),
    TOTAL("double_free_count", double_free_count),
    TOTAL("double_free_first_event", double_free_first_event),
    TOTAL("end_live_objects", end_live_objects),
    TOTAL("end_live_bytes", end_live_bytes),
    TOTAL("sizes_rounded_count", sizes_rounded_count),
    COUNTED_BY_CHUNKS(sites),
    TOTAL("events of touch", events_of_op[TAU_TRACE_OP_TOUCH]),
    TOTAL("touched_granules", touched_granules),
};

uint64_t tau_trace_stored_total(const struct tau_trace_totals *totals, unsigned index) {
    uint64_t word;
    memcpy(&word, (const uint8_t *)totals + tau_trace_stored_totals[index].offset, sizeof word);
    return word;
}

void tau_trace_totals_store(const struct tau_trace_totals *totals, uint8_t *to) {
    for (unsigned i = 0; i < TAU_TRACE_STORED_TOTALS; i++) {
        tau_trace_store64(to + 8 * i, tau_trace_stored_total(totals, i));
    }
}

void tau_trace_totals_load(struct tau_trace_totals *totals, const uint8_t *from) {
    memset(totals, 0, sizeof *totals);
    for (unsigned i = 0; i < TAU_TRACE_STORED_TOTALS; i++) {
        memcpy((uint8_t *)totals + tau_trace_stored_totals[i].offset, from + 8 * i, 8);
    }
}
