#include "kernel/systems/jpeg/vld.h"

// The place in natural order of the coefficient that comes K-th (T.81, Figure A.6).
static const uint8_t zigzag[TAU_JPEG_BLOCK] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
};

// Two coefficients are cleared by one store.
typedef uint32_t __attribute__((may_alias)) coefficients_word;

struct block_tables {
    const struct tau_jpeg_huffman *dc;
    const struct tau_jpeg_huffman *ac;
    const uint8_t *steps;
};

void tau_jpeg_vld_begin(struct tau_jpeg_vld *vld, const uint8_t *data, uint32_t bytes,
                        uint32_t pixels_max) {
    vld->left = vld->top = 0;
    vld->restart_next = 0;
    vld->status = (uint8_t)tau_jpeg_header_read(&vld->header, data, data + bytes, pixels_max);
    if (vld->status == TAU_JPEG_OK) {
        vld->restart_left = vld->header.restart_interval;
        for (uint32_t i = 0; i < TAU_JPEG_COMPONENTS_MAX; i++) {
            vld->predictions[i] = 0;
        }
        tau_jpeg_bits_begin(&vld->bits, vld->header.scan, data + bytes);
    }
}

static void clear(int16_t block[TAU_JPEG_BLOCK]) {
    coefficients_word *words = (coefficients_word *)(void *)block;
    for (uint32_t i = 0; i < TAU_JPEG_BLOCK / 2; i += 4) {
        words[i] = 0;
        words[i + 1] = 0;
        words[i + 2] = 0;
        words[i + 3] = 0;
    }
}

// Takes a symbol; one that begins with no code is above 255.
static inline uint32_t take_symbol(struct tau_jpeg_bits *bits,
                                   const struct tau_jpeg_huffman *table) {
    const uint32_t found = tau_jpeg_huffman_find(table, tau_jpeg_bits_peek(bits));
    if (found == 0) {
        return TAU_JPEG_SYMBOLS_MAX;
    }
    tau_jpeg_bits_skip(bits, found >> 8);
    return found & 255;
}

// Decodes one block; false if the data are none.
static inline bool decode_block(struct tau_jpeg_bits *bits, struct block_tables tables,
                                int16_t *prediction, int16_t block[TAU_JPEG_BLOCK]) {
    clear(block);
    const uint32_t dc_size = take_symbol(bits, tables.dc);
    if (dc_size == TAU_JPEG_SYMBOLS_MAX) {
        return false;
    }
    if (dc_size > 0) {
        *prediction = (int16_t)(*prediction + tau_jpeg_bits_number(bits, dc_size));
    }
    block[0] = (int16_t)(*prediction * tables.steps[0]);
    for (uint32_t i = 1; i < TAU_JPEG_BLOCK; i++) {
        const uint32_t symbol = take_symbol(bits, tables.ac);
        const uint32_t size = symbol & 15;
        if (symbol == TAU_JPEG_SYMBOLS_MAX) {
            return false;
        }
        if (symbol == 0) {
            return true;
        }
        i += symbol >> 4;
        if (i >= TAU_JPEG_BLOCK) {
            return false;
        }
        if (size > 0) {
            block[zigzag[i]] = (int16_t)(tau_jpeg_bits_number(bits, size) * tables.steps[i]);
        }
    }
    return true;
}

static enum tau_jpeg_status decode_mcu(struct tau_jpeg_vld *vld,
                                       struct tau_jpeg_coefficients *token) {
    const struct tau_jpeg_header *header = &vld->header;
    const struct tau_jpeg_shape shape = tau_jpeg_shapes[header->layout];
    const uint32_t luma_blocks = 1u << (shape.across_log2 + shape.down_log2);
    struct tau_jpeg_bits bits = vld->bits;
    bool is_known = true;
    for (uint32_t i = 0; is_known && i < shape.blocks_count; i++) {
        const uint32_t index = i < luma_blocks ? 0 : i - luma_blocks + 1;
        const struct tau_jpeg_component *component = &header->components[index];
        const struct block_tables tables = {
            &header->huffmans[TAU_JPEG_DC][component->huffman[TAU_JPEG_DC]],
            &header->huffmans[TAU_JPEG_AC][component->huffman[TAU_JPEG_AC]],
            header->quantizations[component->quantization].steps,
        };
        is_known = decode_block(&bits, tables, &vld->predictions[index], token->blocks[i]);
    }
    vld->bits = bits;
    if (tau_jpeg_bits_are_overdrawn(&bits)) {
        return TAU_JPEG_TRUNCATED;
    }
    return is_known ? TAU_JPEG_OK : TAU_JPEG_BAD_CODE;
}

// Passes the restart marker if one is due before this MCU.
static enum tau_jpeg_status restart_if_due(struct tau_jpeg_vld *vld) {
    if (vld->header.restart_interval == 0) {
        return TAU_JPEG_OK;
    }
    if (vld->restart_left == 0) {
        if (!tau_jpeg_bits_pass_marker(&vld->bits, (uint8_t)(TAU_JPEG_RST0 + vld->restart_next))) {
            return TAU_JPEG_BAD_RESTART;
        }
        for (uint32_t i = 0; i < TAU_JPEG_COMPONENTS_MAX; i++) {
            vld->predictions[i] = 0;
        }
        vld->restart_left = vld->header.restart_interval;
        vld->restart_next = (vld->restart_next + 1) & 7;
    }
    vld->restart_left--;
    return TAU_JPEG_OK;
}

// Moves to the next MCU; false if this one was the last.
static bool advance(struct tau_jpeg_vld *vld) {
    const struct tau_jpeg_shape shape = tau_jpeg_shapes[vld->header.layout];
    const uint32_t left = vld->left + ((uint32_t)TAU_JPEG_SIDE << shape.across_log2);
    if (left < vld->header.width) {
        vld->left = (uint16_t)left;
        return true;
    }
    const uint32_t top = vld->top + ((uint32_t)TAU_JPEG_SIDE << shape.down_log2);
    vld->left = 0;
    vld->top = (uint16_t)top;
    return top < vld->header.height;
}

bool tau_jpeg_vld_next(struct tau_jpeg_vld *vld, struct tau_jpeg_coefficients *token) {
    struct tau_jpeg_place place = {.left = vld->left, .top = vld->top};
    bool is_last = true;
    if (vld->status == TAU_JPEG_OK) {
        place.width = vld->header.width;
        place.height = vld->header.height;
        place.layout = vld->header.layout;
        vld->status = (uint8_t)restart_if_due(vld);
    }
    if (vld->status == TAU_JPEG_OK) {
        vld->status = (uint8_t)decode_mcu(vld, token);
    }
    if (vld->status == TAU_JPEG_OK) {
        is_last = !advance(vld);
        if (is_last && !tau_jpeg_bits_pass_marker(&vld->bits, TAU_JPEG_EOI)) {
            vld->status = TAU_JPEG_TRUNCATED;
        }
    }
    place.is_last = is_last;
    place.status = vld->status;
    token->place = place;
    return !is_last;
}
