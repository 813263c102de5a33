// Computes and stores for ever: what the simulation's speed is measured with.
#include "targets/tile/tile.h"

static volatile uint32_t words[1024];

int main(void) {
    for (uint32_t x = 1;;) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        words[x & 1023] += x;
    }
}
