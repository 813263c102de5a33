// Writes a trace, block by block.
//
// 1. Events collect in a block; a caller's whole blocks are packed where they lie.
// 2. The ledger checks each event first: it refuses one that violates a rule, and keeps the totals.
// 3. A full block is packed, sealed with its checksum and written by one write; sites named since
// then go before it.
// 4. Closing writes the footer (totals, index of chunks, size table) and the trailer that points to
// it.
//
// A crash after any write leaves whole chunks and at most one torn one, so the reader can recover
// all events before it.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

#include "tool/native/trace/block.h"
#include "tool/native/trace/bytes.h"
#include "tool/native/trace/chunk.h"
#include "tool/native/trace/columns.h"
#include "tool/native/trace/sites.h"
#include "tool/native/trace/totals.h"
#include "tool/native/trace/trace.h"

struct tau_trace_writer {
    int file;
    enum tau_trace_status failed;  // once set, nothing more is written
    uint64_t offset;               // end of the last whole chunk
    struct tau_trace_ledger *ledger;
    struct tau_trace_block_coder coder;
    struct tau_trace_columns block;
    uint32_t block_count;
    uint64_t block_first;  // index of the block's first event
    struct tau_trace_sites sites;
    uint32_t sites_written;
    struct tau_trace_place *index;
    size_t index_count, index_room;
    uint8_t *chunk;  // room for the largest block's chunk
};

static enum tau_trace_status status_of_errno(void) {
    return errno == ENOSPC || errno == EDQUOT || errno == EFBIG ? TAU_TRACE_DISK_FULL
                                                                : TAU_TRACE_IO_FAILED;
}

// Writes COUNT bytes at the writer's offset and moves it; on failure the file keeps its whole
// chunks.
static enum tau_trace_status write_all(struct tau_trace_writer *writer, const uint8_t *bytes,
                                       size_t count) {
    size_t done = 0;
    while (done < count) {
        ssize_t written = write(writer->file, bytes + done, count - done);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            writer->failed = written == 0 ? TAU_TRACE_DISK_FULL : status_of_errno();
            return writer->failed;
        }
        done += (size_t)written;
    }
    writer->offset += count;
    return TAU_TRACE_OK;
}

// Seals the payload that lies after the chunk's header at BYTES, writes both and notes the place.
static enum tau_trace_status write_chunk(struct tau_trace_writer *writer,
                                         const struct tau_trace_chunk *chunk, uint8_t *bytes) {
    if (writer->index_count == writer->index_room) {
        size_t room = writer->index_room == 0 ? 64 : writer->index_room * 2;
        struct tau_trace_place *index = realloc(writer->index, room * sizeof *index);
        if (index == NULL) {
            writer->failed = TAU_TRACE_NO_MEMORY;
            return writer->failed;
        }
        writer->index = index;
        writer->index_room = room;
    }
    tau_trace_chunk_seal(chunk, bytes);
    uint64_t offset = writer->offset;
    enum tau_trace_status status =
        write_all(writer, bytes, TAU_TRACE_CHUNK_HEADER_BYTES + (size_t)chunk->payload_bytes);
    if (status == TAU_TRACE_OK) {
        writer->index[writer->index_count++] =
            (struct tau_trace_place){.offset = offset, .chunk = *chunk};
    }
    return status;
}

// Packs RAW bytes after a word with their number; returns the bytes at TO, which has
// room for 4 + RAW.
static size_t pack_table(struct tau_trace_writer *writer, const uint8_t *raw, size_t count,
                         uint8_t *to) {
    size_t packed =
        ZSTD_compressCCtx(writer->coder.packer.compressor, to + 4, count, raw, count, 3);
    tau_trace_store32(to, (uint32_t)count);
    if (ZSTD_isError(packed) || packed >= count) {
        memcpy(to + 4, raw, count);
        packed = count;
    }
    return packed + 4;
}

