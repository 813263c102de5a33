#include "kernel/systems/jpeg/decode.h"

#include "kernel/systems/jpeg/color.h"
#include "kernel/systems/jpeg/idct.h"

enum tau_jpeg_status tau_jpeg_decode(struct tau_jpeg_decoder *decoder, const uint8_t *data,
                                     uint32_t bytes, uint8_t *pixels, uint32_t pixels_max) {
    bool is_last = false;
    tau_jpeg_vld_begin(&decoder->vld, data, bytes, pixels_max);
    while (!is_last) {  // bound: the MCUs of PIXELS_MAX pixels
        is_last = !tau_jpeg_vld_next(&decoder->vld, &decoder->coefficients);
        tau_jpeg_idct_mcu(&decoder->coefficients, &decoder->samples);
        (void)tau_jpeg_color_mcu(&decoder->samples, pixels, pixels_max);
    }
    return decoder->vld.status;
}
