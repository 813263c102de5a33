// The ends of the decoder's two FIFOs, opened with the sizes that both sides agree on.
#ifndef TAU_JPEG_FIFOS_H
#define TAU_JPEG_FIFOS_H

#include "kernel/base/fifo.h"
#include "kernel/systems/jpeg/token.h"

enum { TAU_JPEG_FIFO_PAGE_BYTES = 4096 };

enum { TAU_JPEG_WRITER, TAU_JPEG_READER };

_Static_assert(TAU_FIFO_PAGE_BYTES(sizeof(struct tau_jpeg_coefficients),
                                   TAU_JPEG_COEFFICIENTS_TOKENS) <= TAU_JPEG_FIFO_PAGE_BYTES,
               "the ring of coefficients lies in one page");
_Static_assert(TAU_FIFO_PAGE_BYTES(sizeof(struct tau_jpeg_samples), TAU_JPEG_SAMPLES_TOKENS) <=
                   TAU_JPEG_FIFO_PAGE_BYTES,
               "the ring of samples lies in one page");

// SIDE is TAU_JPEG_WRITER or TAU_JPEG_READER.
static inline void tau_jpeg_fifos_open_coefficients(struct tau_fifo *end, uint32_t side) {
    tau_fifo_open(end, side, sizeof(struct tau_jpeg_coefficients), TAU_JPEG_COEFFICIENTS_TOKENS);
}

static inline void tau_jpeg_fifos_open_samples(struct tau_fifo *end, uint32_t side) {
    tau_fifo_open(end, 2 + side, sizeof(struct tau_jpeg_samples), TAU_JPEG_SAMPLES_TOKENS);
}

#endif
