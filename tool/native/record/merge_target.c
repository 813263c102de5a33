// Reads a target's stream: blocks in the order they were sent, each decoded alone. Bytes between
// valid blocks are skipped.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/ports/record.h"
#include "tool/native/record/merge.h"
#include "tool/native/record/merge_emit.h"

#define PAYLOAD_BYTES_MAX 32768u

struct block {
    uint32_t magic;
    uint8_t version;
    uint8_t address_shift;
    uint16_t rows;
    uint16_t payload_bytes;
    uint8_t abi;
    uint8_t pointer_bytes;
    uint32_t sequence;
    uint32_t ticks_per_second;
    uint64_t dropped_rows;
    uint64_t ticks;
    uint32_t thread;
    uint32_t crc;
};

struct stream {
    const uint8_t *bytes;
    size_t size_bytes;
    bool any;          // a block was read
    uint16_t machine;  // the first block's ABI and pointer bytes
    uint32_t sequence;
    uint64_t dropped_rows;  // the device's own count
    uint64_t offset_ns;     // added to the device's time: what it had reached when it began again
    struct tau_merge_emit emit;
};

static uint64_t read_number(const uint8_t *at, unsigned int bytes) {
    uint64_t value = 0;
    for (unsigned int i = 0; i < bytes; i++) {
        value |= (uint64_t)at[i] << 8 * i;
    }
    return value;
}

static uint32_t crc32_of(uint32_t crc, const uint8_t *bytes, size_t size_bytes) {
    for (size_t i = 0; i < size_bytes; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (0xedb88320u & (0u - (crc & 1u)));
        }
    }
    return crc;
}

static void block_read(struct block *block, const uint8_t *at) {
    block->magic = (uint32_t)read_number(at, 4);
    block->version = at[4];
    block->address_shift = at[5];
    block->rows = (uint16_t)read_number(at + 6, 2);
    block->payload_bytes = (uint16_t)read_number(at + 8, 2);
    block->abi = at[10];
    block->pointer_bytes = at[11];
    block->sequence = (uint32_t)read_number(at + 12, 4);
    block->ticks_per_second = (uint32_t)read_number(at + 16, 4);
    block->dropped_rows = read_number(at + 20, 8);
    block->ticks = read_number(at + 28, 8);
    block->thread = (uint32_t)read_number(at + 36, 4);
    block->crc = (uint32_t)read_number(at + 40, 4);
}

// Whether a valid block starts AT; LEFT bytes are available. In version 1, the bytes of the machine
// are the upper half of the payload's size, which is 0.
static bool block_is_sound(struct block *block, const uint8_t *at, size_t left) {
    if (left < TAU_RECORD_BLOCK_HEADER_BYTES) {
        return false;
    }
    block_read(block, at);
    if (block->magic != TAU_RECORD_BLOCK_MAGIC || block->address_shift > 16 ||
        block->payload_bytes > PAYLOAD_BYTES_MAX ||
        block->payload_bytes > left - TAU_RECORD_BLOCK_HEADER_BYTES) {
        return false;
    }
    uint32_t crc = crc32_of(0xffffffffu, at, TAU_RECORD_BLOCK_HEADER_BYTES - 4);
    crc = crc32_of(crc, at + TAU_RECORD_BLOCK_HEADER_BYTES, block->payload_bytes);
    return (crc ^ 0xffffffffu) == block->crc;
}

static bool block_follows(struct stream *stream, const struct block *block) {
    struct tau_merge_result *result = stream->emit.result;
    if (stream->any && block->sequence < stream->sequence) {
        result->restarts++;
        stream->offset_ns = stream->emit.last_ns;
        stream->dropped_rows = 0;
        result->mark = 0;
        if (!tau_merge_emit_restart(&stream->emit)) {
            return false;
        }
    } else if (stream->any && block->sequence > stream->sequence) {
        result->lost_blocks += block->sequence - stream->sequence;
        if (!tau_merge_emit_gap(&stream->emit)) {
            return false;
        }
    }
    if (block->dropped_rows > stream->dropped_rows) {
        result->dropped_rows += block->dropped_rows - stream->dropped_rows;
        stream->dropped_rows = block->dropped_rows;
    }
    stream->any = true;
    stream->sequence = block->sequence + 1;
    return true;
}

