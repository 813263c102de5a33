// A pipeline of three stages over two rings, each stage as far as its rings allow.
#include "repro/composable/programs/work/work.h"

enum { RING = 1024 };  // a power of two
struct ring {
    uint32_t words[RING];
    uint32_t written;
    uint32_t read;
};
static struct ring first;
static struct ring second;

static int put(struct ring *ring, uint32_t word) {
    if (ring->written - ring->read == RING) {
        return 0;
    }
    ring->words[ring->written++ % RING] = word;
    return 1;
}

static int get(struct ring *ring, uint32_t *word) {
    if (ring->written == ring->read) {
        return 0;
    }
    *word = ring->words[ring->read++ % RING];
    return 1;
}

void tau_iterations_begin(void) {
    tau_work_fill();
}

void tau_iterations_run(void) {
    uint32_t produced = 0;
    uint32_t consumed = 0;
    uint32_t mean = 0;
    uint32_t word = 0;
    while (consumed < TAU_SIZE) {
        for (uint32_t i = 0; i < TAU_SEED % 64 + 16 && produced < TAU_SIZE; i++) {
            produced += (uint32_t)put(&first, tau_work_input[produced]);
        }
        while (get(&first, &word)) {
            mean += ((word >> 8) - mean) >> 3;
            (void)put(&second, word ^ mean);
        }
        while (get(&second, &word)) {
            tau_work_output[consumed++] = word;
        }
    }
}
