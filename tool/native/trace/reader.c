// Opens a trace and reads it block by block. Every length in the file is compared with a limit and
// with the rest of the file before anything is allocated or read for it, so that a hostile file
// costs at most one block's memory.
#include "tool/native/trace/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/native/trace/bytes.h"

const char *tau_trace_status_text(enum tau_trace_status status) {
    switch (status) {
    case TAU_TRACE_OK:
        return "done";
    case TAU_TRACE_IO_FAILED:
        return "the file could not be read or written";
    case TAU_TRACE_NOT_A_TRACE:
        return "this is not a trace";
    case TAU_TRACE_NEWER_VERSION:
        return "the trace was written by a newer version of this tool";
    case TAU_TRACE_CORRUPT:
        return "the trace is damaged: a checksum or a limit does not hold";
    case TAU_TRACE_NO_MEMORY:
        return "memory is short";
    case TAU_TRACE_DISK_FULL:
        return "the disk is full (or the file reached its limit)";
    case TAU_TRACE_BAD_EVENT:
        return "an event breaks a rule of the trace";
    case TAU_TRACE_OLDER_VERSION:
        return "the trace was written by an earlier version of this tool, which did not note the "
               "program's ABI";
    }
    return "unknown status";
}

enum tau_trace_status tau_trace_reader_bytes(const struct tau_trace_reader *reader, uint64_t offset,
                                             uint8_t *to, size_t count) {
    size_t done = 0;
    while (done < count) {
        ssize_t got = pread(reader->file, to + done, count - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got < 0 ? TAU_TRACE_IO_FAILED : TAU_TRACE_CORRUPT;
        }
        done += (size_t)got;
    }
    return TAU_TRACE_OK;
}

// The most payload that a chunk of this kind has, 0 for an unknown kind. A footer is bounded by the
// file alone.
static uint32_t payload_bytes_max(uint32_t kind) {
    switch (kind) {
    case TAU_TRACE_CHUNK_EVENTS:
        return TAU_TRACE_BLOCK_BYTES_MAX;
    case TAU_TRACE_CHUNK_SITES:
        return TAU_TRACE_SITES_CHUNK_BYTES_MAX + 4;
    case TAU_TRACE_CHUNK_FOOTER:
        return UINT32_MAX;
    default:
        return 0;
    }
}

enum tau_trace_status tau_trace_reader_chunk(struct tau_trace_reader *reader, uint64_t offset,
                                             struct tau_trace_chunk *chunk) {
    uint8_t header[TAU_TRACE_CHUNK_HEADER_BYTES];
    if (offset > reader->file_bytes || reader->file_bytes - offset < sizeof header) {
        return TAU_TRACE_CORRUPT;
    }
    enum tau_trace_status status = tau_trace_reader_bytes(reader, offset, header, sizeof header);
    if (status != TAU_TRACE_OK) {
        return status;
    }
    if (!tau_trace_chunk_header(header, chunk) ||
        chunk->payload_bytes > payload_bytes_max(chunk->kind) ||
        chunk->payload_bytes > reader->file_bytes - offset - sizeof header) {
        return TAU_TRACE_CORRUPT;
    }
    size_t bytes = sizeof header + chunk->payload_bytes;
    if (bytes > reader->chunk_room) {
        free(reader->chunk);
        reader->chunk_room = 0;
        reader->chunk = malloc(bytes);
        if (reader->chunk == NULL) {
            return TAU_TRACE_NO_MEMORY;
        }
        reader->chunk_room = bytes;
    }
    status = tau_trace_reader_bytes(reader, offset, reader->chunk, bytes);
    if (status != TAU_TRACE_OK) {
        return status;
    }
    // The header is taken from the bytes that the checksum covers: the file may change between the
    // two reads.
    bool same = memcmp(header, reader->chunk, sizeof header) == 0;
    return same && tau_trace_chunk_intact(reader->chunk, chunk->payload_bytes) ? TAU_TRACE_OK
                                                                               : TAU_TRACE_CORRUPT;
}

