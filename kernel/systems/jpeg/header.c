#include "kernel/systems/jpeg/header.h"

#include "kernel/systems/jpeg/bits.h"
#include "kernel/systems/jpeg/segments.h"

// Every table undefined, no frame header yet.
static void clear(struct tau_jpeg_header *header) {
    header->restart_interval = 0;
    header->components_count = 0;
    header->is_rgb = false;
    for (uint32_t i = 0; i < TAU_JPEG_QUANTIZATIONS; i++) {
        header->quantizations[i].is_defined = false;
    }
    for (uint32_t i = 0; i < TAU_JPEG_HUFFMANS; i++) {
        header->huffmans[TAU_JPEG_DC][i].is_defined = false;
        header->huffmans[TAU_JPEG_AC][i].is_defined = false;
    }
}

// Takes the next marker, fill bytes included: its second byte.
static enum tau_jpeg_status take_marker(struct tau_jpeg_bytes *bytes, uint32_t *code) {
    if (tau_jpeg_bytes_left(bytes) < 2) {
        return TAU_JPEG_TRUNCATED;
    }
    if (tau_jpeg_bytes_take(bytes) != TAU_JPEG_MARKER) {
        return TAU_JPEG_BAD_SEGMENT;
    }
    do {  // bound: the data
        if (tau_jpeg_bytes_left(bytes) == 0) {
            return TAU_JPEG_TRUNCATED;
        }
        *code = tau_jpeg_bytes_take(bytes);
    } while (*code == TAU_JPEG_MARKER);
    return TAU_JPEG_OK;
}

// Takes a segment that starts with its length.
static enum tau_jpeg_status take_segment(struct tau_jpeg_bytes *bytes,
                                         struct tau_jpeg_bytes *segment) {
    if (tau_jpeg_bytes_left(bytes) < 2) {
        return TAU_JPEG_TRUNCATED;
    }
    const uint32_t length = tau_jpeg_bytes_take_pair(bytes);
    if (length < 2) {
        return TAU_JPEG_BAD_SEGMENT;
    }
    if (tau_jpeg_bytes_left(bytes) < length - 2) {
        return TAU_JPEG_TRUNCATED;
    }
    segment->next = bytes->next;
    segment->end = bytes->next + (length - 2);
    bytes->next = segment->end;
    return TAU_JPEG_OK;
}

static bool is_skipped(uint32_t code) {
    return (code >= TAU_JPEG_APP0 && code <= TAU_JPEG_APP15) || code == TAU_JPEG_COM;
}

// Whether only other processes than baseline have the segment.
static bool is_of_other_process(uint32_t code) {
    return (code > TAU_JPEG_SOF0 && code <= TAU_JPEG_SOF15 && code != TAU_JPEG_DHT) ||
           code == TAU_JPEG_DNL || code == TAU_JPEG_DHP || code == TAU_JPEG_EXP;
}

static enum tau_jpeg_status read_segment(struct tau_jpeg_header *header, uint32_t code,
                                         struct tau_jpeg_bytes segment, uint32_t pixels_max) {
    switch (code) {
    case TAU_JPEG_DQT:
        return tau_jpeg_tables_read_dqt(header, segment);
    case TAU_JPEG_DHT:
        return tau_jpeg_tables_read_dht(header, segment);
    case TAU_JPEG_DRI:
        return tau_jpeg_tables_read_dri(header, segment);
    case TAU_JPEG_SOF0:
        return tau_jpeg_frame_read_sof(header, segment, pixels_max);
    case TAU_JPEG_SOS:
        return tau_jpeg_frame_read_sos(header, segment);
    case TAU_JPEG_APP14:
        tau_jpeg_frame_read_adobe(header, segment);
        return TAU_JPEG_OK;
    default:
        return is_skipped(code) ? TAU_JPEG_OK : TAU_JPEG_BAD_SEGMENT;
    }
}

enum tau_jpeg_status tau_jpeg_header_read(struct tau_jpeg_header *header, const uint8_t *data,
                                          const uint8_t *end, uint32_t pixels_max) {
    struct tau_jpeg_bytes bytes = {data, end};
    clear(header);
    if (tau_jpeg_bytes_left(&bytes) < 2) {
        return TAU_JPEG_TRUNCATED;
    }
    if (tau_jpeg_bytes_take_pair(&bytes) != (TAU_JPEG_MARKER << 8 | TAU_JPEG_SOI)) {
        return TAU_JPEG_NO_JPEG;
    }
    uint32_t code = 0;
    enum tau_jpeg_status status = TAU_JPEG_OK;
    while (status == TAU_JPEG_OK && code != TAU_JPEG_SOS) {  // bound: 4 bytes a turn
        struct tau_jpeg_bytes segment = {0};
        status = take_marker(&bytes, &code);
        if (status == TAU_JPEG_OK && is_of_other_process(code)) {
            return TAU_JPEG_NOT_BASELINE;
        }
        if (status == TAU_JPEG_OK && code >= TAU_JPEG_RST0 && code <= TAU_JPEG_EOI) {
            return TAU_JPEG_BAD_SEGMENT;
        }
        if (status == TAU_JPEG_OK) {
            status = take_segment(&bytes, &segment);
        }
        if (status == TAU_JPEG_OK) {
            status = read_segment(header, code, segment, pixels_max);
        }
    }
    return status;
}
