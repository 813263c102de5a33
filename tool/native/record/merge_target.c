// Reads a target's stream: blocks in the order they were sent, each decoded alone. Bytes between
// valid blocks are skipped.
#include <string.h>

#include "core/ports/record.h"
#include "tool/native/record/mapped_file.h"
#include "tool/native/record/merge.h"
#include "tool/native/record/merge_emit.h"

#define PAYLOAD_BYTES_MAX 32768u
#define SEARCH_BYTES (1u << 20)

struct stream {
    struct tau_mapped_file file;
    bool any;          // a block was read
    uint16_t machine;  // the first block's ABI and pointer bytes
    uint32_t sequence;
    uint64_t dropped_rows;  // the device's own count
    uint64_t offset_ns;     // added to the device's time: the time of its latest restart
    struct tau_merge_emit emit;
};

static uint64_t read_number(const uint8_t *at, unsigned int bytes) {
    uint64_t value = 0;
    for (unsigned int i = 0; i < bytes; i++) {
        value |= (uint64_t)at[i] << 8 * i;
    }
    return value;
}

// IEEE 802.3, a nibble at a time: false beginnings of blocks may make this the longest work.
static uint32_t crc32_of(uint32_t crc, const uint8_t *bytes, size_t size_bytes) {
    static const uint32_t table[16] = {
        0x00000000u, 0x1db71064u, 0x3b6e20c8u, 0x26d930acu, 0x76dc4190u, 0x6b6b51f4u,
        0x4db26158u, 0x5005713cu, 0xedb88320u, 0xf00f9344u, 0xd6d6a3e8u, 0xcb61b38cu,
        0x9b64c2b0u, 0x86d3d2d4u, 0xa00ae278u, 0xbdbdf21cu,
    };
    for (size_t i = 0; i < size_bytes; i++) {
        crc ^= bytes[i];
        crc = crc >> 4 ^ table[crc & 15u];
        crc = crc >> 4 ^ table[crc & 15u];
    }
    return crc;
}

static void block_read(struct tau_merge_target_block *block, const uint8_t *at) {
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
    block->image = 0;
}

// Whether a valid block starts AT; LEFT bytes are available. In version 1, the bytes of the machine
// are the upper half of the payload's size, which is 0.
static bool block_is_sound(struct tau_merge_target_block *block, const uint8_t *at, size_t left) {
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

static bool block_follows(struct stream *stream, const struct tau_merge_target_block *block) {
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

static bool block_emit(struct stream *stream, const struct tau_merge_target_block *block,
                       const uint8_t *payload) {
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

// Finds the first intact block from *AT on; *AT is then its place. False if there is none before
// END.
static bool block_find(const uint8_t *bytes, size_t *at, size_t end,
                       struct tau_merge_target_block *block) {
    while (*at < end) {
        if (block_is_sound(block, bytes + *at, end - *at)) {
            return true;
        }
        const uint8_t *next =
            memchr(bytes + *at + 1, (int)(TAU_RECORD_BLOCK_MAGIC & 0xffu), end - *at - 1);
        *at = next == NULL ? end : (size_t)(next - bytes);
    }
    return false;
}

static enum tau_merge_status stream_merge(struct stream *stream) {
    struct tau_merge_target_block block;
    for (size_t at = 0; block_find(stream->file.bytes, &at, stream->file.size_bytes, &block);) {
        const uint8_t *payload = stream->file.bytes + at + TAU_RECORD_BLOCK_HEADER_BYTES;
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
        if (!block_follows(stream, &block) || !block_emit(stream, &block, payload)) {
            return stream->emit.status;
        }
    }
    return stream->any ? TAU_MERGE_OK : TAU_MERGE_NOT_A_RECORDING;
}

// The first image that a block from AT on tells; 0: none.
static uint32_t image_find(const uint8_t *bytes, size_t at, size_t end) {
    struct tau_merge_target_block block;
    struct tau_merge_rows rows = {.image = 0};
    while (rows.image == 0 && block_find(bytes, &at, end, &block)) {
        at += TAU_RECORD_BLOCK_HEADER_BYTES;
        tau_merge_rows_open(&rows, bytes + at, block.payload_bytes, 0, 0, block.address_shift);
        while (rows.image == 0 && tau_merge_rows_next(&rows) == TAU_MERGE_ROWS_NEXT) {
        }
        at += block.payload_bytes;
    }
    return rows.image;
}

enum tau_merge_status tau_merge_target_start(const char *path,
                                             struct tau_merge_target_block *block) {
    struct tau_mapped_file file;
    size_t at = 0;
    if (!tau_mapped_file_open(&file, path)) {
        return TAU_MERGE_INPUT_FAILED;
    }
    const size_t end = file.size_bytes < SEARCH_BYTES ? file.size_bytes : SEARCH_BYTES;
    const bool found = block_find(file.bytes, &at, end, block);
    if (found && block->version == TAU_RECORD_BLOCK_VERSION) {
        block->image = image_find(file.bytes, at, end);
    }
    tau_mapped_file_close(&file);
    return found ? TAU_MERGE_OK : TAU_MERGE_NOT_A_RECORDING;
}

enum tau_merge_status tau_merge_target_stream(const char *path, const char *out,
                                              const char *header_json, tau_merge_progress progress,
                                              void *context, struct tau_merge_result *result) {
    struct stream stream = {0};
    memset(result, 0, sizeof(*result));
    if (!tau_mapped_file_open(&stream.file, path)) {
        return TAU_MERGE_INPUT_FAILED;
    }
    stream.emit.result = result;
    stream.emit.joins = true;
    stream.emit.progress = progress;
    stream.emit.context = context;
    stream.emit.total_bytes = stream.file.size_bytes;
    enum tau_merge_status merged = TAU_MERGE_OK;
    if (tau_merge_emit_open(&stream.emit, out, header_json)) {
        merged = stream_merge(&stream);
    }
    const enum tau_merge_status closed = tau_merge_emit_close(&stream.emit);
    tau_mapped_file_close(&stream.file);
    return merged != TAU_MERGE_OK ? merged : closed;
}
