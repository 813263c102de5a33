// The segments of the frame and the scan (T.81, B.2.2, B.2.3): SOF0, SOS, and Adobe's APP14.
#ifndef TAU_JPEG_FRAME_H
#define TAU_JPEG_FRAME_H

#include "kernel/systems/jpeg/bytes.h"
#include "kernel/systems/jpeg/header.h"

// Each reads a whole SEGMENT, its length apart.
enum tau_jpeg_status tau_jpeg_frame_read_sof(struct tau_jpeg_header *header,
                                             struct tau_jpeg_bytes segment, uint32_t pixels_max);
enum tau_jpeg_status tau_jpeg_frame_read_sos(struct tau_jpeg_header *header,
                                             struct tau_jpeg_bytes segment);
void tau_jpeg_frame_read_adobe(struct tau_jpeg_header *header, struct tau_jpeg_bytes segment);

#endif
