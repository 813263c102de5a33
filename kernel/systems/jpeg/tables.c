#include "kernel/systems/jpeg/segments.h"

enum {
    DC_SIZE_MAX = 11,  // bits of a difference, in the baseline process
    AC_SIZE_MAX = 10,
    END_OF_BLOCK = 0x00,
    SIXTEEN_ZEROS = 0xf0,
};

enum tau_jpeg_status tau_jpeg_tables_read_dqt(struct tau_jpeg_header *header,
                                              struct tau_jpeg_bytes segment) {
    while (tau_jpeg_bytes_left(&segment) > 0) {  // bound: 65 bytes a turn
        const uint32_t kind = tau_jpeg_bytes_take(&segment);
        if (kind >> 4 != 0) {
            return TAU_JPEG_PRECISION;
        }
        if (kind >= TAU_JPEG_QUANTIZATIONS || tau_jpeg_bytes_left(&segment) < TAU_JPEG_BLOCK) {
            return TAU_JPEG_BAD_SEGMENT;
        }
        struct tau_jpeg_quantization *table = &header->quantizations[kind];
        for (uint32_t i = 0; i < TAU_JPEG_BLOCK; i++) {
            table->steps[i] = (uint8_t)tau_jpeg_bytes_take(&segment);
            if (table->steps[i] == 0) {
                return TAU_JPEG_BAD_TABLE;
            }
        }
        table->is_defined = true;
    }
    return TAU_JPEG_OK;
}

// Whether a baseline decoder knows what SYMBOL means.
static bool is_known(enum tau_jpeg_class class, uint32_t symbol) {
    if (class == TAU_JPEG_DC) {
        return symbol <= DC_SIZE_MAX;
    }
    const uint32_t size = symbol & 15;
    return size == 0 ? symbol == END_OF_BLOCK || symbol == SIXTEEN_ZEROS : size <= AC_SIZE_MAX;
}

static enum tau_jpeg_status read_huffman(struct tau_jpeg_header *header,
                                         struct tau_jpeg_bytes *segment) {
    const uint32_t kind = tau_jpeg_bytes_take(segment);
    if (kind >> 4 > TAU_JPEG_AC || (kind & 15) >= TAU_JPEG_HUFFMANS ||
        tau_jpeg_bytes_left(segment) < 16) {
        return TAU_JPEG_BAD_SEGMENT;
    }
    const enum tau_jpeg_class class = kind >> 4;
    const uint8_t *counts = segment->next;
    uint32_t symbols_count = 0;
    for (uint32_t i = 0; i < 16; i++) {
        symbols_count += tau_jpeg_bytes_take(segment);
    }
    if (symbols_count > TAU_JPEG_SYMBOLS_MAX || symbols_count > tau_jpeg_bytes_left(segment)) {
        return TAU_JPEG_BAD_SEGMENT;
    }
    const uint8_t *symbols = segment->next;
    for (uint32_t i = 0; i < symbols_count; i++) {
        if (!is_known(class, tau_jpeg_bytes_take(segment))) {
            return TAU_JPEG_BAD_TABLE;
        }
    }
    struct tau_jpeg_huffman *table = &header->huffmans[class][kind & 15];
    return tau_jpeg_huffman_define(table, counts, symbols) ? TAU_JPEG_OK : TAU_JPEG_BAD_TABLE;
}

enum tau_jpeg_status tau_jpeg_tables_read_dht(struct tau_jpeg_header *header,
                                              struct tau_jpeg_bytes segment) {
    while (tau_jpeg_bytes_left(&segment) > 0) {  // bound: 17 bytes a turn
        const enum tau_jpeg_status status = read_huffman(header, &segment);
        if (status != TAU_JPEG_OK) {
            return status;
        }
    }
    return TAU_JPEG_OK;
}

enum tau_jpeg_status tau_jpeg_tables_read_dri(struct tau_jpeg_header *header,
                                              struct tau_jpeg_bytes segment) {
    if (tau_jpeg_bytes_left(&segment) != 2) {
        return TAU_JPEG_BAD_SEGMENT;
    }
    header->restart_interval = (uint16_t)tau_jpeg_bytes_take_pair(&segment);
    return TAU_JPEG_OK;
}
