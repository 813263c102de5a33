// The target's recorder (record.h). It collects rows in one buffer and passes the full buffer to
// the write function as one block:
//
//   magic 4 | version 1 | address shift 1 | rows 2 | payload bytes 2 | abi 1 | pointer bytes 1 |
//   sequence 4 | ticks per second 4 | dropped rows so far 8 | start ticks 8 | thread 4 | crc32 4 |
//   payload …
//
// Numbers are in bytes, little-endian. A block's rows start from its own start ticks, address 0 and
// an empty site cache. The CRC (IEEE 802.3) covers the header before it and the payload.
#include "core/private/inline.h"  // says that this is C

#include "core/ports/record.h"

// Every object of a 32-bit machine starts at a multiple of at least 4. A smaller unit would cost
// nothing below 16 MiB.
#define RECORD_ADDRESS_SHIFT 2u
// A capture that starts late finds the image in one of so many blocks.
#define RECORD_IMAGE_BLOCKS 16u

_Static_assert(TAU_RECORD_BUFFER_BYTES >=
                   TAU_RECORD_BLOCK_HEADER_BYTES + 2u * TAU_RECORD_ROW_BYTES_MAX,
               "a block holds a row and a change of thread");
_Static_assert(TAU_RECORD_BUFFER_BYTES <= 32768u, "used_bytes and rows have 16 bits");
_Static_assert(TAU_RECORD_TARGET_SITES >= 1u && TAU_RECORD_TARGET_SITES <= 128u &&
                   (TAU_RECORD_TARGET_SITES & (TAU_RECORD_TARGET_SITES - 1u)) == 0,
               "the site cache is indexed by a mask and one byte");

// ---- Bytes ----

static void record_put(struct tau_record *record, uint64_t value, unsigned int bytes) {
    for (unsigned int i = 0; i < bytes; i++) {  // bound: 8
        record->buffer[record->used_bytes] = (uint8_t)(value >> 8u * i);
        record->used_bytes = (uint16_t)(record->used_bytes + 1u);
    }
}

static unsigned int record_bytes_of(uint64_t value) {
    unsigned int bytes = 1;
    while (bytes < 8 && value >> 8u * bytes != 0) {  // bound: 8
        bytes++;
    }
    return bytes;
}

static uint32_t record_crc32_of(uint32_t crc, const uint8_t *bytes, size_t size_bytes) {
    // One nibble at a time: the table takes 64 bytes of flash, not 1 KiB.
    static const uint32_t table[16] = {
        0x00000000u, 0x1db71064u, 0x3b6e20c8u, 0x26d930acu, 0x76dc4190u, 0x6b6b51f4u,
        0x4db26158u, 0x5005713cu, 0xedb88320u, 0xf00f9344u, 0xd6d6a3e8u, 0xcb61b38cu,
        0x9b64c2b0u, 0x86d3d2d4u, 0xa00ae278u, 0xbdbdf21cu,
    };
    for (size_t i = 0; i < size_bytes; i++) {  // bound: TAU_RECORD_BUFFER_BYTES
        crc ^= bytes[i];
        crc = crc >> 4 ^ table[crc & 15u];
        crc = crc >> 4 ^ table[crc & 15u];
    }
    return crc;
}

// ---- Blocks ----

static void record_put_image(struct tau_record *record) {
    record_put(record, TAU_RECORD_CONTROL | TAU_RECORD_IMAGE << 3, 1);
    record_put(record, record->image, 4);
}

static void record_block_begin(struct tau_record *record) {
    record->used_bytes = 0;
    record->rows = 0;
    record->last_address = 0;
    record->last_site = 0;
    for (unsigned int i = 0; i < TAU_RECORD_TARGET_SITES; i++) {  // bound: a constant
        record->sites[i] = 0;
    }
    record_put(record, TAU_RECORD_BLOCK_MAGIC, 4);
    record_put(record, TAU_RECORD_BLOCK_VERSION, 1);
    record_put(record, RECORD_ADDRESS_SHIFT, 1);
    record_put(record, 0, 2 + 2);  // rows and payload bytes, which are known at the end
    record_put(record, TAU_RECORD_ABI, 1);
    record_put(record, sizeof(void *), 1);
    record_put(record, record->sequence, 4);
    record_put(record, record->port.ticks == NULL ? 0 : record->port.ticks_per_second, 4);
    record_put(record, record->dropped_rows, 8);
    record_put(record, record->ticks, 8);
    record_put(record, record->thread, 4);
    record_put(record, 0, 4);
    if (record->image != 0 && record->sequence % RECORD_IMAGE_BLOCKS == 0) {
        record_put_image(record);
    }
}

