// The decoder as an application of three tasks: vld -> idct -> cc. One iteration is one MCU.
//
// Each function is the whole of a task and returns when the image is decoded. FIFO 0 leads from vld
// to idct, FIFO 1 from idct to cc. End 2f is the writer's end of FIFO f, end 2f + 1 the reader's.
#ifndef TAU_JPEG_TASKS_H
#define TAU_JPEG_TASKS_H

#include <stdint.h>

// Pixels that cc has room for; larger images are refused.
#ifndef TAU_JPEG_PIXELS_MAX
#define TAU_JPEG_PIXELS_MAX (192u * 144u)
#endif

enum { TAU_JPEG_TASK_VLD, TAU_JPEG_TASK_IDCT, TAU_JPEG_TASK_CC, TAU_JPEG_TASKS_COUNT };

// The image, linked into the application: images.py writes the file that defines it.
extern const uint8_t tau_jpeg_image[];
extern const uint32_t tau_jpeg_image_bytes;

// The pixels that cc stores, 3 bytes each, row by row.
extern uint32_t tau_jpeg_pixels[(3 * TAU_JPEG_PIXELS_MAX + 3) / 4];

void tau_jpeg_vld_task(void);
void tau_jpeg_idct_task(void);

// Prints at the end how the decoding went, and the checksum of the pixels.
void tau_jpeg_cc_task(void);

#endif
