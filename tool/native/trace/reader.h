// Shared by the reader's files: reader.c (header, blocks, sites) and index.c (footer, recovery).
#ifndef TAU_TRACE_READER_H
#define TAU_TRACE_READER_H

#include "tool/native/trace/block.h"
#include "tool/native/trace/chunk.h"

struct tau_trace_reader {
    int file;
    uint32_t version;
    uint64_t file_bytes;
    uint64_t chunks_offset;  // end of the file header
    char *header_json;
    struct tau_trace_totals totals;
    struct tau_trace_place *blocks;  // totals.blocks of them
    struct tau_trace_place *site_chunks;
    size_t site_chunks_count;
    struct tau_trace_size *sizes;
    size_t sizes_count;
    struct tau_trace_block_coder coder;
    uint8_t *chunk;  // the chunk read last
    size_t chunk_room;
    uint8_t *site_bytes;  // one unpacked chunk of sites, where its entries start, and which it is
    uint32_t *site_starts;
    size_t site_chunk;
    bool has_callers;  // whether that chunk's entries name their callers
    char module[TAU_TRACE_MODULE_BYTES_MAX + 1];
};

// Reads COUNT bytes at OFFSET. TAU_TRACE_CORRUPT if the file ends before.
enum tau_trace_status tau_trace_reader_bytes(const struct tau_trace_reader *reader, uint64_t offset,
                                             uint8_t *to, size_t count);
// Reads the chunk at OFFSET to reader->chunk and checks it: limits, file size, checksum.
enum tau_trace_status tau_trace_reader_chunk(struct tau_trace_reader *reader, uint64_t offset,
                                             struct tau_trace_chunk *chunk);
// Fills totals, blocks, site chunks and sizes from the footer; TAU_TRACE_CORRUPT if it is missing
// or does not hold.
enum tau_trace_status tau_trace_index_load(struct tau_trace_reader *reader);
// Fills the same by reading every chunk up to the first that is not whole.
enum tau_trace_status tau_trace_index_recover(struct tau_trace_reader *reader);

#endif
