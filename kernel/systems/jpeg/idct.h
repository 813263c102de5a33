// Inverse discrete cosine transform of dequantized blocks (T.81, A.3.3), in fixed point.
//
// The method is by Loeffler, Ligtenberg and Moschytz (ICASSP 1989) with 13 fractional bits,
// columns first. A sample is at most 1 off the exactly rounded one.
#ifndef TAU_JPEG_IDCT_H
#define TAU_JPEG_IDCT_H

#include "kernel/systems/jpeg/token.h"

// Transforms the blocks of COEFFICIENTS into SAMPLES, which are only stored to.
// - Coefficients that no encoder makes give some samples in 0 … 255; sums wrap around.
// - Cost: 16 one-dimensional transforms per block at most. Columns and rows whose coefficients
//   after the first are 0 cost less.
void tau_jpeg_idct_mcu(const struct tau_jpeg_coefficients *coefficients,
                       struct tau_jpeg_samples *samples);

#endif
