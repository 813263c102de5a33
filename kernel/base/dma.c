#include "kernel/base/dma.h"

#include "facts/gen/tau_compose_format.h"
#include "facts/gen/tau_tile_format.h"

static volatile uint32_t *channel_word(uint32_t channel, uint32_t offset_bytes) {
    const uint32_t page = TAU_COMPOSE_ADDRESS_DMA + TAU_COMPOSE_SIZE_PAGE_BYTES_MIN * channel;
    return (volatile uint32_t *)(uintptr_t)(page + offset_bytes);
}

void tau_dma_start(uint32_t channel, uint32_t source_bytes, uint32_t destination_bytes,
                   uint32_t words) {
    *channel_word(channel, TAU_TILE_DMA_PAGE_SOURCE) = source_bytes;
    *channel_word(channel, TAU_TILE_DMA_PAGE_DESTINATION) = destination_bytes;
    *channel_word(channel, TAU_TILE_DMA_PAGE_WORDS) = words;
}

bool tau_dma_is_busy(uint32_t channel) {
    return *channel_word(channel, TAU_TILE_DMA_PAGE_WORDS) != 0;
}
