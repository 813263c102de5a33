#include "kernel/systems/jpeg/vld.h"
#include "kernel/base/system_page.h"
#include "kernel/systems/jpeg/tasks/fifos.h"
#include "kernel/systems/jpeg/tasks/tasks.h"

static struct tau_jpeg_vld vld;

void tau_jpeg_vld_task(void) {
    struct tau_fifo out;
    tau_jpeg_fifos_open_coefficients(&out, TAU_JPEG_WRITER);
    tau_jpeg_vld_begin(&vld, tau_jpeg_image, tau_jpeg_image_bytes, TAU_JPEG_PIXELS_MAX);
    bool is_last = false;
    for (uint32_t iteration = 0; !is_last; iteration++) {  // bound: the image's MCUs
        struct tau_jpeg_coefficients *coefficients = tau_fifo_write_begin(&out);
        tau_system_page_mark(TAU_JPEG_TASK_VLD, iteration, 0);
        is_last = !tau_jpeg_vld_next(&vld, coefficients);
        tau_fifo_write_end(&out);
        tau_system_page_mark(TAU_JPEG_TASK_VLD, iteration, 1);
    }
}
