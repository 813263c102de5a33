#include "kernel/systems/jpeg/color.h"

#include <stddef.h>

enum { CONSTANT_BITS = 16, CHROMA_ZERO = 128 };

#define FIXED(number) ((int32_t)((number) * (1 << CONSTANT_BITS) + 0.5))

// What the chroma of a pixel adds to its luma.
struct offsets {
    int32_t red;
    int32_t green;
    int32_t blue;
};

static inline int32_t round_off(int32_t value) {
    return (value + (1 << (CONSTANT_BITS - 1))) >> CONSTANT_BITS;
}

static inline struct offsets offsets_of(uint32_t cb_sample, uint32_t cr_sample) {
    const int32_t cb = (int32_t)cb_sample - CHROMA_ZERO;
    const int32_t cr = (int32_t)cr_sample - CHROMA_ZERO;
    return (struct offsets){
        .red = round_off(FIXED(1.402) * cr),
        .green = round_off(-FIXED(0.34414) * cb - FIXED(0.71414) * cr),
        .blue = round_off(FIXED(1.772) * cb),
    };
}

static inline uint8_t clamp(int32_t value) {
    if (value < 0) {
        return 0;
    }
    return value > 255 ? 255 : (uint8_t)value;
}

static inline void store_pixel(uint8_t *pixel, int32_t luma, struct offsets offsets) {
    pixel[0] = clamp(luma + offsets.red);
    pixel[1] = clamp(luma + offsets.green);
    pixel[2] = clamp(luma + offsets.blue);
}

// One row of an MCU: COLUMNS pixels, at most 16. The second block of LUMA lies after the first.
static inline void store_row(uint8_t *pixel, uint32_t columns, uint32_t across_log2,
                             const uint8_t *luma, const uint8_t *cb, const uint8_t *cr) {
    const uint32_t same_chroma = (1u << across_log2) - 1;
    struct offsets offsets = {0};
    for (uint32_t x = 0; x < columns; x++, pixel += TAU_JPEG_PIXEL_BYTES) {
        if (cb != NULL && (x & same_chroma) == 0) {
            offsets = offsets_of(cb[x >> across_log2], cr[x >> across_log2]);
        }
        const uint32_t block = x / TAU_JPEG_SIDE * TAU_JPEG_BLOCK;
        store_pixel(pixel, luma[block + x % TAU_JPEG_SIDE], offsets);
    }
}

static uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

bool tau_jpeg_color_mcu(const struct tau_jpeg_samples *samples, uint8_t *pixels,
                        uint32_t pixels_max) {
    const struct tau_jpeg_place place = samples->place;
    if (place.status != 0 || (uint32_t)place.width * place.height > pixels_max ||
        place.left >= place.width || place.top >= place.height) {
        return false;
    }
    const struct tau_jpeg_shape shape = tau_jpeg_shapes[place.layout];
    const uint32_t columns =
        least((uint32_t)TAU_JPEG_SIDE << shape.across_log2, (uint32_t)place.width - place.left);
    const uint32_t rows =
        least((uint32_t)TAU_JPEG_SIDE << shape.down_log2, (uint32_t)place.height - place.top);
    const bool is_gray = place.layout == TAU_JPEG_GRAY;
    const uint8_t *cb = samples->blocks[shape.blocks_count - 2u * !is_gray];
    uint8_t *row = pixels + ((uint32_t)place.top * place.width + place.left) * TAU_JPEG_PIXEL_BYTES;
    for (uint32_t y = 0; y < rows; y++) {
        const uint32_t block = y / TAU_JPEG_SIDE << shape.across_log2;
        const uint8_t *luma = samples->blocks[block] + y % TAU_JPEG_SIDE * TAU_JPEG_SIDE;
        const uint32_t chroma = (y >> shape.down_log2) * TAU_JPEG_SIDE;
        store_row(row, columns, shape.across_log2, luma, is_gray ? NULL : cb + chroma,
                  cb + TAU_JPEG_BLOCK + chroma);
        row += (uint32_t)place.width * TAU_JPEG_PIXEL_BYTES;
    }
    return true;
}
