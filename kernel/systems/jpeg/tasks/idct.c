#include "kernel/systems/jpeg/idct.h"
#include "kernel/base/system_page.h"
#include "kernel/systems/jpeg/tasks/fifos.h"
#include "kernel/systems/jpeg/tasks/tasks.h"

void tau_jpeg_idct_task(void) {
    struct tau_fifo in;
    struct tau_fifo out;
    tau_jpeg_fifos_open_coefficients(&in, TAU_JPEG_READER);
    tau_jpeg_fifos_open_samples(&out, TAU_JPEG_WRITER);
    bool is_last = false;
    for (uint32_t iteration = 0; !is_last; iteration++) {  // bound: the image's MCUs
        const struct tau_jpeg_coefficients *coefficients = tau_fifo_read_begin(&in);
        struct tau_jpeg_samples *samples = tau_fifo_write_begin(&out);
        tau_system_page_mark(TAU_JPEG_TASK_IDCT, iteration, 0);
        is_last = coefficients->place.is_last;
        tau_jpeg_idct_mcu(coefficients, samples);
        tau_fifo_write_end(&out);
        tau_fifo_read_end(&in);
        tau_system_page_mark(TAU_JPEG_TASK_IDCT, iteration, 1);
    }
}