// Magic, version, JSON.
static enum tau_trace_status load_file_header(struct tau_trace_reader *reader) {
    uint8_t fixed[TAU_TRACE_FILE_HEADER_BYTES];
    if (reader->file_bytes < sizeof fixed) {
        return TAU_TRACE_NOT_A_TRACE;
    }
    enum tau_trace_status status = tau_trace_reader_bytes(reader, 0, fixed, sizeof fixed);
    if (status != TAU_TRACE_OK) {
        return status;
    }
    if (memcmp(fixed, TAU_TRACE_MAGIC, 8) != 0) {
        return TAU_TRACE_NOT_A_TRACE;
    }
    reader->version = tau_trace_load32(fixed + 8);
    if (reader->version > TAU_TRACE_VERSION) {
        return TAU_TRACE_NEWER_VERSION;
    }
    uint32_t json_bytes = tau_trace_load32(fixed + 12);
    if (json_bytes > TAU_TRACE_HEADER_BYTES_MAX || json_bytes > reader->file_bytes - sizeof fixed) {
        return TAU_TRACE_CORRUPT;
    }
    reader->header_json = calloc(1, (size_t)json_bytes + 1);
    if (reader->header_json == NULL) {
        return TAU_TRACE_NO_MEMORY;
    }
    uint8_t *json = (uint8_t *)reader->header_json;
    status = tau_trace_reader_bytes(reader, sizeof fixed, json, json_bytes);
    if (status != TAU_TRACE_OK) {
        return status;
    }
    bool intact =
        tau_trace_load64(fixed + 16) == tau_trace_header_checksum(fixed, json, json_bytes);
    bool one_string = strlen(reader->header_json) == json_bytes;
    reader->chunks_offset = sizeof fixed + json_bytes;
    if (!intact || !one_string || reader->version == 0) {
        return TAU_TRACE_CORRUPT;
    }
    return reader->version == TAU_TRACE_VERSION ? TAU_TRACE_OK : TAU_TRACE_OLDER_VERSION;
}

struct tau_trace_reader *tau_trace_reader_open(const char *path, enum tau_trace_status *status) {
    struct tau_trace_reader *reader = calloc(1, sizeof *reader);
    if (reader == NULL) {
        *status = TAU_TRACE_NO_MEMORY;
        return NULL;
    }
    *status = TAU_TRACE_IO_FAILED;
    reader->file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat about;
    if (reader->file >= 0 && fstat(reader->file, &about) == 0) {
        reader->file_bytes = about.st_size > 0 ? (uint64_t)about.st_size : 0;
        *status = load_file_header(reader);
        if (*status == TAU_TRACE_OK && !tau_trace_block_coder_open(&reader->coder, false)) {
            *status = TAU_TRACE_NO_MEMORY;
        }
        if (*status == TAU_TRACE_OK) {
            *status = tau_trace_index_load(reader);
            if (*status == TAU_TRACE_CORRUPT) {
                *status = tau_trace_index_recover(reader);
            }
        }
    }
    if (*status != TAU_TRACE_OK) {
        int cause = errno;
        tau_trace_reader_close(reader);
        errno = cause;
        return NULL;
    }
    return reader;
}

void tau_trace_reader_close(struct tau_trace_reader *reader) {
    if (reader == NULL) {
        return;
    }
    if (reader->file >= 0) {
        close(reader->file);
    }
    tau_trace_block_coder_close(&reader->coder);
    free(reader->header_json);
    free(reader->blocks);
    free(reader->site_chunks);
    free(reader->sizes);
    free(reader->chunk);
    free(reader->site_bytes);
    free(reader->site_starts);
    free(reader);
}

const struct tau_trace_totals *tau_trace_reader_totals(const struct tau_trace_reader *reader) {
    return &reader->totals;
}

const char *tau_trace_reader_header(const struct tau_trace_reader *reader) {
    return reader->header_json;
}

int tau_trace_reader_descriptor(const struct tau_trace_reader *reader) {
    return reader->file;
}

const struct tau_trace_size *tau_trace_reader_sizes(const struct tau_trace_reader *reader,
                                                    size_t *count) {
    *count = reader->sizes_count;
    return reader->sizes;
}

uint64_t tau_trace_reader_first_event(const struct tau_trace_reader *reader, uint64_t index) {
    return index < reader->totals.blocks ? reader->blocks[index].chunk.first
                                         : reader->totals.events;
}

// Reads the chunk that the index names; it must be the one that the index described.
static enum tau_trace_status load_place(struct tau_trace_reader *reader,
                                        const struct tau_trace_place *place,
                                        struct tau_trace_chunk *chunk) {
    enum tau_trace_status status = tau_trace_reader_chunk(reader, place->offset, chunk);
    bool same = chunk->kind == place->chunk.kind && chunk->count == place->chunk.count &&
                chunk->payload_bytes == place->chunk.payload_bytes &&
                chunk->first == place->chunk.first;
    return status == TAU_TRACE_OK && !same ? TAU_TRACE_CORRUPT : status;
}

enum tau_trace_status tau_trace_reader_block(struct tau_trace_reader *reader, uint64_t index,
                                             const struct tau_trace_columns *columns,
                                             size_t *count) {
    *count = 0;
    if (index >= reader->totals.blocks) {
        return TAU_TRACE_CORRUPT;
    }
    struct tau_trace_chunk chunk = {0};
    enum tau_trace_status status = load_place(reader, &reader->blocks[index], &chunk);
    if (status != TAU_TRACE_OK) {
        return status;
    }
    struct tau_trace_bounds bounds = {.slots_count = reader->totals.slots_count_max,
                                      .sites_count = reader->totals.sites};
    if (!tau_trace_block_unpack(&reader->coder, reader->chunk + TAU_TRACE_CHUNK_HEADER_BYTES,
                                chunk.payload_bytes, chunk.count, chunk.start_ns, &bounds,
                                columns)) {
        return TAU_TRACE_CORRUPT;
    }
    *count = chunk.count;
    return TAU_TRACE_OK;
}

