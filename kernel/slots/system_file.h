// The system file, as the kernel reads it (docs/spec/kernel.md).
//
// It lies in the memory tile, whose words take their time: what a slot needs is copied at the
// start.
#ifndef TAU_SLOTS_SYSTEM_FILE_H
#define TAU_SLOTS_SYSTEM_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "facts/gen/tau_compose_format.h"

struct tau_slot {
    uint16_t application;  // or TAU_COMPOSE_SLOT_IDLE, TAU_COMPOSE_SLOT_LOADER
    uint16_t task;
};

struct tau_system_file {
    const volatile uint32_t *words;  // the tile's part
    uint32_t header[TAU_COMPOSE_SYSTEM_HEADER_WORDS];
    struct tau_slot slots[TAU_COMPOSE_LIMIT_SLOTS];
};

// Reads the part of tile TILE at the start of MEMORY. Returns NULL, or the reason for a refusal:
// - the tile has no part, or it has another magic number or version;
// - a table has more rows than the limits allow, or reaches beyond the part;
// - the part, an image or the base code reaches beyond the memory tile, or is not aligned to words;
// - a slot or a command names an application or a task that is not there;
// - a slot has no cycles, or an epoch no major frames;
// - pages, grants or DMA channels break a rule of [KRN-15] to [KRN-19].
// Cost: a constant number of reads per row, and for each page of kind `fixed` and each channel
// those of all grants.
const char *tau_system_file_read(struct tau_system_file *file, const volatile uint32_t *memory,
                                 uint32_t tile);

// Whether the file has the task TASK of an application.
bool tau_system_file_names(const struct tau_system_file *file, uint32_t application, uint32_t task);

// Row ROW of the table whose offset is the header's word OFFSET, which has ROW_WORDS words a row.
static inline const volatile uint32_t *tau_system_file_row(const struct tau_system_file *file,
                                                           uint32_t offset, uint32_t row,
                                                           uint32_t row_words) {
    return file->words + file->header[offset] / 4 + row * row_words;
}

// Word WORD of such a row.
static inline uint32_t tau_system_file_word(const struct tau_system_file *file, uint32_t offset,
                                            uint32_t row, uint32_t row_words, uint32_t word) {
    return tau_system_file_row(file, offset, row, row_words)[word];
}

static inline uint32_t tau_system_file_application(const struct tau_system_file *file,
                                                   uint32_t application, uint32_t word) {
    return tau_system_file_word(file, TAU_COMPOSE_HEADER_APPLICATION_OFFSET, application,
                                TAU_COMPOSE_SYSTEM_APPLICATION_WORDS, word);
}

#endif
