#include "kernel/systems/jpeg/segments.h"

enum {
    SOF_HEAD_BYTES = 6,
    SOF_COMPONENT_BYTES = 3,
    SOS_COMPONENT_BYTES = 2,
    SOS_TAIL_BYTES = 3,
    SAMPLING_MAX = 4,
    ADOBE_BYTES = 12,
    ADOBE_TRANSFORM = 11,  // offset of the byte that says 0 for RGB, 1 for YCbCr
    ONE_BY_ONE = 0x11,     // sampling factors, across and down
};

static bool layout_of(const uint8_t samplings[TAU_JPEG_COMPONENTS_MAX], uint8_t *layout) {
    if (samplings[1] != ONE_BY_ONE || samplings[2] != ONE_BY_ONE) {
        return false;
    }
    switch (samplings[0]) {
    case ONE_BY_ONE:
        *layout = TAU_JPEG_444;
        return true;
    case 0x21:
        *layout = TAU_JPEG_422;
        return true;
    case 0x22:
        *layout = TAU_JPEG_420;
        return true;
    default:
        return false;
    }
}

static enum tau_jpeg_status read_components(struct tau_jpeg_header *header,
                                            struct tau_jpeg_bytes *segment) {
    uint8_t samplings[TAU_JPEG_COMPONENTS_MAX] = {0};
    for (uint32_t i = 0; i < header->components_count; i++) {
        struct tau_jpeg_component *component = &header->components[i];
        component->id = (uint8_t)tau_jpeg_bytes_take(segment);
        samplings[i] = (uint8_t)tau_jpeg_bytes_take(segment);
        component->quantization = (uint8_t)tau_jpeg_bytes_take(segment);
        const uint32_t across = samplings[i] >> 4;
        const uint32_t down = samplings[i] & 15;
        if (across - 1 >= SAMPLING_MAX || down - 1 >= SAMPLING_MAX ||
            component->quantization >= TAU_JPEG_QUANTIZATIONS) {
            return TAU_JPEG_BAD_SEGMENT;
        }
    }
    // A single component is coded block by block, whatever its sampling factors (T.81, A.2.2).
    if (header->components_count == 1) {
        header->layout = TAU_JPEG_GRAY;
        return TAU_JPEG_OK;
    }
    return layout_of(samplings, &header->layout) ? TAU_JPEG_OK : TAU_JPEG_SAMPLING;
}

enum tau_jpeg_status tau_jpeg_frame_read_sof(struct tau_jpeg_header *header,
                                             struct tau_jpeg_bytes segment, uint32_t pixels_max) {
    if (header->components_count != 0 || tau_jpeg_bytes_left(&segment) < SOF_HEAD_BYTES) {
        return TAU_JPEG_BAD_SEGMENT;
    }
    if (tau_jpeg_bytes_take(&segment) != 8) {
        return TAU_JPEG_PRECISION;
    }
    header->height = (uint16_t)tau_jpeg_bytes_take_pair(&segment);
    header->width = (uint16_t)tau_jpeg_bytes_take_pair(&segment);
    const uint32_t components_count = tau_jpeg_bytes_take(&segment);
    if (components_count != 1 && components_count != TAU_JPEG_COMPONENTS_MAX) {
        return TAU_JPEG_COMPONENTS;
    }
    if (tau_jpeg_bytes_left(&segment) != SOF_COMPONENT_BYTES * components_count) {
        return TAU_JPEG_BAD_SEGMENT;
    }
    const uint32_t pixels = (uint32_t)header->width * header->height;
    if (pixels == 0 || pixels > pixels_max) {
        return TAU_JPEG_SIZE;
    }
    header->components_count = (uint8_t)components_count;
    return read_components(header, &segment);
}

static bool are_ids_of_rgb(const struct tau_jpeg_component components[]) {
    return components[0].id == 'R' && components[1].id == 'G' && components[2].id == 'B';
}

static enum tau_jpeg_status select_tables(struct tau_jpeg_header *header,
                                          struct tau_jpeg_bytes *segment) {
    for (uint32_t i = 0; i < header->components_count; i++) {
        struct tau_jpeg_component *component = &header->components[i];
        const uint32_t id = tau_jpeg_bytes_take(segment);
        const uint32_t tables = tau_jpeg_bytes_take(segment);
        const uint32_t dc = tables >> 4;
        const uint32_t ac = tables & 15;
        if (id != component->id || dc >= TAU_JPEG_HUFFMANS || ac >= TAU_JPEG_HUFFMANS) {
            return TAU_JPEG_BAD_SEGMENT;
        }
        if (!header->quantizations[component->quantization].is_defined ||
            !header->huffmans[TAU_JPEG_DC][dc].is_defined ||
            !header->huffmans[TAU_JPEG_AC][ac].is_defined) {
            return TAU_JPEG_NO_TABLE;
        }
        component->huffman[TAU_JPEG_DC] = (uint8_t)dc;
        component->huffman[TAU_JPEG_AC] = (uint8_t)ac;
    }
    return TAU_JPEG_OK;
}

enum tau_jpeg_status tau_jpeg_frame_read_sos(struct tau_jpeg_header *header,
                                             struct tau_jpeg_bytes segment) {
    if (header->components_count == 0 || tau_jpeg_bytes_left(&segment) < 1) {
        return TAU_JPEG_BAD_SEGMENT;
    }
    if (tau_jpeg_bytes_take(&segment) != header->components_count) {
        return TAU_JPEG_SCANS;
    }
    if (tau_jpeg_bytes_left(&segment) !=
        (uint32_t)SOS_COMPONENT_BYTES * header->components_count + SOS_TAIL_BYTES) {
        return TAU_JPEG_BAD_SEGMENT;
    }
    if (header->components_count == TAU_JPEG_COMPONENTS_MAX &&
        (header->is_rgb || are_ids_of_rgb(header->components))) {
        return TAU_JPEG_COLOR_SPACE;
    }
    const enum tau_jpeg_status status = select_tables(header, &segment);
    if (status != TAU_JPEG_OK) {
        return status;
    }
    const uint32_t spectrum = tau_jpeg_bytes_take_pair(&segment);
    const uint32_t approximation = tau_jpeg_bytes_take(&segment);
    header->scan = segment.end;
    return spectrum == TAU_JPEG_BLOCK - 1 && approximation == 0 ? TAU_JPEG_OK
                                                                : TAU_JPEG_NOT_BASELINE;
}

void tau_jpeg_frame_read_adobe(struct tau_jpeg_header *header, struct tau_jpeg_bytes segment) {
    static const uint8_t name[] = {'A', 'd', 'o', 'b', 'e'};
    bool is_adobe = tau_jpeg_bytes_left(&segment) >= ADOBE_BYTES;
    for (uint32_t i = 0; is_adobe && i < sizeof name; i++) {
        is_adobe = segment.next[i] == name[i];
    }
    if (is_adobe) {
        header->is_rgb = segment.next[ADOBE_TRANSFORM] == 0;
    }
}
