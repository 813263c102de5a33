// Counts calls and the bytes of a stack. See emulator_count.h.
#include "tool/native/replay/emulator_count.h"

#include <stdlib.h>
#include <string.h>

#define STACK_PAINT 0xa5
#define HISTOGRAM_LENGTH_MAX (UINT64_C(1) << 22)

void tau_emulator_tally_add(struct tau_emulator_tally *tally, uint64_t number, uint64_t event) {
    const uint64_t place = number < HISTOGRAM_LENGTH_MAX ? number : HISTOGRAM_LENGTH_MAX - 1;
    if (place >= tally->histogram_length) {
        const uint64_t length = 2 * place < 1024 ? 1024 : 2 * place;
        uint64_t *histogram = realloc(tally->histogram, length * sizeof(uint64_t));
        if (histogram == NULL) {
            abort();  // a few MiB on a workstation; nothing sensible is left to do
        }
        memset(histogram + tally->histogram_length, 0,
               (length - tally->histogram_length) * sizeof(uint64_t));
        tally->histogram = histogram;
        tally->histogram_length = length;
    }
    tally->histogram[place]++;
    tally->total += number;
    if (number > tally->max) {
        tally->max = number;
        tally->max_event = event;
    }
}

void tau_emulator_stack_paint(uint8_t *stack, uint32_t size_bytes) {
    memset(stack, STACK_PAINT, size_bytes);
}

uint32_t tau_emulator_stack_used(const uint8_t *stack, uint32_t size_bytes) {
    uint32_t untouched = 0;
    while (untouched < size_bytes && stack[untouched] == STACK_PAINT) {
        untouched++;
    }
    return size_bytes - untouched;
}
