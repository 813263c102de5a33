// Counts calls, and decodes blocks of code. See emulator_count.h.
#include "tool/native/replay/emulator_count.h"

#include <stdlib.h>
#include <string.h>

#include "tool/native/machine/rv32_decode.h"

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

struct tau_emulator_cost tau_emulator_cost_of(const uint8_t *code, uint32_t size, uint32_t is_arm) {
    struct tau_emulator_cost cost = {0};
    for (uint32_t at = 0; at < size; cost.instructions++) {
        uint32_t word = 0;
        memcpy(&word, code + at, size - at < sizeof word ? size - at : sizeof word);
        const uint32_t half = word & 0xffff;
        if (is_arm != 0) {
            at += (half >> 11) >= 0x1d ? 4 : 2;
            continue;
        }
        const struct tau_rv32_instruction found = rv32_decode(word, 0, true);
        cost.accesses += found.op >= RV32_LB && found.op <= RV32_SW ? 1 : 0;
        at += (half & 3) == 3 ? 4 : 2;
    }
    return cost;
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
