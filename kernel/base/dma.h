// A DMA channel of the application: words of its own page of communication memory go to the other
// tile while the task computes. The kernel sets both pages; offsets count from their starts.
#ifndef TAU_DMA_H
#define TAU_DMA_H

#include <stdbool.h>
#include <stdint.h>

// Moves WORDS words from SOURCE to DESTINATION, which are offsets in bytes. A channel moves a word
// every eighth cycle. Words outside the pages are not moved and end the transfer.
void tau_dma_start(uint32_t channel, uint32_t source_bytes, uint32_t destination_bytes,
                   uint32_t words);

// Whether words are left.
bool tau_dma_is_busy(uint32_t channel);

#endif
