// SPDX-License-Identifier: GPL-2.0-only
// Unpacks a page from an LZ4 block.
#ifndef TAU_COLD_UNPACK_H
#define TAU_COLD_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAU_COLD_PAGE_BYTES 4096u

// Writes one page from the block at PACKED, and ignores what follows the block. Whatever is there,
// no byte outside both is touched. False if it gives no whole page. Cost: a step per byte of both.
bool tau_cold_unpack(const uint8_t *packed, uint32_t packed_bytes, uint8_t *page);

#endif