// Writes the sites named since the last time, in as many chunks as their names need.
static enum tau_trace_status flush_sites(struct tau_trace_writer *writer) {
    enum tau_trace_status status = TAU_TRACE_OK;
    if (writer->sites_written == writer->sites.count) {
        return status;
    }
    const size_t entry_bytes_max = TAU_TRACE_MODULE_BYTES_MAX + 3u * TAU_TRACE_VARINT_BYTES_MAX;
    uint8_t *raw = malloc(TAU_TRACE_SITES_CHUNK_BYTES_MAX);
    while (status == TAU_TRACE_OK && raw != NULL && writer->sites_written < writer->sites.count) {
        uint32_t next = writer->sites_written;
        uint8_t *to = raw;
        while (next < writer->sites.count &&
               (size_t)(to - raw) + entry_bytes_max <= TAU_TRACE_SITES_CHUNK_BYTES_MAX) {
            const struct tau_trace_site_entry *entry = &writer->sites.entries[next++];
            size_t module_bytes = strlen(entry->module);
            to = tau_trace_put_varint(to, module_bytes);
            memcpy(to, entry->module, module_bytes);
            to = tau_trace_put_varint(to + module_bytes, entry->offset);
            if (writer->sites.has_callers) {
                to = tau_trace_put_varint(to, entry->caller);
            }
        }
        size_t bytes = pack_table(writer, raw, (size_t)(to - raw),
                                  writer->chunk + TAU_TRACE_CHUNK_HEADER_BYTES);
        struct tau_trace_chunk chunk = {.kind = TAU_TRACE_CHUNK_SITES,
                                        .count = next - writer->sites_written,
                                        .payload_bytes = (uint32_t)bytes,
                                        .first = (uint64_t)writer->sites_written + 1,
                                        .start_ns = writer->sites.has_callers};
        status = write_chunk(writer, &chunk, writer->chunk);
        writer->sites_written = next;
    }
    if (raw == NULL) {
        writer->failed = TAU_TRACE_NO_MEMORY;
        status = writer->failed;
    }
    free(raw);
    return status;
}

static enum tau_trace_status write_block(struct tau_trace_writer *writer,
                                         const struct tau_trace_columns *columns, uint32_t count) {
    enum tau_trace_status status = flush_sites(writer);
    if (status != TAU_TRACE_OK) {
        return status;
    }
    size_t bytes = tau_trace_block_pack(&writer->coder, columns, count,
                                        writer->chunk + TAU_TRACE_CHUNK_HEADER_BYTES);
    struct tau_trace_chunk chunk = {.kind = TAU_TRACE_CHUNK_EVENTS,
                                    .count = count,
                                    .payload_bytes = (uint32_t)bytes,
                                    .first = writer->block_first,
                                    .start_ns = columns->time_ns[0]};
    status = write_chunk(writer, &chunk, writer->chunk);
    writer->block_first += count;
    tau_trace_ledger_totals(writer->ledger)->blocks += status == TAU_TRACE_OK;
    return status;
}

static enum tau_trace_status flush_block(struct tau_trace_writer *writer) {
    if (writer->block_count == 0) {
        return TAU_TRACE_OK;
    }
    uint32_t count = writer->block_count;
    writer->block_count = 0;
    return write_block(writer, &writer->block, count);
}

// ---- opening and closing --------------------------------------------------------------

static void release(struct tau_trace_writer *writer) {
    tau_trace_ledger_close(writer->ledger);
    tau_trace_block_coder_close(&writer->coder);
    tau_trace_columns_close(&writer->block);
    tau_trace_sites_close(&writer->sites);
    free(writer->index);
    free(writer->chunk);
    free(writer);
}

static enum tau_trace_status write_file_header(struct tau_trace_writer *writer,
                                               const char *header_json) {
    size_t json_bytes = strlen(header_json);
    uint8_t *header = malloc(TAU_TRACE_FILE_HEADER_BYTES + json_bytes);
    if (header == NULL) {
        return TAU_TRACE_NO_MEMORY;
    }
    memcpy(header, TAU_TRACE_MAGIC, 8);
    tau_trace_store32(header + 8, TAU_TRACE_VERSION);
    tau_trace_store32(header + 12, (uint32_t)json_bytes);
    memcpy(header + TAU_TRACE_FILE_HEADER_BYTES, header_json, json_bytes);
    tau_trace_store64(header + 16, tau_trace_header_checksum(
                                       header, header + TAU_TRACE_FILE_HEADER_BYTES, json_bytes));
    enum tau_trace_status status =
        write_all(writer, header, TAU_TRACE_FILE_HEADER_BYTES + json_bytes);
    free(header);
    return status;
}