static void record_block_end(struct tau_record *record) {
    const uint16_t used_bytes = record->used_bytes;
    record->used_bytes = 6;
    record_put(record, record->rows, 2);
    record_put(record, (uint64_t)used_bytes - TAU_RECORD_BLOCK_HEADER_BYTES, 2);
    uint32_t crc = record_crc32_of(0xffffffffu, record->buffer, TAU_RECORD_BLOCK_HEADER_BYTES - 4u);
    crc = record_crc32_of(crc, record->buffer + TAU_RECORD_BLOCK_HEADER_BYTES,
                          (size_t)used_bytes - TAU_RECORD_BLOCK_HEADER_BYTES);
    record->used_bytes = (uint16_t)(TAU_RECORD_BLOCK_HEADER_BYTES - 4u);
    record_put(record, crc ^ 0xffffffffu, 4);
    if (!record->port.write(record->port.context, record->buffer, used_bytes)) {
        record->dropped_rows += record->rows;
    }
    record->sequence++;
    record_block_begin(record);
}

static void record_make_room(struct tau_record *record) {
    if (record->used_bytes + TAU_RECORD_ROW_BYTES_MAX > TAU_RECORD_BUFFER_BYTES) {
        record_block_end(record);
    }
}

// ---- Rows ----

// Zigzag: steps down become odd, steps up even, so that short steps of both kinds take few bytes.
static uint64_t record_folded(uint64_t step) {
    return step << 1 ^ (0u - (step >> 63));
}

static void record_put_size(struct tau_record *record, uint64_t value) {
    if (value < 1u << 7) {
        record_put(record, value << 1, 1);
    } else if (value < 1u << 14) {
        record_put(record, value << 2 | 1u, 2);
    } else if (value < 1u << 29) {
        record_put(record, value << 3 | 3u, 4);
    } else {
        record_put(record, value << 3 | 7u, 8);
    }
}

static void record_put_site(struct tau_record *record, uintptr_t site) {
    // Thumb addresses are odd and code is 2-byte aligned, so the lowest bit has no information.
    unsigned int index = (unsigned int)(site >> 1 ^ site >> 6) & (TAU_RECORD_TARGET_SITES - 1u);
    if (record->sites[index] == site) {
        record_put(record, index + 1u, 1);
        return;
    }
    record->sites[index] = site;
    record_put(record, TAU_RECORD_SITE_LITERAL, 1);
    record_put(record, index + 1u, 1);
    record_put_size(record, record_folded(site - record->last_site));
    record->last_site = site;
}

static uint32_t record_now_of(const struct tau_record *record) {
    const struct tau_record_port *port = &record->port;
    return port->ticks == NULL ? record->latest_ticks + 1u : port->ticks(port->context);
}

static void record_put_row(struct tau_record *record, enum tau_record_op op, uintptr_t address,
                           uint64_t size_bytes, unsigned int align_log2, uintptr_t site) {
    record_make_room(record);
    const uint32_t now = record_now_of(record);
    const uint32_t elapsed = now - record->latest_ticks;
    record->latest_ticks = now;
    record->ticks += elapsed;
    const unsigned int time_bytes = record_bytes_of(elapsed);
    const unsigned int time_code = time_bytes > 3 ? 3 : time_bytes - 1;
    const bool whole = (address & ((1u << RECORD_ADDRESS_SHIFT) - 1u)) != 0;
    const uint64_t units = (uint64_t)address >> RECORD_ADDRESS_SHIFT;
    const uint64_t step = record_folded(units - record->last_address);
    const unsigned int address_bytes = record_bytes_of(step);
    const unsigned int address_code = whole ? TAU_RECORD_ADDRESS_WHOLE : address_bytes - 1;
    record_put(record, (unsigned int)op | time_code << 3 | address_code << 5, 1);
    record_put(record, elapsed, time_bytes > 3 ? 8 : time_bytes);
    if (whole) {
        record_put(record, address, 8);
    } else {
        record_put(record, step, address_bytes);
        record->last_address = units;
    }
    if (op != TAU_RECORD_FREE && op != TAU_RECORD_REALLOC_BEGIN) {
        record_put_size(record, size_bytes);
    }
    if (op == TAU_RECORD_ALIGNED_ALLOC) {
        record_put(record, align_log2, 1);
    }
    record_put_site(record, site);
    record->rows = (uint16_t)(record->rows + 1u);
    record->is_flushed = false;
}

