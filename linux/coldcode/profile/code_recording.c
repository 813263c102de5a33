#include "linux/coldcode/profile/code_recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "linux/coldcode/profile/checksum.h"

struct chunk_header {
    uint32_t magic;
    uint32_t kind;
    uint32_t number;
    uint32_t count;
    uint32_t bytes;
    uint32_t checksum;
};
_Static_assert(sizeof(struct chunk_header) == TAU_CODE_CHUNK_HEADER_BYTES, "as in the file");
_Static_assert(sizeof(struct tau_function) == TAU_CODE_FUNCTION_BYTES, "as in the file");

struct file_header {
    char magic[8];
    uint32_t version;
    uint32_t checksum;
};
_Static_assert(sizeof(struct file_header) == TAU_CODE_FILE_HEADER_BYTES, "as in the file");

#define CHECKSUM_OFFSET (sizeof(struct chunk_header) - sizeof(uint32_t))
#define VARINT_BYTES_MAX 10u

static bool fail(struct tau_code_recording *recording, const char *cause, int number) {
    if (recording->failure == NULL) {
        recording->failure = cause;
        recording->failure_errno = number;
    }
    return false;
}

// ---- The prepared file

static bool read_all(struct tau_code_recording *recording, void *target, size_t bytes_count) {
    uint8_t *next = target;
    while (bytes_count > 0) {
        const ssize_t got = read(recording->descriptor, next, bytes_count);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return fail(recording, "it is not a prepared recording", got < 0 ? errno : 0);
        }
        next += got;
        bytes_count -= (size_t)got;
    }
    return true;
}

// Reads the chunk of a kind into memory of its own, NULL if it is another or damaged.
static void *read_chunk(struct tau_code_recording *recording, uint32_t kind, uint32_t bytes_max,
                        struct chunk_header *header) {
    if (!read_all(recording, header, sizeof *header)) {
        return NULL;
    }
    if (header->magic != TAU_CODE_CHUNK_MAGIC || header->kind != kind ||
        header->number != recording->chunks || header->bytes > bytes_max) {
        fail(recording, "it is not a prepared recording", 0);
        return NULL;
    }
    uint8_t *payload = malloc((size_t)header->bytes + 1);
    if (payload == NULL) {
        fail(recording, "memory is short", 0);
        return NULL;
    }
    if (!read_all(recording, payload, header->bytes)) {
        free(payload);
        return NULL;
    }
    uint32_t checksum = tau_checksum_add(0, header, CHECKSUM_OFFSET);
    checksum = tau_checksum_add(checksum, payload, header->bytes);
    if (checksum != header->checksum) {
        fail(recording, "it is damaged", 0);
        free(payload);
        return NULL;
    }
    recording->chunks++;
    return payload;
}

static bool read_settings(struct tau_code_recording *recording) {
    const uint32_t bytes_max = TAU_CODE_SETTINGS_BYTES + TAU_CODE_SETTINGS_JSON_BYTES_MAX;
    struct chunk_header header;
    uint8_t *payload = read_chunk(recording, TAU_CODE_CHUNK_SETTINGS, bytes_max, &header);
    if (payload == NULL) {
        return false;
    }
    const bool is_whole = header.bytes >= TAU_CODE_SETTINGS_BYTES;
    if (is_whole) {
        memcpy(&recording->marker, payload, sizeof recording->marker);
        memcpy(&recording->touches_max, payload + sizeof recording->marker,
               sizeof recording->touches_max);
    }
    free(payload);
    return is_whole || fail(recording, "its settings are too short", 0);
}

// The rows are kept: they are the functions until QEMU ends.
static bool read_functions(struct tau_code_recording *recording) {
    struct chunk_header header;
    struct tau_function *rows = read_chunk(recording, TAU_CODE_CHUNK_FUNCTIONS,
                                           TAU_CODE_FUNCTIONS_CHUNK_BYTES_MAX, &header);
    if (rows == NULL) {
        return false;
    }
    recording->functions.rows = rows;
    recording->functions.count = header.count;
    if (header.count > TAU_CODE_FUNCTIONS_MAX || header.bytes / sizeof *rows < header.count ||
        !tau_function_table_is_ordered(&recording->functions)) {
        return fail(recording, "its functions are out of order", 0);
    }
    return true;
}

bool tau_code_recording_open(struct tau_code_recording *recording, const char *path) {
    struct file_header header;
    uint8_t behind;
    recording->descriptor = open(path, O_RDWR | O_CLOEXEC);
    if (recording->descriptor < 0) {
        return fail(recording, "it cannot be opened", errno);
    }
    if (!read_all(recording, &header, sizeof header)) {
        return false;
    }
    if (memcmp(header.magic, TAU_CODE_MAGIC, sizeof header.magic) != 0) {
        return fail(recording, "it is not a prepared recording", 0);
    }
    if (header.version != TAU_CODE_VERSION) {
        return fail(recording, "it was prepared by another version of tau", 0);
    }
    if (!read_settings(recording) || !read_functions(recording)) {
        return false;
    }
    if (read(recording->descriptor, &behind, 1) != 0) {
        return fail(recording, "it holds a recording already", 0);
    }
    return true;
}

