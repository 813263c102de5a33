// The emulator's counts: sums and histograms of calls, and the bytes used of a stack.
#ifndef TAU_EMULATOR_COUNT_H
#define TAU_EMULATOR_COUNT_H

#include <stdint.h>

// One number per call.
struct tau_emulator_tally {
    uint64_t total;
    uint64_t max;
    uint64_t max_event;   // the first event that reached max
    uint64_t *histogram;  // calls by number; the last entry has all that are larger
    uint64_t histogram_length;
};

void tau_emulator_tally_add(struct tau_emulator_tally *tally, uint64_t number, uint64_t event);

// Paints SIZE_BYTES of a stack; later counts the bytes from the lowest changed one to the end.
void tau_emulator_stack_paint(uint8_t *stack, uint32_t size_bytes);
uint32_t tau_emulator_stack_used(const uint8_t *stack, uint32_t size_bytes);

#endif
