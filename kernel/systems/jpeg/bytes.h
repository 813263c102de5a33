// Bytes of a marker segment that are not read yet. Who takes asks first whether they are there.
#ifndef TAU_JPEG_BYTES_H
#define TAU_JPEG_BYTES_H

#include <stdint.h>

struct tau_jpeg_bytes {
    const uint8_t *next;
    const uint8_t *end;
};

static inline uint32_t tau_jpeg_bytes_left(const struct tau_jpeg_bytes *bytes) {
    return (uint32_t)(bytes->end - bytes->next);
}

static inline uint32_t tau_jpeg_bytes_take(struct tau_jpeg_bytes *bytes) {
    return *bytes->next++;
}

// Two bytes, the higher first.
static inline uint32_t tau_jpeg_bytes_take_pair(struct tau_jpeg_bytes *bytes) {
    const uint32_t high = tau_jpeg_bytes_take(bytes);
    return high << 8 | tau_jpeg_bytes_take(bytes);
}

#endif
