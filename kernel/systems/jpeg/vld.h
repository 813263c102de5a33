// Variable length decoding: from the entropy-coded data to dequantized coefficients (T.81, F.2).
#ifndef TAU_JPEG_VLD_H
#define TAU_JPEG_VLD_H

#include "kernel/systems/jpeg/bits.h"
#include "kernel/systems/jpeg/header.h"

struct tau_jpeg_vld {
    struct tau_jpeg_header header;
    struct tau_jpeg_bits bits;
    int16_t predictions[TAU_JPEG_COMPONENTS_MAX];  // DC of the block before, by component
    uint16_t left;                                 // left edge of the next MCU, in pixels
    uint16_t top;
    uint16_t restart_left;  // MCUs up to the next restart marker
    uint8_t restart_next;   // 0 … 7: its number
    uint8_t status;
};

// Begins with the image of BYTES bytes at DATA, which stay the caller's, of at most PIXELS_MAX
// pixels. The first token has the status of its header. Cost: as tau_jpeg_header_read.
void tau_jpeg_vld_begin(struct tau_jpeg_vld *vld, const uint8_t *data, uint32_t bytes,
                        uint32_t pixels_max);

// Decodes the next MCU into TOKEN, which is only stored to. Returns whether another one follows.
// - Whatever the data are, nothing outside of them is read, and all indexes in TOKEN are in range.
// - DC values wrap around at 16 bits, as do products with the quantization: only for data that no
//   encoder makes.
// - Cost: at most 6 × 64 codes, and what lies between an MCU and a restart marker.
bool tau_jpeg_vld_next(struct tau_jpeg_vld *vld, struct tau_jpeg_coefficients *token);

#endif
