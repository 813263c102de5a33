// The decoder of rows: a cursor that refuses to pass the chunk's end.
#include "tool/native/record/merge_rows.h"

#include <string.h>

static bool take(struct tau_merge_rows *rows, unsigned int bytes, uint64_t *value) {
    const size_t left = (size_t)(rows->end - rows->at);
    if (left < bytes) {
        return false;
    }
    uint64_t word = 0;
    if (left >= sizeof(word)) {
        memcpy(&word, rows->at, sizeof(word));
        *value = bytes == 8 ? word : word & ((UINT64_C(1) << 8 * bytes) - 1);
    } else {
        memcpy(&word, rows->at, bytes);
        *value = word;
    }
    rows->at += bytes;
    return true;
}

static uint64_t unfolded(uint64_t step) {
    return step >> 1 ^ (0 - (step & 1));
}

static bool take_address(struct tau_merge_rows *rows, unsigned int code, uint64_t *address) {
    uint64_t value;
    if (code == TAU_RECORD_ADDRESS_WHOLE) {
        return take(rows, 8, address) && *address != 0;
    }
    if (!take(rows, code + 1, &value)) {
        return false;
    }
    rows->last_address += unfolded(value) << rows->address_shift;
    *address = rows->last_address;
    return *address != 0;
}

static bool take_size(struct tau_merge_rows *rows, uint64_t *size_bytes) {
    if (rows->at == rows->end) {
        return false;
    }
    static const uint8_t bytes_of[8] = {1, 2, 1, 4, 1, 2, 1, 8};
    static const uint8_t shift_of[8] = {1, 2, 1, 3, 1, 2, 1, 3};
    const unsigned int prefix = *rows->at & 7u;
    if (!take(rows, bytes_of[prefix], size_bytes)) {
        return false;
    }
    *size_bytes >>= shift_of[prefix];
    return true;
}

static bool take_site(struct tau_merge_rows *rows) {
    uint64_t place;
    struct tau_merge_row *row = &rows->row;
    if (!take(rows, 1, &place)) {
        return false;
    }
    row->site_is_new = place == TAU_RECORD_SITE_LITERAL;
    if (row->site_is_new) {
        uint64_t step;
        if (!take(rows, 1, &place) || !take_size(rows, &step)) {
            return false;
        }
        rows->last_site += unfolded(step);
        row->site_address = rows->last_site;
    }
    row->site = (uint8_t)place;
    return true;
}

static bool take_event(struct tau_merge_rows *rows, unsigned int tag) {
    static const uint8_t time_bytes[4] = {1, 2, 3, 8};
    struct tau_merge_row *row = &rows->row;
    uint64_t value;
    row->op = (uint8_t)(tag & 7u);
    row->size_bytes = 0;
    row->align_log2 = 0;
    if (!take(rows, time_bytes[tag >> 3 & 3u], &value) || value > UINT64_MAX - rows->ticks) {
        return false;
    }
    rows->ticks += value;
    row->ticks = rows->ticks;
    if (!take_address(rows, tag >> 5, &row->address)) {
        return false;
    }
    if (row->op != TAU_RECORD_FREE && row->op != TAU_RECORD_REALLOC_BEGIN &&
        !take_size(rows, &row->size_bytes)) {
        return false;
    }
    if (row->op == TAU_RECORD_ALIGNED_ALLOC) {
        if (!take(rows, 1, &value) || value > 63) {
            return false;
        }
        row->align_log2 = (uint8_t)value;
    }
    return take_site(rows);
}

void tau_merge_rows_open(struct tau_merge_rows *rows, const void *bytes, size_t size_bytes,
                         uint64_t ticks, uint32_t thread, unsigned int address_shift) {
    memset(rows, 0, sizeof(*rows));
    rows->at = bytes;
    rows->end = rows->at + size_bytes;
    rows->ticks = ticks;
    rows->thread = thread;
    rows->address_shift = address_shift;
}

enum tau_merge_rows_status tau_merge_rows_next(struct tau_merge_rows *rows) {
    for (;;) {  // bound: each turn takes at least a byte of the chunk
        if (rows->at == rows->end || *rows->at == 0) {
            return TAU_MERGE_ROWS_END;
        }
        const unsigned int tag = *rows->at++;
        if ((tag & 7u) != TAU_RECORD_CONTROL) {
            rows->mark = 0;
            return (tag & 7u) != TAU_RECORD_END && take_event(rows, tag) ? TAU_MERGE_ROWS_NEXT
                                                                         : TAU_MERGE_ROWS_DAMAGED;
        }
        uint64_t number;
        if (tag >> 3 == TAU_RECORD_THREAD && take(rows, 4, &number)) {
            rows->thread = (uint32_t)number;
            continue;
        }
        if (tag >> 3 == TAU_RECORD_FLUSHED || tag >> 3 == TAU_RECORD_PROGRAM_END) {
            rows->mark = (uint8_t)(tag >> 3);
            continue;
        }
        if (tag >> 3 == TAU_RECORD_IMAGE && take(rows, 4, &number)) {
            rows->image = (uint32_t)number;
            continue;
        }
        rows->row.op = TAU_RECORD_CONTROL;
        rows->row.control = (uint8_t)(tag >> 3);
        rows->row.ticks = rows->ticks;
        if (tag >> 3 == TAU_RECORD_REFUSED) {
            return take_size(rows, &rows->row.size_bytes) && take_site(rows)
                       ? TAU_MERGE_ROWS_NEXT
                       : TAU_MERGE_ROWS_DAMAGED;
        }
        return tag >> 3 == TAU_RECORD_REALLOC_FAILED || tag >> 3 == TAU_RECORD_REALLOC_FREED
                   ? TAU_MERGE_ROWS_NEXT
                   : TAU_MERGE_ROWS_DAMAGED;
    }
}