// ---- sites ----------------------------------------------------------------------------

// Unpacks a chunk of sites and notes where each entry starts.
static enum tau_trace_status load_site_chunk(struct tau_trace_reader *reader, size_t index) {
    struct tau_trace_chunk chunk = {0};
    enum tau_trace_status status = load_place(reader, &reader->site_chunks[index], &chunk);
    if (status != TAU_TRACE_OK) {
        return status;
    }
    const uint8_t *payload = reader->chunk + TAU_TRACE_CHUNK_HEADER_BYTES;
    uint32_t raw = chunk.payload_bytes >= 4 ? tau_trace_load32(payload) : 0;
    if (raw > TAU_TRACE_SITES_CHUNK_BYTES_MAX || raw < chunk.payload_bytes - 4 ||
        chunk.count > raw / 2) {
        return TAU_TRACE_CORRUPT;
    }
    free(reader->site_bytes);
    free(reader->site_starts);
    reader->site_bytes = malloc((size_t)raw + 1);
    reader->site_starts = malloc(((size_t)chunk.count + 1) * sizeof *reader->site_starts);
    reader->site_chunk = SIZE_MAX;
    if (reader->site_bytes == NULL || reader->site_starts == NULL) {
        return TAU_TRACE_NO_MEMORY;
    }
    const uint8_t *names = tau_trace_unpack_bytes(&reader->coder.packer, payload + 4,
                                                  chunk.payload_bytes - 4, reader->site_bytes, raw);
    if (names == NULL) {
        return TAU_TRACE_CORRUPT;
    }
    if (names != reader->site_bytes) {
        memcpy(reader->site_bytes, names, raw);
    }
    const uint8_t *at = reader->site_bytes, *end = at + raw;
    for (uint32_t i = 0; i < chunk.count; i++) {
        uint64_t module_bytes, offset;
        reader->site_starts[i] = (uint32_t)(at - reader->site_bytes);
        if (!tau_trace_get_varint(&at, end, &module_bytes) ||
            module_bytes > TAU_TRACE_MODULE_BYTES_MAX || module_bytes > (uint64_t)(end - at)) {
            return TAU_TRACE_CORRUPT;
        }
        at += module_bytes;
        uint64_t caller = 0;
        if (!tau_trace_get_varint(&at, end, &offset) ||
            (chunk.start_ns != 0 && !tau_trace_get_varint(&at, end, &caller)) ||
            (caller != 0 && caller >= chunk.first + i)) {
            return TAU_TRACE_CORRUPT;
        }
    }
    reader->has_callers = chunk.start_ns != 0;
    reader->site_starts[chunk.count] = raw;
    reader->site_chunk = index;
    return at == end ? TAU_TRACE_OK : TAU_TRACE_CORRUPT;
}

enum tau_trace_status tau_trace_reader_site(struct tau_trace_reader *reader, uint32_t index,
                                            const char **module, uint64_t *offset,
                                            uint32_t *caller) {
    if (index == 0 || index > reader->totals.sites) {
        return TAU_TRACE_CORRUPT;
    }
    size_t low = 0, high = reader->site_chunks_count;  // the chunk lies in [low, high)
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        *(reader->site_chunks[middle].chunk.first <= index ? &low : &high) = middle;
    }
    if (reader->site_bytes == NULL || reader->site_chunk != low) {
        enum tau_trace_status status = load_site_chunk(reader, low);
        if (status != TAU_TRACE_OK) {
            reader->site_chunk = SIZE_MAX;
            return status;
        }
    }
    uint32_t place = index - (uint32_t)reader->site_chunks[low].chunk.first;
    const uint8_t *at = reader->site_bytes + reader->site_starts[place];
    const uint8_t *end = reader->site_bytes + reader->site_starts[place + 1];
    uint64_t module_bytes = 0;
    (void)tau_trace_get_varint(&at, end, &module_bytes);  // checked when the chunk was loaded
    memcpy(reader->module, at, module_bytes);
    reader->module[module_bytes] = '\0';
    at += module_bytes;
    (void)tau_trace_get_varint(&at, end, offset);
    uint64_t called_from = 0;
    if (reader->has_callers) {
        (void)tau_trace_get_varint(&at, end, &called_from);
    }
    *caller = (uint32_t)called_from;
    *module = reader->module;
    return TAU_TRACE_OK;
}