static void record_put_control(struct tau_record *record, enum tau_record_control code) {
    record_make_room(record);
    record_put(record, TAU_RECORD_CONTROL | (unsigned int)code << 3, 1);
    record->is_flushed = false;
}

static void record_put_event(struct tau_record *record, enum tau_record_op op, uintptr_t address,
                             uint64_t size_bytes, unsigned int align_log2, uintptr_t site) {
    if (address == 0) {
        return;  // no object; the row would damage its block
    }
    TAU_RECORD_LOCK(record);
    record_put_row(record, op, address, size_bytes, align_log2, site);
    TAU_RECORD_UNLOCK(record);
}

// ---- Public ----

void tau_record_start(struct tau_record *record, const struct tau_record_port *port) {
    record->port = *port;
    record->ticks = 0;
    record->dropped_rows = 0;
    record->latest_ticks = 0;
    record->latest_ticks = record_now_of(record);
    record->sequence = 0;
    record->thread = 0;
    record->image = 0;
    record->is_flushed = true;
    record_block_begin(record);
}

void tau_record_thread(struct tau_record *record, uint32_t thread) {
    TAU_RECORD_LOCK(record);
    if (thread != record->thread) {
        record_put_control(record, TAU_RECORD_THREAD);
        record->thread = thread;
        record_put(record, thread, 4);
    }
    TAU_RECORD_UNLOCK(record);
}

void tau_record_image(struct tau_record *record, uint32_t image) {
    TAU_RECORD_LOCK(record);
    record_make_room(record);
    record->image = image;
    record_put_image(record);
    TAU_RECORD_UNLOCK(record);
}

void tau_record_refused(struct tau_record *record, size_t size_bytes, uintptr_t site) {
    TAU_RECORD_LOCK(record);
    record_put_control(record, TAU_RECORD_REFUSED);
    record_put_size(record, size_bytes);
    record_put_site(record, site);
    TAU_RECORD_UNLOCK(record);
}

void tau_record_malloc(struct tau_record *record, uintptr_t address, size_t size_bytes,
                       uintptr_t site) {
    record_put_event(record, TAU_RECORD_MALLOC, address, size_bytes, 0, site);
}

void tau_record_calloc(struct tau_record *record, uintptr_t address, size_t size_bytes,
                       uintptr_t site) {
    record_put_event(record, TAU_RECORD_CALLOC, address, size_bytes, 0, site);
}

void tau_record_aligned_alloc(struct tau_record *record, uintptr_t address, size_t size_bytes,
                              size_t alignment, uintptr_t site) {
    unsigned int align_log2 = 0;
    while (align_log2 < 31 && (size_t)1 << align_log2 < alignment) {  // bound: 31
        align_log2++;
    }
    record_put_event(record, TAU_RECORD_ALIGNED_ALLOC, address, size_bytes, align_log2, site);
}

void tau_record_free(struct tau_record *record, uintptr_t address, uintptr_t site) {
    record_put_event(record, TAU_RECORD_FREE, address, 0, 0, site);
}

void tau_record_realloc_begin(struct tau_record *record, uintptr_t address, uintptr_t site) {
    record_put_event(record, TAU_RECORD_REALLOC_BEGIN, address, 0, 0, site);
}

void tau_record_realloc_end(struct tau_record *record, uintptr_t address, size_t size_bytes,
                            uintptr_t site) {
    if (address != 0) {
        record_put_event(record, TAU_RECORD_REALLOC_END, address, size_bytes, 0, site);
        return;
    }
    TAU_RECORD_LOCK(record);
    record_put_control(record,
                       size_bytes == 0 ? TAU_RECORD_REALLOC_FREED : TAU_RECORD_REALLOC_FAILED);
    TAU_RECORD_UNLOCK(record);
}

static void record_mark(struct tau_record *record, enum tau_record_control code) {
    TAU_RECORD_LOCK(record);
    if (!record->is_flushed || code == TAU_RECORD_PROGRAM_END) {
        record_put_control(record, code);
        record_block_end(record);
        record->is_flushed = true;
    }
    TAU_RECORD_UNLOCK(record);
}

void tau_record_flush(struct tau_record *record) {
    record_mark(record, TAU_RECORD_FLUSHED);
}

void tau_record_end(struct tau_record *record) {
    record_mark(record, TAU_RECORD_PROGRAM_END);
}

uint64_t tau_record_dropped(const struct tau_record *record) {
    return record->dropped_rows;
}
