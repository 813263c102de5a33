// The marker segments of an image, up to the entropy-coded data of its scan (T.81, Annex B).
#ifndef TAU_JPEG_HEADER_H
#define TAU_JPEG_HEADER_H

#include <stdint.h>

#include "kernel/systems/jpeg/huffman.h"
#include "kernel/systems/jpeg/status.h"
#include "kernel/systems/jpeg/token.h"

enum {
    TAU_JPEG_COMPONENTS_MAX = 3,
    TAU_JPEG_QUANTIZATIONS = 4,
    TAU_JPEG_HUFFMANS = 2,  // per class, in the baseline process
};

// Second bytes of markers.
enum {
    TAU_JPEG_SOF0 = 0xc0,
    TAU_JPEG_DHT = 0xc4,
    TAU_JPEG_SOF15 = 0xcf,
    TAU_JPEG_RST0 = 0xd0,
    TAU_JPEG_SOI = 0xd8,
    TAU_JPEG_EOI = 0xd9,
    TAU_JPEG_SOS = 0xda,
    TAU_JPEG_DQT = 0xdb,
    TAU_JPEG_DNL = 0xdc,
    TAU_JPEG_DRI = 0xdd,
    TAU_JPEG_DHP = 0xde,
    TAU_JPEG_EXP = 0xdf,
    TAU_JPEG_APP0 = 0xe0,
    TAU_JPEG_APP14 = 0xee,
    TAU_JPEG_APP15 = 0xef,
    TAU_JPEG_COM = 0xfe,
};

enum tau_jpeg_class { TAU_JPEG_DC, TAU_JPEG_AC };

struct tau_jpeg_quantization {
    uint8_t steps[TAU_JPEG_BLOCK];  // in zigzag order
    bool is_defined;
};

struct tau_jpeg_component {
    uint8_t id;
    uint8_t quantization;
    uint8_t huffman[2];  // by class
};

struct tau_jpeg_header {
    uint16_t width;
    uint16_t height;
    uint16_t restart_interval;  // MCUs; 0: no restarts
    uint8_t components_count;   // 0: no frame header yet
    uint8_t layout;             // enum tau_jpeg_layout
    bool is_rgb;                // an Adobe segment says so
    struct tau_jpeg_component components[TAU_JPEG_COMPONENTS_MAX];
    struct tau_jpeg_quantization quantizations[TAU_JPEG_QUANTIZATIONS];
    struct tau_jpeg_huffman huffmans[2][TAU_JPEG_HUFFMANS];
    const uint8_t *scan;  // its entropy-coded data
};

// Reads the header of the image DATA … END, of at most PIXELS_MAX pixels, into HEADER.
// - Any bytes may be there. Nothing outside of them is read.
// - Anything but TAU_JPEG_OK: HEADER is undefined.
// - Cost: linear in the bytes of the header, and 4,400 steps for each Huffman table.
enum tau_jpeg_status tau_jpeg_header_read(struct tau_jpeg_header *header, const uint8_t *data,
                                          const uint8_t *end, uint32_t pixels_max);

#endif
