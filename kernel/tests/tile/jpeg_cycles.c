// Decodes the image that is linked in, in the untranslated banks: first as a whole, then with each
// of the three steps measured. Prints the cycles.
#include "kernel/systems/jpeg/color.h"
#include "kernel/systems/jpeg/decode.h"
#include "kernel/systems/jpeg/idct.h"
#include "kernel/systems/jpeg/tasks/tasks.h"
#include "targets/tile/program.h"

enum { VLD, IDCT, CC, STEPS };

static struct tau_jpeg_decoder decoder;
static uint8_t pixels[TAU_JPEG_PIXEL_BYTES * TAU_JPEG_PIXELS_MAX];

static void print(const char *name, uint32_t cycles) {
    tau_tile_print(name);
    tau_tile_print(" ");
    tau_tile_print_number(cycles);
    tau_tile_print("\n");
}

static uint32_t cycle(void) {
    uint32_t now;
    __asm__ volatile("csrr %0, mcycle" : "=r"(now) : : "memory");
    return now;
}

static void measure_whole(void) {
    const uint32_t before = cycle();
    const enum tau_jpeg_status status = tau_jpeg_decode(
        &decoder, tau_jpeg_image, tau_jpeg_image_bytes, pixels, TAU_JPEG_PIXELS_MAX);
    print("whole", cycle() - before);
    if (status != TAU_JPEG_OK) {
        tau_tile_fail(tau_jpeg_reason(status));
    }
}

static void measure_steps(void) {
    uint32_t sums[STEPS] = {0};
    uint32_t largest[STEPS] = {0};
    uint32_t mcus = 0;
    bool is_last = false;
    const uint32_t begin = cycle();
    tau_jpeg_vld_begin(&decoder.vld, tau_jpeg_image, tau_jpeg_image_bytes, TAU_JPEG_PIXELS_MAX);
    print("header", cycle() - begin);
    for (; !is_last; mcus++) {
        uint32_t times[STEPS + 1];
        times[VLD] = cycle();
        is_last = !tau_jpeg_vld_next(&decoder.vld, &decoder.coefficients);
        times[IDCT] = cycle();
        tau_jpeg_idct_mcu(&decoder.coefficients, &decoder.samples);
        times[CC] = cycle();
        (void)tau_jpeg_color_mcu(&decoder.samples, pixels, TAU_JPEG_PIXELS_MAX);
        times[STEPS] = cycle();
        for (uint32_t i = 0; i < STEPS; i++) {
            const uint32_t cycles = times[i + 1] - times[i];
            sums[i] += cycles;
            largest[i] = cycles > largest[i] ? cycles : largest[i];
        }
    }
    print("mcus", mcus);
    print("vld", sums[VLD]);
    print("idct", sums[IDCT]);
    print("cc", sums[CC]);
    print("vld_max", largest[VLD]);
    print("idct_max", largest[IDCT]);
    print("cc_max", largest[CC]);
}

int main(void) {
    measure_whole();
    measure_steps();
    return 0;
}
