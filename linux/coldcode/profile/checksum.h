// CRC-32, as in IEEE 802.3 and zlib.
#ifndef TAU_CHECKSUM_H
#define TAU_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

// The checksum of what CHECKSUM stands for, 0 for nothing, followed by these bytes.
uint32_t tau_checksum_add(uint32_t checksum, const void *bytes, size_t bytes_count);

#endif
