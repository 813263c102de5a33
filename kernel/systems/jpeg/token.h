// What the three tasks exchange: one token per MCU, the block group of one iteration. A token says
// all that the next task needs, so idct and cc keep no state of the image.
#ifndef TAU_JPEG_TOKEN_H
#define TAU_JPEG_TOKEN_H

#include <stdint.h>

enum {
    TAU_JPEG_SIDE = 8,                 // samples, of a block
    TAU_JPEG_BLOCK = 64,               // samples of a block
    TAU_JPEG_BLOCKS_MAX = 6,           // per MCU
    TAU_JPEG_COEFFICIENTS_TOKENS = 5,  // in the FIFO from vld to idct: a page of 4 KiB
    TAU_JPEG_SAMPLES_TOKENS = 10,      // in the FIFO from idct to cc: the same
};

// How the blocks of an MCU cover it. Y blocks come first, row by row, then one of Cb, one of Cr.
enum tau_jpeg_layout { TAU_JPEG_GRAY, TAU_JPEG_444, TAU_JPEG_422, TAU_JPEG_420 };

struct tau_jpeg_shape {
    uint8_t across_log2;   // Y blocks side by side
    uint8_t down_log2;     // Y blocks one below the other
    uint8_t blocks_count;  // with Cb and Cr
};

static const struct tau_jpeg_shape tau_jpeg_shapes[] = {
    [TAU_JPEG_GRAY] = {0, 0, 1},
    [TAU_JPEG_444] = {0, 0, 3},
    [TAU_JPEG_422] = {1, 0, 4},
    [TAU_JPEG_420] = {1, 1, 6},
};

// Where an MCU lies, in pixels. The first three words of every token.
struct tau_jpeg_place {
    uint16_t left;
    uint16_t top;
    uint16_t width;  // the image's width
    uint16_t height;
    uint8_t layout;
    uint8_t is_last;  // no token follows
    uint8_t status;   // not TAU_JPEG_OK: the blocks mean nothing, and the token is the last
    uint8_t reserved;
};

// From vld to idct: dequantized coefficients in natural order, row by row of the block.
struct tau_jpeg_coefficients {
    struct tau_jpeg_place place;
    int16_t blocks[TAU_JPEG_BLOCKS_MAX][TAU_JPEG_BLOCK];
};

// From idct to cc: samples of 0 … 255, row by row of the block.
struct tau_jpeg_samples {
    struct tau_jpeg_place place;
    uint8_t blocks[TAU_JPEG_BLOCKS_MAX][TAU_JPEG_BLOCK];
};

_Static_assert(sizeof(struct tau_jpeg_place) == 12, "three words");
_Static_assert(sizeof(struct tau_jpeg_coefficients) == 780, "whole words");
_Static_assert(sizeof(struct tau_jpeg_samples) == 396, "whole words");

#endif
