// The whole decoder in one task: each MCU goes through vld, idct and cc, without FIFOs.
#ifndef TAU_JPEG_DECODE_H
#define TAU_JPEG_DECODE_H

#include "kernel/systems/jpeg/vld.h"

struct tau_jpeg_decoder {
    struct tau_jpeg_vld vld;
    struct tau_jpeg_coefficients coefficients;
    struct tau_jpeg_samples samples;
};

// Decodes the image of BYTES bytes at DATA into PIXELS, 3 bytes each, row by row.
// - Anything but TAU_JPEG_OK: the MCUs before the fault are stored.
// - The width and the height are in DECODER->vld.header.
// - Cost: as tau_jpeg_vld_begin, then each MCU in the three steps.
enum tau_jpeg_status tau_jpeg_decode(struct tau_jpeg_decoder *decoder, const uint8_t *data,
                                     uint32_t bytes, uint8_t *pixels, uint32_t pixels_max);

#endif
