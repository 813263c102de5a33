#include "kernel/systems/checksum.h"
#include "kernel/systems/jpeg/color.h"
#include "kernel/systems/jpeg/status.h"
#include "kernel/systems/jpeg/tasks/fifos.h"
#include "kernel/systems/jpeg/tasks/tasks.h"

uint32_t tau_jpeg_pixels[(TAU_JPEG_PIXEL_BYTES * TAU_JPEG_PIXELS_MAX + 3) / 4];

void tau_jpeg_cc_task(void) {
    struct tau_fifo in;
    struct tau_jpeg_place place = {0};
    tau_jpeg_fifos_open_samples(&in, TAU_JPEG_READER);
    for (uint32_t iteration = 0; !place.is_last; iteration++) {  // bound: the image's MCUs
        const struct tau_jpeg_samples *samples = tau_fifo_read_begin(&in);
        tau_system_page_mark(TAU_JPEG_TASK_CC, iteration, 0);
        place = samples->place;
        (void)tau_jpeg_color_mcu(samples, (uint8_t *)tau_jpeg_pixels, TAU_JPEG_PIXELS_MAX);
        tau_fifo_read_end(&in);
        tau_system_page_mark(TAU_JPEG_TASK_CC, iteration, 1);
    }
    // The buffer's last word is filled up with zeros.
    const uint32_t bytes = (uint32_t)TAU_JPEG_PIXEL_BYTES * place.width * place.height;
    struct tau_checksum checksum = {0};
    tau_checksum_add(&checksum, tau_jpeg_pixels, (bytes + 3) / 4);
    tau_checksum_print(&checksum, "jpeg", tau_jpeg_reason(place.status));
}