// ---- The appended chunks

static void write_all(struct tau_code_recording *recording, const void *bytes, size_t bytes_count) {
    const uint8_t *next = bytes;
    while (bytes_count > 0 && recording->failure == NULL) {
        const ssize_t put = write(recording->descriptor, next, bytes_count);
        if (put > 0) {
            next += put;
            bytes_count -= (size_t)put;
        } else if (put == 0 || errno != EINTR) {
            fail(recording, "it cannot be written", put == 0 ? ENOSPC : errno);
        }
    }
}

static void write_chunk(struct tau_code_recording *recording, uint32_t kind, uint32_t count,
                        const void *payload, uint32_t bytes_count) {
    struct chunk_header header = {
        .magic = TAU_CODE_CHUNK_MAGIC,
        .kind = kind,
        .number = recording->chunks,
        .count = count,
        .bytes = bytes_count,
    };
    header.checksum = tau_checksum_add(0, &header, CHECKSUM_OFFSET);
    header.checksum = tau_checksum_add(header.checksum, payload, bytes_count);
    write_all(recording, &header, sizeof header);
    write_all(recording, payload, bytes_count);
    recording->chunks++;
}

static void flush_touches(struct tau_code_recording *recording) {
    if (recording->open_touches > 0) {
        write_chunk(recording, TAU_CODE_CHUNK_TOUCHES, recording->open_touches, recording->open,
                    recording->open_bytes);
    }
    // Every chunk is decoded by itself.
    recording->open_touches = recording->open_bytes = 0;
    recording->latest_function = 0;
    recording->latest_time = 0;
}

// Returns the place after it.
static uint8_t *put_varint(uint8_t *next, uint64_t value) {
    for (; value >= 0x80; value >>= 7) {
        *next++ = (uint8_t)(value | 0x80);
    }
    *next++ = (uint8_t)value;
    return next;
}

void tau_code_recording_touch(struct tau_code_recording *recording, uint32_t function,
                              uint64_t time) {
    if (recording->open_bytes > TAU_CODE_TOUCHES_CHUNK_BYTES - TAU_CODE_TOUCH_BYTES_MAX) {
        flush_touches(recording);
    }
    // Folded, so that a step back is as short as one forward.
    const int64_t step = (int64_t)function - (int64_t)recording->latest_function;
    uint8_t *next = recording->open + recording->open_bytes;
    next = put_varint(next, step < 0 ? (uint64_t)(-step) * 2 - 1 : (uint64_t)step * 2);
    next = put_varint(next, time - recording->latest_time);
    recording->open_bytes = (uint32_t)(next - recording->open);
    recording->latest_function = function;
    recording->latest_time = time;
    recording->open_touches++;
    recording->touches++;
}

static void put_block(uint8_t *row, const struct tau_block *block) {
    const struct tau_block_counter *counter = block->counter;
    const uint64_t wide[] = {block->start, block->boot_count, counter->count - block->boot_count};
    const uint32_t narrow[] = {block->bytes, counter->instructions, block->code_checksum};
    _Static_assert(sizeof wide + sizeof narrow == TAU_CODE_BLOCK_BYTES, "as in the file");
    memcpy(row, wide, sizeof wide);
    memcpy(row + sizeof wide, narrow, sizeof narrow);
}

// Returns the number of blocks.
static uint64_t write_blocks(struct tau_code_recording *recording,
                             const struct tau_block_table *table) {
    uint32_t count = 0;
    struct tau_block **blocks = tau_block_table_sorted(table, &count);
    uint8_t *rows = malloc((size_t)TAU_CODE_BLOCKS_CHUNK_ROWS * TAU_CODE_BLOCK_BYTES);
    if (blocks == NULL || rows == NULL) {
        fail(recording, "memory is short", 0);
        count = 0;
    }
    uint32_t open = 0;
    for (uint32_t index = 0; index < count; index++) {
        put_block(rows + (size_t)open * TAU_CODE_BLOCK_BYTES, blocks[index]);
        if (++open == TAU_CODE_BLOCKS_CHUNK_ROWS || index + 1 == count) {
            write_chunk(recording, TAU_CODE_CHUNK_BLOCKS, open, rows, open * TAU_CODE_BLOCK_BYTES);
            open = 0;
        }
    }
    free(rows);
    free(blocks);
    return count;
}

bool tau_code_recording_close(struct tau_code_recording *recording,
                              const struct tau_block_table *table, uint64_t marker_time,
                              uint64_t end_time) {
    flush_touches(recording);
    const uint64_t blocks = write_blocks(recording, table);
    const uint64_t end[] = {marker_time, end_time, recording->touches, blocks};
    _Static_assert(sizeof end == TAU_CODE_END_BYTES, "as in the file");
    write_chunk(recording, TAU_CODE_CHUNK_END, 0, end, sizeof end);
    if (close(recording->descriptor) != 0) {
        fail(recording, "it cannot be written", errno);
    }
    return recording->failure == NULL;
}