struct tau_trace_writer *tau_trace_writer_open(const char *path, const char *header_json,
                                               enum tau_trace_status *status) {
    if (strlen(header_json) > TAU_TRACE_HEADER_BYTES_MAX) {
        *status = TAU_TRACE_BAD_EVENT;
        return NULL;
    }
    struct tau_trace_writer *writer = calloc(1, sizeof *writer);
    if (writer == NULL) {
        *status = TAU_TRACE_NO_MEMORY;
        return NULL;
    }
    writer->ledger = tau_trace_ledger_open();
    writer->chunk = malloc(TAU_TRACE_CHUNK_HEADER_BYTES + TAU_TRACE_BLOCK_BYTES_MAX);
    bool complete = tau_trace_block_coder_open(&writer->coder, true);
    complete = tau_trace_columns_open(&writer->block, TAU_TRACE_BLOCK_EVENTS_MAX) && complete &&
               writer->ledger != NULL && writer->chunk != NULL;
    if (!complete) {
        *status = TAU_TRACE_NO_MEMORY;
        release(writer);
        return NULL;
    }
    writer->file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (writer->file < 0) {
        *status = status_of_errno();
        release(writer);
        return NULL;
    }
    *status = write_file_header(writer, header_json);
    if (*status != TAU_TRACE_OK) {
        int cause = errno;
        close(writer->file);
        release(writer);
        errno = cause;
        return NULL;
    }
    return writer;
}

// Distances of size, allocations, most alive; in order of size.
static uint8_t *put_sizes(uint8_t *to, const struct tau_trace_size *sizes, size_t count) {
    uint64_t before = 0;
    for (size_t i = 0; i < count; i++) {
        to = tau_trace_put_varint(to, sizes[i].size_bytes - before);
        to = tau_trace_put_varint(to, sizes[i].allocations);
        to = tau_trace_put_varint(to, sizes[i].peak_live);
        before = sizes[i].size_bytes;
    }
    return to;
}

static uint8_t *put_index(uint8_t *to, const struct tau_trace_place *index, size_t count) {
    for (size_t i = 0; i < count; i++, to += TAU_TRACE_INDEX_ENTRY_BYTES) {
        tau_trace_store64(to, index[i].offset);
        tau_trace_store32(to + 8, index[i].chunk.kind);
        tau_trace_store32(to + 12, index[i].chunk.count);
        tau_trace_store32(to + 16, index[i].chunk.payload_bytes);
        tau_trace_store32(to + 20, 0);
    }
    return to;
}

// Builds and writes footer and trailer from what the ledger and the index hold.
static enum tau_trace_status write_footer(struct tau_trace_writer *writer) {
    size_t sizes_count = 0;
    struct tau_trace_size *sizes = tau_trace_ledger_sizes(writer->ledger, &sizes_count);
    size_t sizes_bytes_max = sizes_count * 3 * TAU_TRACE_VARINT_BYTES_MAX;
    uint8_t *raw = malloc(sizes_bytes_max + 1);
    size_t index_bytes = writer->index_count * TAU_TRACE_INDEX_ENTRY_BYTES;
    uint8_t *footer = malloc(TAU_TRACE_CHUNK_HEADER_BYTES + TAU_TRACE_FOOTER_FIXED_BYTES +
                             index_bytes + sizes_bytes_max + TAU_TRACE_TRAILER_BYTES);
    enum tau_trace_status status = TAU_TRACE_NO_MEMORY;
    if (sizes != NULL && raw != NULL && footer != NULL) {
        struct tau_trace_totals *totals = tau_trace_ledger_totals(writer->ledger);
        totals->sites = writer->sites_written;
        uint8_t *payload = footer + TAU_TRACE_CHUNK_HEADER_BYTES;
        tau_trace_totals_store(totals, payload);
        uint8_t *counts = payload + 8 * TAU_TRACE_STORED_TOTALS;
        tau_trace_store64(counts, writer->index_count);
        tau_trace_store64(counts + 8, sizes_count);
        uint8_t *to = put_index(counts + 24, writer->index, writer->index_count);
        // The packed sizes follow the index; the word before them moves into the fixed part.
        size_t raw_bytes = (size_t)(put_sizes(raw, sizes, sizes_count) - raw);
        size_t stored = pack_table(writer, raw, raw_bytes, to) - 4;
        memmove(to, to + 4, stored);
        tau_trace_store32(counts + 16, (uint32_t)raw_bytes);
        tau_trace_store32(counts + 20, (uint32_t)stored);
        to += stored;
        struct tau_trace_chunk chunk = {.kind = TAU_TRACE_CHUNK_FOOTER,
                                        .payload_bytes = (uint32_t)(to - payload),
                                        .first = totals->events};
        tau_trace_chunk_seal(&chunk, footer);
        tau_trace_store64(to, writer->offset);
        tau_trace_store64(to + 8, tau_trace_trailer_checksum(to));
        memcpy(to + 16, TAU_TRACE_END_MAGIC, 8);
        status = write_all(writer, footer, (size_t)(to + TAU_TRACE_TRAILER_BYTES - footer));
    }
    free(sizes);
    free(raw);
    free(footer);
    return status;
}

