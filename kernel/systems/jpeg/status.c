#include "kernel/systems/jpeg/status.h"

static const char *const reasons[TAU_JPEG_STATUS_COUNT] = {
    [TAU_JPEG_OK] = "decoded",
    [TAU_JPEG_TRUNCATED] = "the data end early",
    [TAU_JPEG_NO_JPEG] = "no start of image",
    [TAU_JPEG_BAD_SEGMENT] = "a malformed or misplaced marker segment",
    [TAU_JPEG_NOT_BASELINE] = "not baseline sequential",
    [TAU_JPEG_PRECISION] = "not 8 bits",
    [TAU_JPEG_COMPONENTS] = "neither one component nor three",
    [TAU_JPEG_SAMPLING] = "none of 4:4:4, 4:2:2, 4:2:0",
    [TAU_JPEG_COLOR_SPACE] = "not YCbCr",
    [TAU_JPEG_SCANS] = "more than one scan",
    [TAU_JPEG_SIZE] = "empty, or too large for its buffer",
    [TAU_JPEG_NO_TABLE] = "a table is missing",
    [TAU_JPEG_BAD_TABLE] = "a table that no code can have",
    [TAU_JPEG_BAD_CODE] = "data that no code can have",
    [TAU_JPEG_BAD_RESTART] = "not the restart marker that is due",
};

const char *tau_jpeg_reason(enum tau_jpeg_status status) {
    return (unsigned)status < TAU_JPEG_STATUS_COUNT ? reasons[status] : "unknown";
}
