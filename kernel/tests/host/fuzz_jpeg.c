// Decodes damaged images under sanitizers: nothing outside the data is read, nothing outside the
// pixels is written, and each decoding ends.
#include "kernel/systems/jpeg/color.h"
#include "kernel/systems/jpeg/decode.h"
#include "kernel/tests/host/fuzz_file.h"

enum { PIXELS_MAX = 96 * 96 };

static const char *answer_to(const uint8_t *data, uint32_t bytes) {
    static struct tau_jpeg_decoder decoder;
    uint8_t *pixels = calloc(PIXELS_MAX, TAU_JPEG_PIXEL_BYTES);
    const enum tau_jpeg_status status = tau_jpeg_decode(&decoder, data, bytes, pixels, PIXELS_MAX);
    REQUIRE((unsigned)status < TAU_JPEG_STATUS_COUNT);
    free(pixels);
    return tau_jpeg_reason(status);
}