enum tau_trace_status tau_trace_writer_close(struct tau_trace_writer *writer) {
    enum tau_trace_status status = writer->failed;
    if (status == TAU_TRACE_OK) {
        status = flush_block(writer);
    }
    if (status == TAU_TRACE_OK) {
        status = flush_sites(writer);
    }
    if (status == TAU_TRACE_OK) {
        status = write_footer(writer);
    }
    if (status != TAU_TRACE_OK && ftruncate(writer->file, (off_t)writer->offset) != 0) {
        // The torn chunk stays; the reader skips it.
        errno = 0;
    }
    int cause = errno;
    if (close(writer->file) != 0 && status == TAU_TRACE_OK) {
        status = status_of_errno();
        cause = errno;
    }
    release(writer);
    errno = cause;
    return status;
}

// ---- appending ------------------------------------------------------------------------

uint32_t tau_trace_writer_site(struct tau_trace_writer *writer, const char *module, uint64_t offset,
                               uint32_t caller) {
    return tau_trace_sites_index(&writer->sites, module, offset, caller);
}

// Copies COUNT events after those that wait in the block.
static void block_add(struct tau_trace_writer *writer, const struct tau_trace_columns *from,
                      size_t count) {
    struct tau_trace_columns to = tau_trace_columns_from(&writer->block, writer->block_count);
    memcpy(to.time_ns, from->time_ns, count * sizeof *to.time_ns);
    memcpy(to.size_bytes, from->size_bytes, count * sizeof *to.size_bytes);
    memcpy(to.slot, from->slot, count * sizeof *to.slot);
    memcpy(to.thread, from->thread, count * sizeof *to.thread);
    memcpy(to.op, from->op, count);
    memcpy(to.flags, from->flags, count);
    if (from->site != NULL) {
        memcpy(to.site, from->site, count * sizeof *to.site);
    } else {
        memset(to.site, 0, count * sizeof *to.site);
    }
    if (from->align_log2 != NULL) {
        memcpy(to.align_log2, from->align_log2, count);
    } else {
        memset(to.align_log2, 0, count);
    }
    writer->block_count += (uint32_t)count;
}

enum tau_trace_status tau_trace_writer_append(struct tau_trace_writer *writer,
                                              const struct tau_trace_columns *columns,
                                              size_t count) {
    size_t done = 0;
    while (done < count && writer->failed == TAU_TRACE_OK) {
        struct tau_trace_columns rest = tau_trace_columns_from(columns, done);
        size_t room = TAU_TRACE_BLOCK_EVENTS_MAX - writer->block_count;
        size_t part = count - done < room ? count - done : room;
        enum tau_trace_status rule;
        size_t taken =
            tau_trace_ledger_take(writer->ledger, &rest, part, writer->sites.count, &rule);
        enum tau_trace_status status = TAU_TRACE_OK;
        if (taken == TAU_TRACE_BLOCK_EVENTS_MAX) {
            status = write_block(writer, &rest, TAU_TRACE_BLOCK_EVENTS_MAX);
        } else {
            block_add(writer, &rest, taken);
            if (writer->block_count == TAU_TRACE_BLOCK_EVENTS_MAX) {
                status = flush_block(writer);
            }
        }
        if (status != TAU_TRACE_OK || rule != TAU_TRACE_OK) {
            return status != TAU_TRACE_OK ? status : rule;
        }
        done += part;
    }
    return writer->failed;
}

const struct tau_trace_totals *tau_trace_writer_totals(const struct tau_trace_writer *writer) {
    return tau_trace_ledger_totals(writer->ledger);
}

const char *tau_trace_writer_bad_rule(const struct tau_trace_writer *writer) {
    return tau_trace_ledger_bad_rule(writer->ledger);
}
