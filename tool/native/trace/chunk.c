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

// The stored totals in order; the compiler turns the loop over it into plain moves.
static void list_totals(struct tau_trace_totals *totals, uint64_t *words[TAU_TRACE_STORED_TOTALS]) {
    uint64_t *all[TAU_TRACE_STORED_TOTALS] = {
        &totals->events,
        &totals->events_of_op[0],
        &totals->events_of_op[1],
        &totals->events_of_op[2],
        &totals->events_of_op[3],
        &totals->events_of_op[4],
        &totals->blocks,
        &totals->peak_live_bytes,
        &totals->peak_live_objects,
        &totals->slots_count_max,
        &totals->duration_ns,
        &totals->threads,
        &totals->unknown_count,
        &totals->unknown_first_event,
        &totals->inherited_count,
        &totals->double_free_count,
        &totals->double_free_first_event,
        &totals->end_live_objects,
        &totals->end_live_bytes,
        &totals->sizes_rounded_count,
        &totals->sites,
        &totals->events_of_op[TAU_TRACE_OP_TOUCH],
        &totals->touched_granules,
    };
    memcpy(words, all, sizeof all);
}

void tau_trace_totals_store(const struct tau_trace_totals *totals, uint8_t *to) {
    struct tau_trace_totals copy = *totals;
    uint64_t *words[TAU_TRACE_STORED_TOTALS];
    list_totals(&copy, words);
    for (unsigned i = 0; i < TAU_TRACE_STORED_TOTALS; i++) {
        tau_trace_store64(to + 8 * i, *words[i]);
    }
}

void tau_trace_totals_load(struct tau_trace_totals *totals, const uint8_t *from) {
    uint64_t *words[TAU_TRACE_STORED_TOTALS];
    memset(totals, 0, sizeof *totals);
    list_totals(totals, words);
    for (unsigned i = 0; i < TAU_TRACE_STORED_TOTALS; i++) {
        *words[i] = tau_trace_load64(from + 8 * i);
    }
}
