// The segments that define tables (T.81, B.2.4): DQT, DHT, DRI.
#ifndef TAU_JPEG_TABLES_H
#define TAU_JPEG_TABLES_H

#include "kernel/systems/jpeg/bytes.h"
#include "kernel/systems/jpeg/header.h"

// Each reads a whole SEGMENT, its length apart.
enum tau_jpeg_status tau_jpeg_tables_read_dqt(struct tau_jpeg_header *header,
                                              struct tau_jpeg_bytes segment);
enum tau_jpeg_status tau_jpeg_tables_read_dht(struct tau_jpeg_header *header,
                                              struct tau_jpeg_bytes segment);
enum tau_jpeg_status tau_jpeg_tables_read_dri(struct tau_jpeg_header *header,
                                              struct tau_jpeg_bytes segment);

#endif
