// The marker segments that the header consists of: their bytes, and who reads each (T.81, Annex B).
#ifndef TAU_JPEG_SEGMENTS_H
#define TAU_JPEG_SEGMENTS_H

#include "kernel/systems/jpeg/header.h"

// Bytes of a segment that are not read yet. The reader asks first whether they are there.
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

// Each of the following reads a whole SEGMENT, its length apart.

// The segments of the frame and the scan (B.2.2, B.2.3): SOF0, SOS, and Adobe's APP14.
enum tau_jpeg_status tau_jpeg_frame_read_sof(struct tau_jpeg_header *header,
                                             struct tau_jpeg_bytes segment, uint32_t pixels_max);
enum tau_jpeg_status tau_jpeg_frame_read_sos(struct tau_jpeg_header *header,
                                             struct tau_jpeg_bytes segment);
void tau_jpeg_frame_read_adobe(struct tau_jpeg_header *header, struct tau_jpeg_bytes segment);

// The segments that define tables (B.2.4): DQT, DHT, DRI.
enum tau_jpeg_status tau_jpeg_tables_read_dqt(struct tau_jpeg_header *header,
                                              struct tau_jpeg_bytes segment);
enum tau_jpeg_status tau_jpeg_tables_read_dht(struct tau_jpeg_header *header,
                                              struct tau_jpeg_bytes segment);
enum tau_jpeg_status tau_jpeg_tables_read_dri(struct tau_jpeg_header *header,
                                              struct tau_jpeg_bytes segment);

#endif