static bool block_emit(struct stream *stream, const struct block *block, const uint8_t *payload) {
    struct tau_merge_rows rows;
    const double ns_per_tick = block->ticks_per_second == 0 ? 1.0 : 1e9 / block->ticks_per_second;
    tau_merge_rows_open(&rows, payload, block->payload_bytes, block->ticks, block->thread,
                        block->address_shift);
    stream->emit.result->chunks++;
    enum tau_merge_rows_status status;
    while ((status = tau_merge_rows_next(&rows)) == TAU_MERGE_ROWS_NEXT) {
        const double time_ns = (double)rows.row.ticks * ns_per_tick + (double)stream->offset_ns;
        if (!tau_merge_emit_row(&stream->emit, &rows,
                                time_ns < 9e18 ? (uint64_t)time_ns : (uint64_t)9e18)) {
            return false;
        }
    }
    if (stream->emit.result->mark != TAU_RECORD_PROGRAM_END) {
        stream->emit.result->mark = rows.mark;
    }
    if (status == TAU_MERGE_ROWS_DAMAGED) {
        stream->emit.result->damaged_chunks++;
        return tau_merge_emit_gap(&stream->emit);
    }
    return true;
}

static enum tau_merge_status stream_merge(struct stream *stream) {
    size_t at = 0;
    while (at < stream->size_bytes) {
        struct block block;
        const uint8_t *here = stream->bytes + at;
        if (!block_is_sound(&block, here, stream->size_bytes - at)) {
            const uint8_t *next = memchr(here + 1, (int)(TAU_RECORD_BLOCK_MAGIC & 0xffu),
                                         stream->size_bytes - at - 1);
            at = next == NULL ? stream->size_bytes : (size_t)(next - stream->bytes);
            continue;
        }
        if (block.version != TAU_RECORD_BLOCK_VERSION) {
            return block.version > TAU_RECORD_BLOCK_VERSION ? TAU_MERGE_NEWER_VERSION
                                                            : TAU_MERGE_OLDER_VERSION;
        }
        const uint16_t machine = (uint16_t)(block.abi << 8 | block.pointer_bytes);
        if (stream->any && machine != stream->machine) {
            return TAU_MERGE_SEVERAL_MACHINES;
        }
        stream->machine = machine;
        at += TAU_RECORD_BLOCK_HEADER_BYTES + block.payload_bytes;
        stream->emit.done_bytes = at;
        if (!block_follows(stream, &block) ||
            !block_emit(stream, &block, here + TAU_RECORD_BLOCK_HEADER_BYTES)) {
            return stream->emit.status;
        }
    }
    return stream->any ? TAU_MERGE_OK : TAU_MERGE_NOT_A_RECORDING;
}

enum tau_merge_status tau_merge_target_stream(const char *stream_path, const char *out,
                                              const char *header_json, tau_merge_progress progress,
                                              void *context, struct tau_merge_result *result) {
    struct stream stream = {0};
    struct stat status;
    memset(result, 0, sizeof(*result));
    const int file = open(stream_path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &status) != 0) {
        const int cause = errno;
        if (file >= 0) {
            close(file);
        }
        errno = cause;
        return TAU_MERGE_INPUT_FAILED;
    }
    stream.size_bytes = (size_t)status.st_size;
    void *mapped = stream.size_bytes == 0
                       ? MAP_FAILED
                       : mmap(NULL, stream.size_bytes, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (mapped == MAP_FAILED) {
        return stream.size_bytes == 0 ? TAU_MERGE_NOT_A_RECORDING : TAU_MERGE_INPUT_FAILED;
    }
    stream.bytes = mapped;
    stream.emit.result = result;
    stream.emit.joins = true;
    stream.emit.progress = progress;
    stream.emit.context = context;
    stream.emit.total_bytes = stream.size_bytes;
    enum tau_merge_status merged = TAU_MERGE_OK;
    if (tau_merge_emit_open(&stream.emit, out, header_json)) {
        merged = stream_merge(&stream);
    }
    const enum tau_merge_status closed = tau_merge_emit_close(&stream.emit);
    munmap(mapped, stream.size_bytes);
    return merged != TAU_MERGE_OK ? merged : closed;
}
