// Finds the blocks of a trace, from the footer or, if a crash or damage left none, by a scan.
#include <stdlib.h>

#include "tool/native/trace/bytes.h"
#include "tool/native/trace/columns.h"
#include "tool/native/trace/reader.h"
#include "tool/native/trace/totals.h"

// Adds a chunk to blocks or site chunks; their counts are in totals.blocks and site_chunks_count.
// False iff memory is short.
static bool add_place(struct tau_trace_reader *reader, const struct tau_trace_place *place) {
    bool block = place->chunk.kind == TAU_TRACE_CHUNK_EVENTS;
    struct tau_trace_place **places = block ? &reader->blocks : &reader->site_chunks;
    size_t count = block ? (size_t)reader->totals.blocks : reader->site_chunks_count;
    if ((count & (count - 1)) == 0) {  // full at every power of two
        struct tau_trace_place *grown =
            realloc(*places, (count == 0 ? 1 : count * 2) * sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        *places = grown;
    }
    (*places)[count] = *place;
    reader->totals.blocks += block;
    reader->site_chunks_count += !block;
    return true;
}

static void forget(struct tau_trace_reader *reader) {
    free(reader->blocks);
    free(reader->site_chunks);
    free(reader->sizes);
    reader->blocks = NULL;
    reader->site_chunks = NULL;
    reader->sizes = NULL;
    reader->site_chunks_count = 0;
    reader->sizes_count = 0;
    memset(&reader->totals, 0, sizeof reader->totals);
}

// Whether a chunk's count and its place in the order of events and sites are possible.
static bool chunk_follows(const struct tau_trace_chunk *chunk, uint64_t events, uint64_t sites) {
    if (chunk->kind == TAU_TRACE_CHUNK_EVENTS) {
        return chunk->count > 0 && chunk->count <= TAU_TRACE_BLOCK_EVENTS_MAX &&
               chunk->first == events;
    }
    return chunk->kind == TAU_TRACE_CHUNK_SITES && chunk->count > 0 && chunk->first == sites + 1 &&
           sites + chunk->count < UINT32_MAX;
}

// ---- the footer -----------------------------------------------------------------------

// The footer's chunk is in reader->chunk when this returns TAU_TRACE_OK.
static enum tau_trace_status find_footer(struct tau_trace_reader *reader, uint64_t *footer_offset,
                                         uint32_t *payload_bytes) {
    uint8_t trailer[TAU_TRACE_TRAILER_BYTES];
    if (reader->file_bytes - reader->chunks_offset <
        sizeof trailer + TAU_TRACE_CHUNK_HEADER_BYTES) {
        return TAU_TRACE_CORRUPT;
    }
    uint64_t trailer_offset = reader->file_bytes - sizeof trailer;
    enum tau_trace_status status =
        tau_trace_reader_bytes(reader, trailer_offset, trailer, sizeof trailer);
    if (status != TAU_TRACE_OK) {
        return status;
    }
    *footer_offset = tau_trace_load64(trailer);
    if (memcmp(trailer + 16, TAU_TRACE_END_MAGIC, 8) != 0 ||
        tau_trace_load64(trailer + 8) != tau_trace_trailer_checksum(trailer) ||
        *footer_offset < reader->chunks_offset || *footer_offset >= trailer_offset) {
        return TAU_TRACE_CORRUPT;
    }
    struct tau_trace_chunk chunk = {0};
    status = tau_trace_reader_chunk(reader, *footer_offset, &chunk);
    if (status != TAU_TRACE_OK) {
        return status;
    }
    *payload_bytes = chunk.payload_bytes;
    bool fits =
        *footer_offset + TAU_TRACE_CHUNK_HEADER_BYTES + chunk.payload_bytes == trailer_offset;
    bool holds_fixed = chunk.payload_bytes >= TAU_TRACE_FOOTER_FIXED_BYTES;
    return chunk.kind == TAU_TRACE_CHUNK_FOOTER && fits && holds_fixed ? TAU_TRACE_OK
                                                                       : TAU_TRACE_CORRUPT;
}

// Reads COUNT index entries; they must cover the file from the header to the footer without a gap.
static enum tau_trace_status load_index(struct tau_trace_reader *reader, const uint8_t *from,
                                        uint64_t count, uint64_t footer_offset) {
    uint64_t offset = reader->chunks_offset, events = 0, sites = 0;
    reader->totals.blocks = 0;
    for (uint64_t i = 0; i < count; i++, from += TAU_TRACE_INDEX_ENTRY_BYTES) {
        struct tau_trace_place place = {
            .offset = tau_trace_load64(from),
            .chunk = {.kind = tau_trace_load32(from + 8),
                      .count = tau_trace_load32(from + 12),
                      .payload_bytes = tau_trace_load32(from + 16)},
        };
        bool block = place.chunk.kind == TAU_TRACE_CHUNK_EVENTS;
        place.chunk.first = block ? events : sites + 1;
        if (place.offset != offset || !chunk_follows(&place.chunk, events, sites)) {
            return TAU_TRACE_CORRUPT;
        }
        if (!add_place(reader, &place)) {
            return TAU_TRACE_NO_MEMORY;
        }
        *(block ? &events : &sites) += place.chunk.count;
        offset += TAU_TRACE_CHUNK_HEADER_BYTES + (uint64_t)place.chunk.payload_bytes;
    }
    bool whole =
        offset == footer_offset && events == reader->totals.events && sites == reader->totals.sites;
    return whole ? TAU_TRACE_OK : TAU_TRACE_CORRUPT;
}

// Unpacks the size table.
static enum tau_trace_status load_sizes(struct tau_trace_reader *reader, const uint8_t *from,
                                        uint32_t stored, uint32_t raw, uint64_t count) {
    const size_t lines_max =
        TAU_TRACE_SIZES_DIRECT + TAU_TRACE_SIZES_EXACT_MAX + TAU_TRACE_SIZES_ROUNDED_MAX;
    if (count > lines_max || raw > count * 3 * TAU_TRACE_VARINT_BYTES_MAX || raw < count * 3) {
        return TAU_TRACE_CORRUPT;
    }
    uint8_t *unpacked = malloc((size_t)raw + 1);
    reader->sizes = malloc((size_t)(count + 1) * sizeof *reader->sizes);
    if (unpacked == NULL || reader->sizes == NULL) {
        free(unpacked);
        return TAU_TRACE_NO_MEMORY;
    }
    const uint8_t *at = tau_trace_unpack_bytes(&reader->coder.packer, from, stored, unpacked, raw);
    bool good = at != NULL;
    const uint8_t *end = good ? at + raw : NULL;
    uint64_t before = 0;
    for (uint64_t i = 0; good && i < count; i++) {
        struct tau_trace_size *size = &reader->sizes[i];
        uint64_t distance = 0;
        good = tau_trace_get_varint(&at, end, &distance) &&
               tau_trace_get_varint(&at, end, &size->allocations) &&
               tau_trace_get_varint(&at, end, &size->peak_live);
        good = good && before + distance >= before && (distance > 0 || i == 0);
        before += distance;
        size->size_bytes = before;
    }
    free(unpacked);
    reader->sizes_count = (size_t)count;
    return good && at == end ? TAU_TRACE_OK : TAU_TRACE_CORRUPT;
}

// Totals that no writer makes are refused, because readers size their tables by them.
static bool totals_possible(const struct tau_trace_totals *totals) {
    uint64_t ops = 0;
    for (unsigned op = 0; op < TAU_TRACE_OPS_COUNT; op++) {
        if (totals->events_of_op[op] > totals->events) {
            return false;
        }
        ops += totals->events_of_op[op];
    }
    uint64_t misuse[3] = {totals->unknown_count, totals->inherited_count,
                          totals->double_free_count};
    for (unsigned i = 0; i < 3; i++) {
        if (misuse[i] > totals->events) {
            return false;
        }
    }
    uint64_t touches = totals->events_of_op[TAU_TRACE_OP_TOUCH];
    uint64_t allocations =
        totals->events_of_op[0] + totals->events_of_op[1] + totals->events_of_op[3];
    return ops == totals->events && totals->slots_count_max <= allocations &&
           totals->slots_count_max < TAU_TRACE_SLOT_NONE &&
           totals->peak_live_objects <= totals->slots_count_max &&
           totals->end_live_objects <= totals->peak_live_objects &&
           totals->end_live_bytes <= totals->peak_live_bytes &&
           totals->threads <= TAU_TRACE_THREADS_MAX && totals->touched_granules >= touches &&
           totals->touched_granules / TAU_TRACE_TOUCH_GRANULES_MAX <= touches;
}

enum tau_trace_status tau_trace_index_load(struct tau_trace_reader *reader) {
    uint64_t footer_offset = 0;
    uint32_t payload_bytes = 0;
    enum tau_trace_status status = find_footer(reader, &footer_offset, &payload_bytes);
    if (status != TAU_TRACE_OK) {
        return status;
    }
    const uint8_t *payload = reader->chunk + TAU_TRACE_CHUNK_HEADER_BYTES;
    const uint8_t *counts = payload + 8 * TAU_TRACE_STORED_TOTALS;
    uint64_t index_count = tau_trace_load64(counts), sizes_count = tau_trace_load64(counts + 8);
    uint32_t sizes_raw = tau_trace_load32(counts + 16),
             sizes_stored = tau_trace_load32(counts + 20);
    uint64_t left = payload_bytes - TAU_TRACE_FOOTER_FIXED_BYTES;
    if (index_count > left / TAU_TRACE_INDEX_ENTRY_BYTES || sizes_stored > sizes_raw ||
        left - index_count * TAU_TRACE_INDEX_ENTRY_BYTES != sizes_stored) {
        return TAU_TRACE_CORRUPT;
    }
    tau_trace_totals_load(&reader->totals, payload);
    uint64_t blocks = reader->totals.blocks;
    status = totals_possible(&reader->totals) ? TAU_TRACE_OK : TAU_TRACE_CORRUPT;
    if (status == TAU_TRACE_OK) {
        status = load_index(reader, counts + 24, index_count, footer_offset);
    }
    if (status == TAU_TRACE_OK && reader->totals.blocks != blocks) {
        status = TAU_TRACE_CORRUPT;
    }
    if (status == TAU_TRACE_OK) {
        const uint8_t *sizes = counts + 24 + index_count * TAU_TRACE_INDEX_ENTRY_BYTES;
        status = load_sizes(reader, sizes, sizes_stored, sizes_raw, sizes_count);
    }
    reader->totals.reached_end = 1;
    if (status != TAU_TRACE_OK) {
        forget(reader);
    }
    return status;
}

// ---- recovery -------------------------------------------------------------------------

// Passes the events of the chunk in reader->chunk to the ledger.
static enum tau_trace_status scan_block(struct tau_trace_reader *reader,
                                        const struct tau_trace_chunk *chunk,
                                        const struct tau_trace_columns *columns,
                                        struct tau_trace_ledger *ledger, uint64_t sites) {
    struct tau_trace_bounds bounds = {.slots_count = TAU_TRACE_SLOT_NONE, .sites_count = sites};
    if (!tau_trace_block_unpack(&reader->coder, reader->chunk + TAU_TRACE_CHUNK_HEADER_BYTES,
                                chunk->payload_bytes, chunk->count, chunk->start_ns, &bounds,
                                columns)) {
        return TAU_TRACE_CORRUPT;
    }
    enum tau_trace_status status;
    (void)tau_trace_ledger_take(ledger, columns, chunk->count, sites, &status);
    return status == TAU_TRACE_BAD_EVENT ? TAU_TRACE_CORRUPT : status;
}

// Reads chunks until one is not whole; *end is where that is, *footer whether it is a whole footer
// that says that these were all events.
static enum tau_trace_status scan(struct tau_trace_reader *reader,
                                  const struct tau_trace_columns *columns,
                                  struct tau_trace_ledger *ledger, uint64_t *end, bool *footer) {
    uint64_t events = 0, sites = 0;
    *end = reader->chunks_offset;
    for (;;) {
        struct tau_trace_place place = {.offset = *end};
        enum tau_trace_status status = tau_trace_reader_chunk(reader, *end, &place.chunk);
        if (status == TAU_TRACE_CORRUPT ||
            (status == TAU_TRACE_OK && !chunk_follows(&place.chunk, events, sites))) {
            *footer = status == TAU_TRACE_OK && place.chunk.kind == TAU_TRACE_CHUNK_FOOTER &&
                      place.chunk.first == events;
            reader->totals.sites = sites;
            return TAU_TRACE_OK;
        }
        if (status == TAU_TRACE_OK && place.chunk.kind == TAU_TRACE_CHUNK_EVENTS) {
            status = scan_block(reader, &place.chunk, columns, ledger, sites);
        }
        if (status == TAU_TRACE_OK && !add_place(reader, &place)) {
            status = TAU_TRACE_NO_MEMORY;
        }
        if (status != TAU_TRACE_OK) {
            return status;
        }
        *(place.chunk.kind == TAU_TRACE_CHUNK_EVENTS ? &events : &sites) += place.chunk.count;
        *end += TAU_TRACE_CHUNK_HEADER_BYTES + (uint64_t)place.chunk.payload_bytes;
    }
}

enum tau_trace_status tau_trace_index_recover(struct tau_trace_reader *reader) {
    struct tau_trace_columns columns;
    struct tau_trace_ledger *ledger = tau_trace_ledger_open();
    enum tau_trace_status status = TAU_TRACE_NO_MEMORY;
    forget(reader);
    const bool has_columns = tau_trace_columns_open(&columns, TAU_TRACE_BLOCK_EVENTS_MAX);
    if (ledger != NULL && has_columns) {
        uint64_t end = 0;
        bool footer = false;
        status = scan(reader, &columns, ledger, &end, &footer);
        uint64_t blocks = reader->totals.blocks, sites = reader->totals.sites;
        reader->totals = *tau_trace_ledger_totals(ledger);
        reader->totals.blocks = blocks;
        reader->totals.sites = sites;
        reader->totals.recovered = 1;
        reader->totals.reached_end = footer;
        reader->totals.dropped_bytes = footer ? 0 : reader->file_bytes - end;
        reader->sizes = tau_trace_ledger_sizes(ledger, &reader->sizes_count);
        if (status == TAU_TRACE_OK && reader->sizes == NULL) {
            status = TAU_TRACE_NO_MEMORY;
        }
    }
    tau_trace_columns_close(&columns);
    tau_trace_ledger_close(ledger);
    return status;
}
