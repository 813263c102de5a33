// Reads the rows of one chunk (core/ports/record_row.h has their format). Reads nothing outside the
// chunk, whatever it holds.
#ifndef TAU_MERGE_ROWS_H
#define TAU_MERGE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/ports/record_row.h"

enum tau_merge_rows_status {
    TAU_MERGE_ROWS_NEXT,     // a row was read
    TAU_MERGE_ROWS_END,      // the chunk's rows are all read
    TAU_MERGE_ROWS_DAMAGED,  // the next bytes are not a row
};

struct tau_merge_row {
    uint64_t ticks;
    uint64_t address;
    uint64_t size_bytes;
    uint64_t site_address;  // if site_is_new
    uint8_t op;  // enum tau_record_op; TAU_RECORD_CONTROL is a REALLOC_FAILED, REALLOC_FREED or
                 // REFUSED, which has a size and a site
    uint8_t control;
    uint8_t align_log2;
    uint8_t site;  // its place in the site cache
    bool site_is_new;
};

struct tau_merge_rows {
    const uint8_t *at;
    const uint8_t *end;
    uint64_t ticks;
    uint64_t last_address;
    uint64_t last_site;
    uint32_t thread;
    unsigned int address_shift;
    uint8_t mark;  // the latest mark, enum tau_record_control; 0 if rows follow a FLUSHED, or none
    uint32_t site_index[TAU_RECORD_SITES];  // the caller's: the trace's site of each place in the
                                            // cache; 0 at first
    uint32_t image;                         // the latest that was told; 0: none
    struct tau_merge_row row;
};

void tau_merge_rows_open(struct tau_merge_rows *rows, const void *bytes, size_t size_bytes,
                         uint64_t ticks, uint32_t thread, unsigned int address_shift);
// Reads the next row to rows->row. It applies changes of thread and marks, which are
// not rows.
enum tau_merge_rows_status tau_merge_rows_next(struct tau_merge_rows *rows);

#endif
