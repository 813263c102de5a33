#include "repro/composable/programs/iterations.h"

#include "kernel/systems/jpeg/color.h"
#include "kernel/systems/jpeg/decode.h"
#include "kernel/systems/jpeg/idct.h"
#include "kernel/systems/jpeg/tasks/tasks.h"

static struct tau_jpeg_decoder decoder;
static uint8_t pixels[TAU_JPEG_PIXEL_BYTES * TAU_JPEG_PIXELS_MAX];

void tau_iterations_begin(void) {
    tau_jpeg_vld_begin(&decoder.vld, tau_jpeg_image, tau_jpeg_image_bytes, TAU_JPEG_PIXELS_MAX);
}

void tau_iterations_run(void) {
    bool is_last = false;
    for (uint32_t i = 0; i < TAU_ITERATIONS && !is_last; i++) {
        is_last = !tau_jpeg_vld_next(&decoder.vld, &decoder.coefficients);
        tau_jpeg_idct_mcu(&decoder.coefficients, &decoder.samples);
        (void)tau_jpeg_color_mcu(&decoder.samples, pixels, TAU_JPEG_PIXELS_MAX);
    }
}
