// Color conversion: from the samples of an MCU to pixels of red, green and blue (JFIF, BT.601).
// Chroma is replicated: each sample of Cb and Cr counts for all pixels that it covers.
#ifndef TAU_JPEG_COLOR_H
#define TAU_JPEG_COLOR_H

#include <stdbool.h>

#include "kernel/systems/jpeg/token.h"

enum { TAU_JPEG_PIXEL_BYTES = 3 };

// Stores the pixels of SAMPLES' MCU that lie in the image into PIXELS, the whole image row by row.
// - False, with nothing stored, if and only if the token is of a failure or the image has more than
//   PIXELS_MAX pixels.
// - Cost: at most 256 pixels.
bool tau_jpeg_color_mcu(const struct tau_jpeg_samples *samples, uint8_t *pixels,
                        uint32_t pixels_max);

#endif
